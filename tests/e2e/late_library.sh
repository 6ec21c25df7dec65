#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A program that is traced by -p loads a library and allocates through it at once: the kernel has no
# unwind rows for it yet, and all the same every stack is whole, and with --live every block is in it.
. "$(dirname "$0")/../harness/lib.sh"
need_root
cc -D_GNU_SOURCE -std=gnu11 -O2 -fomit-frame-pointer -fno-builtin -shared -fPIC -o "$MADE/late.so" "$SOURCE/lib/late.c"
chain="late_0 late_1 late_2 late_3 late_4 late_5 late_6 late_7 late_8 late_9 late_10 late_11 late_12 late_run run_all main"
first=2000 more=5000 # of the first, as many as may wait in the ring however late they are looked at

run() { # OUT [OPTIONS]
	local out=$1 finished
	shift
	HOLD_FIFO=$out.hold
	export HOLD_FIFO
	mkfifo "$HOLD_FIFO"
	gated "$WORK/late_library" "$MADE/late.so" "$first" "$more"
	attach "$out" -v "$@" -p "$TARGET"
	release
	until_true 30 grep -q '^called' "$TARGET_OUT" || fail "the library isn't called"
	until_true 30 grep -q '/late\.so' "$out.err" || fail "the library isn't seen"
	release "$HOLD_FIFO"
	finish "$TARGET"
	attached_done "$out"
	stack_is "$out" "$chain" $((first + more)) $(((first + more) * 1000))
	is_same "late_0's other stacks" "$(site_sum "$out" late_0)" "$((first + more)) $(((first + more) * 1000))"
	is_same "cut stacks" "$(ask "$out" '[.stacks[] | select(.truncated)] | length')" 0
	losses_are_zero "$out"
	# It was as it had to be: they came too early, and not one by one.
	finished=$(sed -n 's/.* \([0-9]*\) stacks came through files that were new.*/\1/p' "$out.err" | tail -n 1)
	[ "${finished:-0}" -gt 0 ] || fail "no stack was finished later"
	echo "$finished of $((first + more)) stacks were finished later"
}

run "$TMP/late.json"
run "$TMP/live.json" -l
is_same "late_0's freed, temporary and live blocks, and those at the peak" \
	"$(ask "$TMP/live.json" 'at_site("late_0")[] | "\(.freed_count) \(.temporary_count) \(.live_count) \(.peak_count)"')" \
	"$((first + more)) $((first + more)) 0 1"
