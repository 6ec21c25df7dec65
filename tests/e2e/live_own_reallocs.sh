#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Reallocating functions that are no realloc: jemalloc's xallocx returns a size, mimalloc's reallocf frees
# the old block when it fails, its expand never moves one.
. "$(dirname "$0")/../harness/lib.sh"
need_root

for so in libjemalloc.so.2 libmimalloc.so.2; do
	path=$(gcc -print-file-name="$so")
	if [ ! -e "$path" ]; then
		echo "no $so here"
		continue
	fi
	out=$TMP/$so.json
	trace "$out" -l -- env LD_PRELOAD="$path" "$WORK/own_reallocs"
	grep -q live "$out.stdout" || fail "$so has none of the functions"
	COMM=own_reallocs as_expected "$out" "$out.stdout" live
	losses_are_zero "$out"
done
