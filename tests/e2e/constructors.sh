#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Nothing is missed at the moments between processes: constructors (also of a preloaded library), fork,
# vfork, exec from a thread, grandchildren.
. "$(dirname "$0")/../harness/lib.sh"
need_root
cc "${WORK_FLAGS[@]}" -shared -fPIC -o "$MADE/early.so" "$SOURCE/lib/early.c"
echo 'void early_touch(void); int main(void) { early_touch(); return 0; }' |
	cc "${WORK_FLAGS[@]}" -x c -o "$MADE/linked" - -x none "$MADE/early.so"

trace "$TMP/plain.json" -- "$WORK/constructors"
as_expected "$TMP/plain.json" "$TMP/plain.json.stdout"
losses_are_zero "$TMP/plain.json"

# One image per exec: the first and the ten that threads execute.
trace "$TMP/preloaded.json" -- env LD_PRELOAD="$MADE/early.so" "$WORK/constructors"
as_expected "$TMP/preloaded.json" "$TMP/preloaded.json.stdout"
site_is "$TMP/preloaded.json" early_work 33 1221

trace "$TMP/linked.json" -- "$MADE/linked"
stack_is "$TMP/linked.json" "early_work early_constructor" 3 111

# A shell and what it starts, twice removed.
trace "$TMP/shell.json" -- sh -c "($WORK/blink; $WORK/blink) & wait; $WORK/blink; exec $WORK/blink"
stack_is "$TMP/shell.json" "blink_leak main" 12 13332
