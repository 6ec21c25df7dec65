#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Whose a block is: a forked child's frees end nothing of its parent's, an exec ends all of the old image, a
# vfork child allocates in its parent's memory, and what was there before the tracer is no block of ours.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root

check() { # PROFILE TRUTH WHAT...
	local what
	for what in "" "${@:3}"; do
		as_expected "$1" "$2" $what
	done
	losses_are_zero "$1"
	[ "$(sed -n 's/^unknown //p' "$2")" = "" ] || unknown_is "$1" "$(sed -n 's/^unknown //p' "$2")"
}

unknown_is() { # PROFILE COUNT
	is_same "frees of unknown blocks in ${1##*/}" "$(ask "$1" .totals.unknown_frees)" "$2"
}

trace "$TMP/part.json" -l -- "$WORK/live_edges" "$WORK/blink"
check "$TMP/part.json" "$TMP/part.json.stdout" live freed exit
for site in e_child e_before_exec blink_leak; do
	is_same "live of $site" "$(ask "$TMP/part.json" 'at_site($name) | sums("live")' --arg name "$site")" "0 0"
done

gated "$WORK/live_edges" early
attach "$TMP/early.json" -l -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/early.json"
check "$TMP/early.json" "$TARGET_OUT" live freed
is_same "target" "$(ask "$TMP/early.json" .target)" "process $TARGET (live_edges)"
is_same "blocks of before" "$(total "$TMP/early.json")" "7 3080"

trace "$TMP/again.json" -l -- "$WORK/live_edges" again
check "$TMP/again.json" "$TMP/again.json.stdout" live exit

# A process goes on without its main thread: it can be traced, hasn't exited, and has memory.
is_zombie() {
	[ "$(process_state "$1")" = Z ]
}
export HOLD_FIFO=$TMP/hold
mkfifo "$HOLD_FIFO"
for whom in pid every; do
	gated "$WORK/live_edges" headless
	until_true 20 is_zombie "$TARGET" || fail "the main thread does not exit"
	[ $whom = every ] || set -- -p "$TARGET"
	attach "$TMP/$whom.json" -l "$@"
	set --
	release
	until_true 20 grep -q '^done' "$TARGET_OUT" || fail "live_edges does not come to its end"
	stop_snoop "$TMP/$whom.json"
	release "$HOLD_FIFO"
	finish "$TARGET"
	ends_are "$TMP/$whom.json" e_headless "2 1000" "1 500" "0 0"
	is_same "of the process" "$(ask "$TMP/$whom.json" '.processes[] | select(.pid == $pid) |
		"\(.exited) \(.rss_anon > 0)"' --argjson pid "$TARGET")" "false true"
done
unset HOLD_FIFO

# A shell that becomes the program: the blocks that it leaves are no leak of the program's.
trace "$TMP/shell.json" -l -- sh -c "exec '$WORK/live_edges' again"
check "$TMP/shell.json" "$TMP/shell.json.stdout" live exit
is_same "live of the shell" "$(ask "$TMP/shell.json" '.totals | "\(.live_count) \(.live_bytes)"')" "2 180"
