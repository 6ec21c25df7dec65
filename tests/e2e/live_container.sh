#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program in a container: its own mount and process namespaces, its own copy of libc, and outside, at the
# same path, a program with other functions. From the whole machine and by the process id it has outside.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root
need unshare chroot

ROOT=$TMP/root
PLACE=$TMP/place # the path of the program, inside and outside
mkdir -p "$PLACE" "$ROOT$PLACE" "$ROOT/lib64" "$ROOT/proc"
cc "${WORK_FLAGS[@]}" -o "$ROOT$PLACE/service" "$SOURCE/service.c"
cc "${WORK_FLAGS[@]}" -DDECOY -o "$PLACE/service" "$SOURCE/service.c"
libc=$(ldd "$PLACE/service" | sed -nE 's/.*libc\.so\.6 => (\S+).*/\1/p')
mkdir -p "$ROOT${libc%/*}"
cp -L "$libc" "$ROOT$libc"
cp -L /lib64/ld-linux-x86-64.so.2 "$ROOT/lib64/"

# Its gates are named by paths inside.
start() {
	rm -f "$ROOT/go" "$ROOT/hold"
	mkfifo "$ROOT/go" "$ROOT/hold"
	env GO_FIFO=/go HOLD_FIFO=/hold unshare -m -p --fork chroot "$ROOT" "$PLACE/service" </dev/null >"$TMP/said" &
	UNSHARE=$!
	until_true 20 grep -q ready "$TMP/said" || fail "the container does not start"
	SERVICE=$(tr -d ' \n' <"/proc/$UNSHARE/task/$UNSHARE/children")
}

check() { # PROFILE
	stack_is "$1" "service_leak service_worker main" 15 18510
	is_same "live" "$(ask "$1" 'at_site("service_leak") | sums("live")')" "15 18510"
	is_same "pid and comm" "$(ask "$1" 'at_site("service_leak")[] | "\(.pid) \(.comm)"')" "$SERVICE service"
	is_same "names of the decoy" "$(ask "$1" '[.stacks[].frames[].function | select(startswith("decoy"))] | length')" 0
}

# The report is made while it still runs: of what has ended nothing is live.
run() { # OUT all|pid
	start
	if [ "$2" = pid ]; then
		attach "$1" -l -p "$SERVICE"
	else
		attach "$1" -l
	fi
	release "$ROOT/go"
	until_true 20 grep -q done "$TMP/said" || fail "the service does not come to its end"
	stop_snoop "$1"
	is_same "what it says" "$(grep pid "$TMP/said")" "pid 1"
	check "$1"
	release "$ROOT/hold"
	finish "$UNSHARE"
}

run "$TMP/machine.json" all
run "$TMP/pid.json" pid
