#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# More blocks at once than there is room for: what was allocated stays exact, what could be followed is,
# nothing is called live that was freed, and the report says how many blocks were not followed.
# BLOCKS=1030000 asks for the long run.
. "$(dirname "$0")/../harness/lib.sh"
need_root
BLOCKS=${BLOCKS:-100000}
ROOM=$((BLOCKS / 10))

trace "$TMP/full.json" -l --max-live "$ROOM" -- "$WORK/live_full" "$BLOCKS" "$ROOM"
as_expected "$TMP/full.json" "$TMP/full.json.stdout"
bytes=$(awk '$2 == "full_few" { print $4 }' "$TMP/full.json.stdout")
ends_are "$TMP/full.json" full_few "0 0" "$BLOCKS $bytes" "0 0"
is_same "live of full_all" "$(ask "$TMP/full.json" 'at_site("full_all") | sums("live")')" "0 0"
losses_are_zero "$TMP/full.json" blocks_full

untracked=$(ask "$TMP/full.json" 'at_site("full_all")[].untracked_count')
followed=$((BLOCKS - untracked))
is_same "losses" "$(ask "$TMP/full.json" .losses.blocks_full)" "$untracked"
# The table may have more places than that, but not for all.
[ "$followed" -ge $((ROOM * 99 / 100)) ] && [ "$followed" -le $((ROOM * 5)) ] ||
	fail "$followed of $BLOCKS followed in $ROOM places"

"$SNOOP" -l --max-live 100 -- "$WORK/live_full" 1000 300 </dev/null >"$TMP/text" 2>"$TMP/err"
grep -q 'not followed.*--max-live' "$TMP/text" || fail "no word about --max-live in the report"
