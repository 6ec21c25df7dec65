#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Copies of a file (containers have their own libc each) share one unwind table in the kernel, which
# --max-table-memory counts once. A file that says another one's build id, but unwinds differently,
# gets its own table, and right stacks.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need bpftool gcc jq

# Two processes, stopped before their work, with a directory each for their libraries.
pair() { # COMMAND...
	gated env LD_LIBRARY_PATH="$TMP/a" "$@"
	first=$TARGET first_gate=$GATE
	gated env LD_LIBRARY_PATH="$TMP/b" "$@"
	second=$TARGET
}

# both OUT [OPTIONS]: the trace of the pair; what it has in the kernel is in `sizes`.
both() {
	local out=$1
	attach "$@" -p "$first,$second"
	sizes=$(unwind_tables "$SNOOP_PID")
	release "$first_gate"
	release
	finish "$first"
	finish "$second"
	attached_done "$out"
}

whole() { # FILE
	losses_are_zero "$1"
	is_same "stacks that aren't whole" "$(ask "$1" '[.stacks[] | select(.end != "complete")] | length')" 0
}

mkdir "$TMP/a" "$TMP/b"
libc=$(ldd "$WORK/fan" | awk '/libc\.so\.6/ { print $3 }')
cp "$libc" "$TMP/a/libc.so.6"
cp "$libc" "$TMP/b/libc.so.6"
[ "$TMP/a/libc.so.6" -ef "$TMP/b/libc.so.6" ] && fail "the copies are one file"
pair "$WORK/fan" 3
both "$TMP/copies.json"
is_same "tables of fan, its loader and two copies of libc" "$(wc -l <<<"$sizes")" 3
whole "$TMP/copies.json"
is_same "libcs" "$(ask "$TMP/copies.json" '[.stacks[].pid] | unique | length')" 2
names='["fan_tip", "fan_left", "fan_left", "fan_left", "main"]'
is_same "their rows" "$(ask "$TMP/copies.json" 'along($names) | "\(length) \(count_bytes)"' --argjson names "$names")" "2 2 48"

# The limit is just enough for each of them once.
limit=$(awk '{ sum += $1 } END { print sum }' <<<"$sizes")
pair "$WORK/fan" 3
both "$TMP/limit.json" --max-table-memory "$limit"
whole "$TMP/limit.json"
pair "$WORK/fan" 3
both "$TMP/less.json" --max-table-memory $((limit - 1))
is_same "a byte less, and files lack rows" "$(ask "$TMP/less.json" '.losses.table_memory > 0')" true

# Two libraries of one name and one build id; their frames are of different sizes.
cat >"$TMP/lie.c" <<'C'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *lie_leaf(size_t size) {
	char room[ROOM];
	memset(room, (int)size, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
	return malloc(size + !room[1]);
}
__attribute__((noinline)) void *lie_top(size_t size) {
	char room[3 * ROOM];
	memset(room, (int)size, sizeof(room));
	__asm__ volatile("" ::"r"(room) : "memory");
	void *p = lie_leaf(size + !room[1]);
	__asm__ volatile("" ::"r"(room) : "memory");
	return p;
}
C
cat >"$TMP/main.c" <<'C'
#include "gate.h"
void *lie_top(size_t);
int main(void) { gate__start(); return !lie_top(77); }
C
quiet=(gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-stack-protector -D_GNU_SOURCE)
for room in a=64 b=1024; do
	"${quiet[@]}" -shared -fPIC -DROOM="${room#*=}" -Wl,--build-id=0xdecade00 -o "$TMP/${room%=*}/liblie.so" "$TMP/lie.c"
	cp "$libc" "$TMP/${room%=*}/"
done
"${quiet[@]}" -I"$SOURCE" -o "$TMP/main" "$TMP/main.c" -L"$TMP/a" -llie
pair "$TMP/main"
both "$TMP/lie.json"
is_same "tables of main, its loader, libc and two liars" "$(wc -l <<<"$sizes")" 5
whole "$TMP/lie.json"
names='["lie_leaf", "lie_top", "main"]'
is_same "rows of the liars" "$(ask "$TMP/lie.json" 'along($names) | "\(length) \(count_bytes)"' --argjson names "$names")" "2 2 154"
