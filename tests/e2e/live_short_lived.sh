#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hundred processes of about a millisecond each leave three blocks each: nothing of it is live, as the
# kernel took it back, and all of it is under what exits gave back. By a command, and from the whole machine.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root

check() { # PROFILE [EXCEPT-LOSSES]
	ends_are "$1" blink_leak "0 0" "0 0" "600 666600"
	losses_are_zero "$@"
}

trace "$TMP/command.json" -l -- "$WORK/spawn" 200 "$WORK/blink"
is_same "spawn says" "$(cat "$TMP/command.json.stdout")" "spawned 200 bad 0"
check "$TMP/command.json"
is_same "rows of blink_leak" "$(ask "$TMP/command.json" 'along(["blink_leak", "main"]) | length')" 1

# Nobody stops them here, so the first ones may be over before their stacks can be followed to the root, and
# others on this machine may be new, too, or have lost their files.
gated "$WORK/spawn" 200 "$WORK/blink"
attach "$TMP/machine.json" -l
release
finish "$TARGET"
stop_snoop "$TMP/machine.json"
check "$TMP/machine.json" "file_gone|stack_copy_limited|late_attach"
