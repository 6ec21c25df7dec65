#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -p with --follow: children of every kind count from their first allocation, and their children; others
# don't. It ends when the last of them has.
. "$(dirname "$0")/../harness/lib.sh"
need_root

cp "$WORK/follow" "$TMP/stranger"
for mode in "" -l; do
	gated "$TMP/stranger" leaf 9
	stranger=$TARGET stranger_gate=$GATE
	gated "$WORK/follow" tree
	out=$TMP/tree$mode.json
	attach "$out" $mode -p "$TARGET" --follow
	release "$stranger_gate"
	finish "$stranger"
	release
	finish "$TARGET"
	attached_done "$out" # by itself
	as_expected "$out" "$TARGET_OUT"
	losses_are_zero "$out"
	is_same "processes that were not to be followed" "$(ask "$out" '[.processes[] | select(.comm == "stranger")] | length')" 0
	is_same "sums of processes" "$(ask "$out" '[.processes] | map(sums("alloc")) | first')" "$(total "$out")"
done
is_same "target" "$(ask "$TMP/tree-l.json" .target)" "process $TARGET (follow) and its children"

# A child from before the start isn't followed; who has none is no problem.
gated "$WORK/follow" leaf 4
attach "$TMP/leaf.json" -p "$TARGET" --follow
release
finish "$TARGET"
attached_done "$TMP/leaf.json"
as_expected "$TMP/leaf.json" "$TARGET_OUT"
