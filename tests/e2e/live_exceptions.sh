#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Exceptions that leave a probed operator new find their catcher as without a tracer, under every allocator that
# is installed here and in a static executable; and the blocks between are followed exactly. And a handler that
# allocates on a higher stack while it interrupts an allocation.
. "$(dirname "$0")/../harness/lib.sh"
need_root

books_are() { # PROFILE TRUTH KEY WORD
	local function count bytes
	while read -r _ function count bytes; do
		is_same "$4 $function in ${1##*/}" "$(ask "$1" "at_site(\$name) |
			\"\\(map(.$3_count) | add // 0) \\(map(.$3_bytes) | add // 0)\"" --arg name "$function")" "$count $bytes"
	done < <(grep "^$4 " "$2")
}

followed() { # PROFILE TRUTH
	books_are "$1" "$2" alloc expect
	books_are "$1" "$2" live live
	books_are "$1" "$2" freed freed
	is_same "untracked in ${1##*/}" "$(ask "$1" .totals.untracked_count)" 0
	losses_are_zero "$1"
}

under() { # NAME COMMAND...
	local name=$1 status=0
	shift
	"$@" </dev/null >"$TMP/$name.alone" 2>"$TMP/$name.err" || status=$?
	[ "$status" = 0 ] || {
		[[ $name = *.so* ]] || fail "$name: ends with status $status"
		echo "$name: ends with status $status without a tracer"
		return 0
	}
	trace "$TMP/$name.json" -l -- "$@"
	diff "$TMP/$name.alone" "$TMP/$name.json.stdout" >&2 || fail "$name: says something else when traced"
	followed "$TMP/$name.json" "$TMP/$name.alone"
	is_same "failed calls in $name.json" "caught $(ask "$TMP/$name.json" .totals.failed_count)" \
		"$(grep caught "$TMP/$name.alone")"
	trace "$TMP/$name.impossible.json" -l -- "$@" impossible
	diff "$TMP/$name.alone" "$TMP/$name.impossible.json.stdout" >&2 || fail "$name: sizes change what it says"
	followed "$TMP/$name.impossible.json" "$TMP/$name.alone"
	gated "$@"
	attach "$TMP/$name.pid.json" -l -p "$TARGET"
	release
	finish "$TARGET"
	attached_done "$TMP/$name.pid.json"
	followed "$TMP/$name.pid.json" "$TARGET_OUT"
}

under glibc "$WORK/bad_allocs"
for so in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(gcc -print-file-name="$so")
	[ ! -e "$path" ] || under "$so" env LD_PRELOAD="$(realpath "$path")" "$WORK/bad_allocs"
done
g++ "${WORK_FLAGS[@]}" -static -o "$MADE/bad_allocs_static" "$SOURCE/bad_allocs.cc"
under static "$MADE/bad_allocs_static"

# A function that may throw and whose returns can't be known: it jumps through a pointer.
cc -O2 -g -o "$MADE/indirect" "$SOURCE/lib/indirect.c"
trace "$TMP/indirect.json" -l -- "$MADE/indirect"
is_same "untracked blocks of mi_new" "$(ask "$TMP/indirect.json" 'at_site("x_new") |
	"\(map(.untracked_count) | add) \(map(.untracked_bytes) | add) \(map(.live_count) | add)"')" \
	"$(cat "$TMP/indirect.json.stdout")"
is_same "lines about mi_new" "$(grep -c "blocks of 'mi_new' in .*indirect' are not followed" "$TMP/indirect.json.err")" 1

trace "$TMP/high.json" -l -- "$WORK/high_handler"
is_same "blocks of x_outer" "$(ask "$TMP/high.json" 'at_site("x_outer") | map(.live_count) | add')" \
	"$(awk '$1 == "outer" { print $2 }' "$TMP/high.json.stdout")"
is_same "blocks of x_inner" "$(ask "$TMP/high.json" 'at_site("x_inner") | map(.untracked_count) | add')" \
	"$(awk '$1 == "inner" { print $2 }' "$TMP/high.json.stdout")"
losses_are_zero "$TMP/high.json"
