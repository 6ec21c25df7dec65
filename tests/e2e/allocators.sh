#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The operator new family and the C functions under every allocator that is installed here, preloaded;
# an executable's own malloc; a garbage collector.
. "$(dirname "$0")/../harness/lib.sh"
need_root

trace "$TMP/glibc.json" -- "$WORK/cxx_family"
as_expected "$TMP/glibc.json" "$TMP/glibc.json.stdout"

for so in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(gcc -print-file-name="$so")
	[ -e "$path" ] || {
		echo "no $so here"
		continue
	}
	trace "$TMP/$so.json" -- env LD_PRELOAD="$(realpath "$path")" "$WORK/cxx_family"
	as_expected "$TMP/$so.json" "$TMP/$so.json.stdout"
	losses_are_zero "$TMP/$so.json"
	gated env LD_PRELOAD="$(realpath "$path")" "$WORK/cxx_family"
	attach "$TMP/$so.pid.json" -p "$TARGET"
	release
	finish "$TARGET"
	attached_done "$TMP/$so.pid.json"
	as_expected "$TMP/$so.pid.json" "$TARGET_OUT"
	is_same "all under $so" "$(total "$TMP/$so.pid.json")" "51 20041"
done

cc "${WORK_FLAGS[@]}" -o "$MADE/own_malloc" "$SOURCE/lib/own_malloc.c"
trace "$TMP/own.json" -- "$MADE/own_malloc"
as_expected "$TMP/own.json" "$TMP/own.json.stdout"

gc=$(gcc -print-file-name=libgc.so.1)
if [ -e "$gc" ]; then
	cc "${WORK_FLAGS[@]}" -o "$MADE/gc_user" "$SOURCE/lib/gc_user.c" "$gc"
	trace "$TMP/gc.json" -- "$MADE/gc_user"
	as_expected "$TMP/gc.json" "$TMP/gc.json.stdout"
fi
