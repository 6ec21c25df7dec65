#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Little memory for what is kept: processes that have ended are told apart by name only, stacks that
# weren't hit for long lose their frames, and every sum is what it was.
. "$(dirname "$0")/../harness/lib.sh"
need_root

# Totals, as a child's address space can be locked while its stack is walked.
expected_total() {
	awk '$1 == "expect" { n += $3; b += $4 } END { print n, b }' "$1"
}

# Children that come and go: all of their blocks are there, one entry counts those that were folded.
folded() { # FILE OPTIONS...
	local out=$1
	shift
	trace "$out" --max-memory 32K "$@" -- "$WORK/leavers" 500 3 2
	is_same "blocks" "$(total "$out")" "$(expected_total "$out.stdout")"
	losses_are_zero "$out"
	is_same "processes" "$(ask "$out" '[.processes[] | .count // 1] | add')" 501
	[ "$(ask "$out" '[.processes[] | select(.pid == 0)] | length, .[0].exited, .[0].comm' | xargs)" = "1 true leavers" ] ||
		fail "no entry for the folded ones: $(ask "$out" '.processes[0:3]')"
	[ "$(ask "$out" '[.processes[] | select(.pid == 0).count] | add')" -ge 100 ] || fail "hardly any was folded"
}

folded "$TMP/ended.json"
"$SNOOP" --max-memory 16K -- "$WORK/leavers" 200 3 2 </dev/null >"$TMP/text" 2>"$TMP/err"
grep -qE '^ *processes +201, all exited' "$TMP/text" || {
	show "$TMP/text"
	fail "the header doesn't count them"
}

# Stacks: more than there is memory for, half of them not hit for long, then hit again.
trace "$TMP/aged.json" --max-memory 1M -- "$WORK/paths" 8000 14 15000
as_total=$(sed -n 's/^expect path_end //p' "$TMP/aged.json.stdout")
losses_are_zero "$TMP/aged.json" stacks_aged
is_same "sums of all stacks, aged out or not" "$(ask "$TMP/aged.json" '[.stacks[] | select(.end == "aged-out" or any(.frames[]; .function == "path_end"))] | count_bytes')" "$as_total"
[ "$(ask "$TMP/aged.json" '.losses.stacks_aged // 0')" -ge 1000 ] || fail "no stack was aged out: $(ask "$TMP/aged.json" .losses)"
[ "$(ask "$TMP/aged.json" '[.stacks[] | select(.end == "aged-out")] | length')" -ge 1 ] || fail "no row of those aged out"
is_same "stacks that came again, with all frames" \
	"$(ask "$TMP/aged.json" '[.stacks[] | select(any(.frames[]; .function == "path_end")) | .end] | unique | join(" ")')" complete
