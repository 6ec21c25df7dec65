#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is left by whole programs: of two callers of one leaf, of musl linked statically and not, and of 32,768
# different stacks with one block each.
. "$(dirname "$0")/../harness/lib.sh"
need_root

live_is() { # FILE "LEAF CALLER ..." COUNT BYTES
	local names
	names=$(printf '%s\n' $2 | jq -R . | jq -sc .)
	is_same "rows, live count and bytes of '$2'" \
		"$(ask "$1" 'along($names) | "\(length) \(sums("live"))"' --argjson names "$names")" "1 $3 $4"
}

by_pid() { # OUT PROGRAM
	gated "$2"
	attach "$1" -l -p "$TARGET"
	release
	finish "$TARGET"
	attached_done "$1"
}

# Without frame pointers, as distributions build.
g++ -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -o "$MADE/caller" "$SOURCE/direct_caller.cc"
by_pid "$TMP/caller.json" "$MADE/caller"
live_is "$TMP/caller.json" "leaf_malloc path_red main" 10 480
live_is "$TMP/caller.json" "leaf_malloc path_blue main" 20 960
live_is "$TMP/caller.json" "leaf_malloc big_frame main" 5 360
live_is "$TMP/caller.json" "leaf_new path_green main" 11 44
is_same "all that is live" "$(total "$TMP/caller.json" live)" "46 1844"

musl() { # PROFILE
	ends_are "$1" m_plain "4 480" "5 600" "0 0"
	ends_are "$1" m_zeroed "6 3000" "0 0" "0 0"
	ends_are "$1" m_posix "4 2800" "0 0" "0 0"
	ends_are "$1" m_c11 "3 2304" "0 0" "0 0"
	ends_are "$1" strdup "2 40" "0 0" "0 0"
	is_same "all that is live in ${1##*/}" "$(total "$1" live)" "19 8624"
	losses_are_zero "$1"
}

if command -v musl-gcc >/dev/null; then
	flags=(-D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -fno-builtin)
	musl-gcc "${flags[@]}" -static -o "$MADE/nested" "$SOURCE/musl_nested.c"
	musl-gcc "${flags[@]}" -o "$MADE/nested_dyn" "$SOURCE/musl_nested.c"
	trace "$TMP/nested.json" -l -- "$MADE/nested"
	musl "$TMP/nested.json"
	by_pid "$TMP/nested_dyn.json" "$MADE/nested_dyn"
	musl "$TMP/nested_dyn.json"
fi

# Too many for JSON to be read in a second.
"$SNOOP" -l -f folded --value live-count -o "$TMP/fan.folded" -- "$WORK/fan" 15 400 </dev/null >"$TMP/out" 2>"$TMP/err"
is_same "live stacks of fan_tip" "$(grep -c ';fan_tip;malloc 1$' "$TMP/fan.folded")" 32768
is_same "live stacks of deep_tip" "$(grep -c ';deep_tip;malloc 50$' "$TMP/fan.folded")" 1
! grep lost "$TMP/err" >&2 || fail "losses of fan"
trace "$TMP/fan.json" -l -- "$WORK/fan" 3 400
ends_are "$TMP/fan.json" fan_tip "8 192" "0 0" "0 0"
ends_are "$TMP/fan.json" deep_tip "50 204800" "0 0" "0 0"
losses_are_zero "$TMP/fan.json"
