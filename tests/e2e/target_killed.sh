#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The target is killed while it is traced: the report is whole and exact.
. "$(dirname "$0")/../harness/lib.sh"
need_root
page=$TMP/page

# The last call may have been counted by one side only: the target died between the two.
check() { # PROFILE
	local seen turns
	seen=$(site_sum "$1" counter_work)
	seen=${seen% *}
	turns=$(counter_read "$page")
	[ "$seen" = "$turns" ] || [ "$seen" = $((turns + 1)) ] || fail "$seen calls seen, $turns made"
	stack_is "$1" "counter_work main" "$seen" $((seen * 64))
	losses_are_zero "$1"
	is_same "it has ended" "$(ask "$1" '.processes[0].exited')" true
}

counter_file "$page"
gated "$WORK/counter" "$page"
attach "$TMP/pid.json" -p "$TARGET"
release
until_true 30 counted_past "$page" 3000
kill -KILL "$TARGET"
attached_done "$TMP/pid.json"
check "$TMP/pid.json"

# The command's own status: 128 + SIGKILL.
counter_file "$page"
attach "$TMP/command.json" -- "$WORK/counter" "$page"
until_true 30 counted_past "$page" 3000
read -r target _ <"/proc/$SNOOP_PID/task/$SNOOP_PID/children" ||
	target=$(cat /proc/"$SNOOP_PID"/task/*/children)
kill -KILL "${target%% *}"
finish "$SNOOP_PID" 137
sound "$TMP/command.json"
check "$TMP/command.json"

status=0
"$SNOOP" -q -f json -o "$TMP/exit.json" -- sh -c 'exit 23' || status=$?
is_same "status of a command that fails" "$status" 23
