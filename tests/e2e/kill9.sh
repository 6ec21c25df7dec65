#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# kill -9 of allocsnoop: no program, map or link stays in the kernel, no breakpoint in the target, and
# the target runs on at full speed.
# alone: measures how fast a process runs
. "$(dirname "$0")/../harness/lib.sh"
need_root
need bpftool
page=$TMP/page

fast_again() { # PID FULL-SPEED
	[ $(($(counter_speed "$page" "$1") * 10)) -ge $(($2 * 7)) ]
}

# The kernel takes its time to undo probes after the death of who placed them.
check() { # TARGET SNOOP FULL-SPEED
	until_true 30 counted_past "$page" $(($(counter_read "$page") + 1000)) || fail "the target stands still"
	bpf_held "$2" >"$TMP/held"
	for kind in prog map; do
		grep -q "^$kind" "$TMP/held" || fail "allocsnoop holds no $kind: this test would see nothing"
	done
	kill -KILL "$2"
	until_true 10 bpf_gone "$TMP/held" || fail "left in the kernel: $(bpftool prog list | tail -3)"
	until_true 20 fast_again "$1" "$3" || fail "the target is slow for ever: $(counter_speed "$page" "$1") of $3 turns/ms"
	case $(process_state "$1") in
	[tT]) fail "the target stands stopped" ;;
	esac
}

counter_file "$page"
gated "$WORK/counter" "$page"
target=$TARGET
release
until_true 20 counted_past "$page" 100000
full=$(counter_speed "$page" "$target")
attach "$TMP/pid.json" -p "$target"
check "$target" "$SNOOP_PID" "$full"
counter_stop "$page"
finish "$target"
wait "$SNOOP_PID" 2>/dev/null || :

# Started by allocsnoop, so that it is traced with ptrace as well.
counter_file "$page"
mkfifo "$TMP/go"
GO_FIFO=$TMP/go attach "$TMP/command.json" -- "$WORK/counter" "$page"
until_true 20 grep -q ready "$TMP/command.json.stdout"
read -r target _ <"/proc/$SNOOP_PID/task/$SNOOP_PID/children" ||
	target=$(cat /proc/"$SNOOP_PID"/task/*/children)
target=${target%% *}
is_same "the child" "$(cat "/proc/$target/comm")" counter
release "$TMP/go"
check "$target" "$SNOOP_PID" "$full"
counter_stop "$page"
until_true 20 gone_or_zombie "$target" || fail "the target does not end"
is_same "what it said" "$(tail -n 1 "$TMP/command.json.stdout")" "counted $(counter_read "$page")"
