#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Many processes come and go under --live with few rows and heaps in the kernel: those that are over make
# room, so no stack is lost, no peak, and what exits gave back is what the workload left behind. An
# interval's reports and their growth are right beside that.
. "$(dirname "$0")/../harness/lib.sh"
need_root

# Ten rows a child, of 400 in the kernel; 52 heaps.
trace "$TMP/rows.json" -l --max-rows 400 -- "$WORK/leavers" 100 20 25 10
losses_are_zero "$TMP/rows.json"
all=$(sed -n 's/^expect leaver_leaves //p' "$TMP/rows.json.stdout")

# Totals, as a child's address space can be locked while its stack is walked.
ends() { # FILE
	local what
	for what in live freed exit untracked; do
		is_same "$what of ${1##*/}" "$(total "$1" "$what")" "$(
			case $what in
			freed) echo 1 77 ;;
			exit) echo "$all" ;;
			*) echo 0 0 ;;
			esac
		)"
	done
}
ends "$TMP/rows.json"
is_same "processes" "$(ask "$TMP/rows.json" '.processes | length')" 101
# Each child had its peak at its end; the parent's block is one, too.
is_same "peaks" "$(ask "$TMP/rows.json" '[.stacks[].peak_count] | add')" $((${all% *} + 1))

# The same with little memory for what was given back, and growth from one report to the next.
"$SNOOP" -l -f json -i 500ms --max-rows 400 --max-memory 64K -- "$WORK/leavers" 100 20 25 10 \
	</dev/null >"$TMP/each" 2>"$TMP/err" || fail "status $?"
grep -v '^expect' "$TMP/each" | jq -sc '.[]' >"$TMP/reports"
[ "$(wc -l <"$TMP/reports")" -ge 3 ] || fail "only $(wc -l <"$TMP/reports") reports"
jq -s '.[-1]' "$TMP/reports" >"$TMP/last.json"
sound "$TMP/last.json"
losses_are_zero "$TMP/last.json"
is_same "processes, folded or not" "$(ask "$TMP/last.json" '[.processes[] | .count // 1] | add')" 101
[ "$(ask "$TMP/last.json" '[.processes[] | select(.pid == 0).count] | add // 0')" -ge 20 ] || fail "hardly any was folded"
ends "$TMP/last.json"
# Growth is live now less live then, in every report.
jq -s -r '[.[].totals] | range(1; length) as $i | select(.[$i].grown_bytes != .[$i].live_bytes - .[$i - 1].live_bytes or
	.[$i].grown_count != .[$i].live_count - .[$i - 1].live_count) | $i' "$TMP/reports" >"$TMP/bad"
[ ! -s "$TMP/bad" ] || fail "growth is not the difference to the report before: $(xargs <"$TMP/bad")"
