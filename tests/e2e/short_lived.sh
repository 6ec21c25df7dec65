#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two hundred processes of about a millisecond each: one stack, every allocation, and names although
# they are all gone when the report is made, even when their file is.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root

check() { # PROFILE
	stack_is "$1" "blink_leak main" 600 666600
	is_same "comm" "$(ask "$1" 'at_site("blink_leak")[].comm')" blink
	losses_are_zero "$1"
}

trace "$TMP/command.json" -- "$WORK/spawn" 200 "$WORK/blink"
is_same "spawn says" "$(cat "$TMP/command.json.stdout")" "spawned 200 bad 0"
check "$TMP/command.json"
is_same "processes" "$(ask "$TMP/command.json" '[.processes[] | select(.comm == "blink")] | length')" 200
is_same "all of them ended" "$(ask "$TMP/command.json" '[.processes[] | select(.exited | not)] | length')" 0

cp "$WORK/blink" "$TMP/blink"
UNLINK=1 trace "$TMP/unlinked.json" -- "$WORK/spawn" 200 "$TMP/blink"
[ ! -e "$TMP/blink" ] || fail "the file is still there"
check "$TMP/unlinked.json"

# The same seen from the whole machine, where nobody stops a new process: every allocation all the same.
# The file may be gone before anybody could open it; then that is said, and it costs names only.
cp "$WORK/blink" "$TMP/blink"
gated env UNLINK=1 "$WORK/spawn" 200 "$TMP/blink"
attach "$TMP/machine.json" --max-overhead none
release
finish "$TARGET"
stop_snoop "$TMP/machine.json"
is_same "all of the blinks" "$(ask "$TMP/machine.json" '[.stacks[] | select(.comm == "blink")] | count_bytes')" "600 666600"
[ "$(ask "$TMP/machine.json" '.losses.file_gone // 0')" != 0 ] || stack_is "$TMP/machine.json" "blink_leak main" 600 666600
# Other programs of this machine may be new, too, and bring an allocator.
losses_are_zero "$TMP/machine.json" "file_gone|stack_copy_limited|late_attach"

# A program whose file is deleted while it runs, by its process id.
cp "$WORK/direct_caller" "$TMP/deleted"
gated "$TMP/deleted"
rm "$TMP/deleted"
attach "$TMP/deleted.json" -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/deleted.json"
stack_is "$TMP/deleted.json" "leaf_malloc path_blue main" 20 960
