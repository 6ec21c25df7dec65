#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Children that come and go leave ten times the blocks that there is room for: as nobody frees them, the
# table is swept. None is lost, all are given back by exits, and what lives stays where it is.
. "$(dirname "$0")/../harness/lib.sh"
need_root

trace "$TMP/sweep.json" -l --max-live 1000 -- "$WORK/leavers" 40 250 200
all=$(sed -n 's/^expect leaver_leaves //p' "$TMP/sweep.json.stdout")
as_expected "$TMP/sweep.json" "$TMP/sweep.json.stdout"
ends_are "$TMP/sweep.json" leaver_leaves "0 0" "0 0" "$all"
ends_are "$TMP/sweep.json" leaver_stays "0 0" "1 77" "0 0"
losses_are_zero "$TMP/sweep.json"

# What a named process had at its end stays, with its ages, however long others go on.
gated "$WORK/leavers" 0 500 0
first=$TARGET first_out=$TARGET_OUT first_gate=$GATE
gated "$WORK/leavers" 1 1 2500
attach "$TMP/named.json" -l --max-live 1000 -p "$first,$TARGET"
release "$first_gate"
finish "$first"
release
finish "$TARGET"
attached_done "$TMP/named.json"
all=$(sed -n 's/^expect leaver_leaves //p' "$first_out")
is_same "live of the first" "$(ask "$TMP/named.json" 'at_site("leaver_leaves") | map(select(.pid == $pid)) | sums("live")' \
	--argjson pid "$first")" "$all"
is_same "blocks with an age" "$(ask "$TMP/named.json" 'at_site("leaver_leaves") | map(select(.pid == $pid).lifetimes[] | .[2]) | add' \
	--argjson pid "$first")" 500
