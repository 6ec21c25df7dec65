#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every allocation function of C, by a command and by a process id: each call once, with the bytes that
# were asked for, whatever functions the allocator calls inside.
. "$(dirname "$0")/../harness/lib.sh"
need_root

check() { # PROFILE TRUTH
	as_expected "$1" "$2"
	losses_are_zero "$1"
	stack_is "$1" "s_malloc main" 7 707
	stack_is "$1" "s_loop_realloc main" 10 5500
	is_same "allocator of s_calloc" "$(ask "$1" 'at_site("s_calloc")[].allocator')" calloc
	# strdup keeps no frame pointer: its caller is there, or the stack says that it is cut.
	is_same "stacks of strdup that are wrong" "$(ask "$1" 'at_site("strdup") |
		map(select(if .truncated then callers[1] | . != null and . != "s_strdup" else callers[1] != "s_strdup" end)) | length')" 0
}

trace "$TMP/command.json" -- "$WORK/api_matrix"
check "$TMP/command.json" "$TMP/command.json.stdout"

gated "$WORK/api_matrix"
attach "$TMP/pid.json" -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/pid.json"
check "$TMP/pid.json" "$TARGET_OUT"
is_same "the process" "$(ask "$TMP/pid.json" '.processes[] | "\(.pid) \(.comm)"')" "$TARGET api_matrix"
