#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stacks that are hard to walk without frame pointers, from the allocator to main, frame by frame.
. "$(dirname "$0")/../harness/lib.sh"
need_root
[ "$(uname -m)" = x86_64 ] || skip "edge.c is written for x86_64"
unset LD_BIND_NOW
flags=(-D_GNU_SOURCE -std=gnu11 -O2 -fomit-frame-pointer -fno-builtin -pthread -Wl,-z,lazy)
cc "${flags[@]}" -shared -fPIC -o "$MADE/edge_lib.so" "$SOURCE/lib/edge_lib.c"
cc "${flags[@]}" -shared -fPIC -DLATE -o "$MADE/edge_late.so" "$SOURCE/lib/edge_lib.c"
cc "${flags[@]}" -o "$MADE/edge" "$SOURCE/lib/edge.c" "$MADE/edge_lib.so"

# One stack may end early, but only behind what is right: a coroutine begins at __start_context, which
# has no caller.
as_said() {
	sed -E 's/ main libc(\*[23])? _start$/ main/
		s/^(stack 50110) (complete|no-table) (.* co_main)( libc)?$/\1 cut \3/'
}

# `stack SIZE END FUNCTION...` of every allocation of edge.c's sizes (longer than any path), as it writes them.
seen() { # PROFILE SAID
	ask "$1" 'def file: (.module // "") | split("/") | last // "";
		def name: if file | test("^libc[.-]") then "libc" elif file | test("^ld-") then "ld.so" else .function end;
		def fold: reduce .[] as $n ([]; if length > 0 and .[-1][0] == $n then .[-1][1] += 1 else . + [[$n, 1]] end) |
			map(if .[1] > 1 then "\(.[0])*\(.[1])" else .[0] end);
		.stacks[] | select(.alloc_count > 0 and (.alloc_bytes / .alloc_count | IN($sizes[]))) |
		"stack \(.alloc_bytes) \(.end) \([.frames[0].function, (.frames[1:][] | name)] | fold | join(" "))"' \
		--argjson sizes "$(awk '$1 == "stack" { print $2 }' "$2" | jq -sc .)" |
		as_said | sort
}

all_there() { # PROFILE SAID
	grep '^stack ' "$2" | sort >"$TMP/said"
	[ "$(wc -l <"$TMP/said")" -ge 14 ] || fail "the workload says too little"
	seen "$1" "$2" >"$TMP/seen"
	diff "$TMP/said" "$TMP/seen" >"$TMP/difference" || {
		show "$TMP/difference"
		fail "${1##*/} (>) is not what the workload says (<)"
	}
	is_same "other cut stacks" "$(ask "$1" '[.stacks[] | select(.truncated and (.alloc_bytes != 50110))] | length')" 0
	losses_are_zero "$1"
}

trace "$TMP/run.json" -- "$MADE/edge" "$MADE/edge_late.so"
all_there "$TMP/run.json" "$TMP/run.json.stdout"

# Under -p nothing waits for a new library's unwind rows: its functions are called when they are there.
export LATE_FIFO=$TMP/late
mkfifo "$LATE_FIFO"
gated "$MADE/edge" "$MADE/edge_late.so"
attach "$TMP/pid.json" -v -p "$TARGET"
release
until_true 30 grep -q '/edge_late\.so' "$TMP/pid.json.err" || fail "the loaded library isn't seen"
until_true 30 grep -q '^loaded' "$TARGET_OUT" || fail "the library isn't loaded"
release "$LATE_FIFO"
finish "$TARGET"
attached_done "$TMP/pid.json"
all_there "$TMP/pid.json" "$TARGET_OUT"
grep -q '^stack 50104 ' "$TARGET_OUT" || echo "no AVX2 here: aligned_frame was left out"
