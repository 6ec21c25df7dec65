#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What is left of every allocation function of C and every operator new, by a command and by a process
# id, with glibc and with each allocator that is installed here: failed calls are counted and leave no
# block, a failed realloc leaves the old one, a free of NULL is nothing.
. "$(dirname "$0")/../harness/lib.sh"
need_root

# The preloaded ones make and free blocks of their own at start-up, so there the totals of a whole run are
# nobody's truth.
check() { # PROFILE TRUTH [SITE-TO-LEAVE-OUT]
	local truth=$TMP/truth
	grep -v "^[a-z]* ${3:-none} " "$2" | sed 's/ or .*//' >"$truth"
	COMM=$PROGRAM as_expected "$1" "$truth"
	COMM=$PROGRAM as_expected "$1" "$truth" live
	losses_are_zero "$1"
	is_same "mode of ${1##*/}" "$(ask "$1" .mode)" live
	[ -n "${3:-}" ] || is_same "unknown frees in ${1##*/}" "$(ask "$1" .totals.unknown_frees)" 0
}

# 3 malloc, 4 calloc, 1 realloc, 1 reallocarray, 1 posix_memalign
failed_is_10() { # PROFILE
	is_same "failed calls in ${1##*/}" "$(ask "$1" .totals.failed_count)" 10
}

by_command() { # OUT [LIBRARY]
	trace "$1" -l -- ${2:+env LD_PRELOAD="$2"} "$WORK/$PROGRAM"
}

by_pid() { # OUT [LIBRARY]
	gated ${2:+env LD_PRELOAD="$2"} "$WORK/$PROGRAM"
	attach "$1" -l -p "$TARGET"
	release
	finish "$TARGET"
	attached_done "$1"
}

under() { # [LIBRARY]
	local out
	for PROGRAM in api_matrix delete_family; do
		out=$TMP/$PROGRAM${1:+.${1##*/}}
		by_command "$out.json" "$@"
		check "$out.json" "$out.json.stdout" ${1:+total}
		by_pid "$out.pid.json" "$@"
		check "$out.pid.json" "$TARGET_OUT"
		[ "$PROGRAM" != api_matrix ] || failed_is_10 "$out.pid.json"
	done
}

under
for so in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(gcc -print-file-name="$so")
	if [ -e "$path" ]; then
		under "$path"
	else
		echo "no $so here"
	fi
done
