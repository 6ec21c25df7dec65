#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Whose a block is: a forked child's frees end nothing of its parent's, an exec ends all of the old image, a
# vfork child allocates in its parent's memory, and what was there before the tracer is no block of ours.
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
is_same "blocks of before" "$(total "$TMP/early.json")" "7 3080"

trace "$TMP/again.json" -l -- "$WORK/live_edges" again
check "$TMP/again.json" "$TMP/again.json.stdout" live exit

# A shell that becomes the program: the blocks that it leaves are no leak of the program's.
trace "$TMP/shell.json" -l -- sh -c "exec '$WORK/live_edges' again"
check "$TMP/shell.json" "$TMP/shell.json.stdout" live exit
is_same "live of the shell" "$(ask "$TMP/shell.json" '.totals | "\(.live_count) \(.live_bytes)"')" "2 180"
