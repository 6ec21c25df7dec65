#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -e mmap and -e brk: each growth once, with its bytes and its whole stack; with --live what is left of it
# after unmapping in parts, moving, shrinking, and mapping over.
. "$(dirname "$0")/../harness/lib.sh"
need_root

# grown FILE TRUTH WHAT: every `WHAT FUNCTION COUNT BYTES` of the workload.
grown() {
	local word=$3 bad
	[ "$word" != alloc ] || word=expect
	bad=$(awk -v word="$word" 'NR == FNR { is[$1] = $2 " " $3; next }
		$1 == word { seen++; have = $2 in is ? is[$2] : "0 0"
			if (have != $3 " " $4) print $2 " is " have ", not " $3 " " $4 }
		END { if (!seen) print "no truth" }' <(ask "$1" 'growers($what)' --arg what "$3") "$2")
	[ -z "$bad" ] || fail "$3 in ${1##*/}: $bad"
}

whole() { # FILE
	is_same "stacks of ${1##*/} that aren't whole" "$(ask "$1" '[.stacks[] | select(.end != "complete")] | length')" 0
	losses_are_zero "$1"
}

trace "$TMP/maps.json" -e mmap,brk -- "$WORK/growth" maps
grown "$TMP/maps.json" "$TMP/maps.json.stdout" alloc
whole "$TMP/maps.json"
is_same "kinds" "$(ask "$TMP/maps.json" '[.stacks[].allocator] | unique | join(" ")')" "brk mmap mmap_file mremap"
is_same "failed calls" "$(ask "$TMP/maps.json" .totals.failed_count)" 1
is_same "traced" "$(ask "$TMP/maps.json" '.traced | join(" ")')" "mmap brk"
is_same "events" "$(ask "$TMP/maps.json" .events)" "$(ask "$TMP/maps.json" .totals.alloc_count)"

"$SNOOP" -q -e mmap,brk -- "$WORK/growth" maps >"$TMP/text"
grep -qx 'traced      mmap, growth of the break' "$TMP/text" || fail "the heading doesn't name the events"

trace "$TMP/brk.json" -e brk -- "$WORK/growth" maps
is_same "kinds of brk" "$(ask "$TMP/brk.json" '[.stacks[].allocator] | unique | join(" ")')" brk

trace "$TMP/live.json" -l -e mmap,brk -- "$WORK/growth" maps
for what in alloc live freed; do
	grown "$TMP/live.json" "$TMP/live.json.stdout" "$what"
done
whole "$TMP/live.json"

# A process that runs already, and is no allocator's: static, stripped.
gcc "${WORK_FLAGS[@]}" -static -s -o "$MADE/growth_static" "$SOURCE/growth.c"
gated "$MADE/growth_static" maps
attach "$TMP/pid.json" -e mmap,brk -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/pid.json"
is_same "growth of a stripped program" "$(total "$TMP/pid.json")" \
	"$(awk '$1 == "expect" { n += $3; bytes += $4 } END { print n, bytes }' "$TARGET_OUT")"
whole "$TMP/pid.json"

# Beside malloc's calls, in rows of their own; the chain from malloc down to the break is whole, in a
# program without frame pointers, too.
cat >"$TMP/chain.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) void *asks(size_t size) { void *p = malloc(size); __asm__ volatile("" ::"r"(p) : "memory"); return p; }
__attribute__((noinline)) void touches(char *p, size_t size) { for (size_t i = 0; i < size; i += 4096) p[i] = 1; __asm__ volatile("" ::: "memory"); }
int main(void) { char *p = asks(100000), *q = asks(300000); touches(q, 300000); return !p || !q; }
END
gcc -O2 -fomit-frame-pointer -o "$MADE/chain" "$TMP/chain.c"
trace "$TMP/chain.json" -e malloc,mmap,brk,fault -- "$MADE/chain"
whole "$TMP/chain.json"
is_same "malloc" "$(site_sum "$TMP/chain.json" asks)" "2 400000"
for kind in brk mmap; do
	is_same "from malloc to $kind" "$(ask "$TMP/chain.json" '[.stacks[] | select(.allocator == $kind) | callers |
		select(index("asks") and (index("sysmalloc") or index("sysmalloc_mmap")) and .[-1] == "_start")] | length' --arg kind "$kind")" 1
done
is_same "pages of touches" "$(ask "$TMP/chain.json" '[.stacks[] | select(.allocator == "fault" and callers[0] == "touches" and
	callers[1] == "main")] | sums("alloc")')" "73 299008"

refused 2 "not together with --event fault" "$SNOOP" -l -e fault -- true
refused 2 "blocks lie in mappings" "$SNOOP" -l -e malloc,mmap -- true
