#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# musl names neither its signal return nor the end of a thread's stack: walks go through the one and don't
# go on for ever at the other.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need musl-gcc
[ "$(uname -m)" = x86_64 ] || skip "without frame pointers stacks are walked on x86_64 only"

stack() { # SIZE FRAMES: the innermost ones
	ask "$TMP/musl.json" '.stacks[] | select(.alloc_bytes == $size) |
		"\(.alloc_count) \([.frames[:$cnt][].function] | join(" "))"' --argjson size "$1" --argjson cnt "$2"
}

for kind in -static -static-pie -no-pie; do
	musl-gcc -D_GNU_SOURCE -std=gnu11 -O2 -fomit-frame-pointer -fno-builtin "$kind" -o "$MADE/stacks" \
		"$SOURCE/lib/musl_stacks.c" 2>"$TMP/err" || {
		echo "musl-gcc $kind does not link: left out"
		continue
	}
	trace "$TMP/musl.json" -- "$MADE/stacks"
	# A libc.so without symbols has no name for its signal return.
	is_same "stack of the handler ($kind)" "$(stack 70001 6 | sed -E 's/on_signal [^ ]+/on_signal (return)/')" \
		"1 malloc leaf on_signal (return) signal_self main"
	is_same "stack of the thread ($kind)" "$(stack 70002 3)" "1 malloc leaf thread_main"
	is_same "deepest stack ($kind)" "$(ask "$TMP/musl.json" '[.stacks[].frames | length] | max < 16')" true
	losses_are_zero "$TMP/musl.json"
done
