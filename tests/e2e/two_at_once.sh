#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two allocsnoops on one process, one of them on the whole machine too: each has all of it.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root

gated "$WORK/api_matrix"
attach "$TMP/first.json" -p "$TARGET"
first=$SNOOP_PID
attach "$TMP/second.json" -p "$TARGET"
second=$SNOOP_PID
attach "$TMP/machine.json" --max-overhead none
machine=$SNOOP_PID
release
finish "$TARGET"
for one in first second; do
	finish "${!one}"
	sound "$TMP/$one.json"
	as_expected "$TMP/$one.json" "$TARGET_OUT"
	losses_are_zero "$TMP/$one.json"
done
stop_snoop "$TMP/machine.json" "$machine"
grep -v total "$TARGET_OUT" >"$TMP/truth"
COMM=api_matrix as_expected "$TMP/machine.json" "$TMP/truth"

# The end of one is not the end of the other.
counter_file "$TMP/page"
gated "$WORK/counter" "$TMP/page"
attach "$TMP/stays.json" -p "$TARGET"
stays=$SNOOP_PID
attach "$TMP/goes.json" -p "$TARGET"
release
until_true 30 counted_past "$TMP/page" 2000
stop_snoop "$TMP/goes.json"
until_true 30 counted_past "$TMP/page" $(($(counter_read "$TMP/page") + 2000))
counter_stop "$TMP/page"
finish "$TARGET"
finish "$stays"
sound "$TMP/stays.json"
count=$(counter_read "$TMP/page")
is_same "all of it" "$(total "$TMP/stays.json")" "$count $((count * 64))"
