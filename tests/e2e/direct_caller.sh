#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The function that called the allocator is never lost, with frame pointers and without; a stack that
# ends early says so and shows nothing wrong.
. "$(dirname "$0")/../harness/lib.sh"
need_root
g++ -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -fno-inline -o "$MADE/nofp" "$SOURCE/direct_caller.cc"
cp "$MADE/nofp" "$MADE/stripped"
strip --strip-debug "$MADE/stripped"

whole() { # PROFILE
	stack_is "$1" "leaf_malloc path_red main" 10 480
	stack_is "$1" "leaf_malloc path_blue main" 20 960
	stack_is "$1" "leaf_malloc big_frame main" 5 360
	stack_is "$1" "leaf_new path_green main" 11 44
}

leaves() { # PROFILE
	site_is "$1" leaf_malloc 35 1800
	site_is "$1" leaf_new 11 44
	is_same "operator new is on its stack" \
		"$(ask "$1" 'at_site("leaf_new") | all(any(.frames[:2][]; .function == "operator new(unsigned long)"))')" true
	is_same "arguments are in names" "$(ask "$1" '[.stacks[].frames[].function | select(. == "leaf_malloc(int)")] | length > 0')" true
}

# What is above a leaf is one of its callers, and a stack without main is marked.
whole_or_cut() { # PROFILE
	if [ "$(ask "$1" '[.stacks[] | select(site | startswith("leaf_")) | .truncated] | any')" = false ]; then
		whole "$1"
		return
	fi
	is_same "wrong callers" "$(ask "$1" '[.stacks[] | select(site | startswith("leaf_")) | callers[1] // "none" |
		select(IN("none", "path_red", "path_blue", "path_green", "big_frame") | not)] | join(" ")')" ""
	is_same "cut without a mark" "$(ask "$1" '[.stacks[] | select(site | startswith("leaf_")) |
		select((callers | index("main") | not) and (.truncated | not))] | length')" 0
}

trace "$TMP/fp.json" -- "$WORK/direct_caller"
leaves "$TMP/fp.json"
whole "$TMP/fp.json"

gated "$WORK/direct_caller"
attach "$TMP/pid.json" -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/pid.json"
whole "$TMP/pid.json"
is_same "all there was" "$(total "$TMP/pid.json")" "46 1844"

for kind in nofp stripped; do
	trace "$TMP/$kind.json" -- "$MADE/$kind"
	leaves "$TMP/$kind.json"
	whole_or_cut "$TMP/$kind.json"
done
