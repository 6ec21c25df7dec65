#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The library in a small program of one's own: as C and as C++, with the archive and with the shared
# library; its rows are the truth that the traced program prints.
. "$(dirname "$0")/../harness/lib.sh"
need_root
source=$SOURCE/embed/embed.c
libs=$(sed -n 's/^Libs.private: //p' "$BUILD/allocsnoop.pc")
flags=(-Wall -Wextra -Werror -I"$TREE/include" -pthread)

check() { # PROGRAM
	env "${@:2}" "$1" "$WORK/cxx_family" </dev/null >"$TMP/rows" 2>"$TMP/err" || {
		show "$TMP/err"
		fail "$1: status $?"
	}
	sed -n 's/^expect //p' "$TMP/rows" | grep -E '^n_(malloc|calloc|realloc|posix_memalign|aligned_alloc) ' >"$TMP/truth"
	is_same "truths" "$(wc -l <"$TMP/truth")" 5
	# A site has a row per size class.
	awk '$1 != "expect" { sub(/\(.*\)/, ""); n[$1] += $2; b[$1] += $3 } END { for (f in n) print f, n[f], b[f] }' \
		"$TMP/rows" >"$TMP/sums"
	while read -r truth; do
		grep -qx "$truth" "$TMP/sums" || fail "no '$truth' from $1"
	done <"$TMP/truth"
}

sanitize=()
[ "$(nm "$BUILD/liballocsnoop.a" 2>/dev/null | grep -c __asan_)" = 0 ] || sanitize=(-fsanitize=address,undefined)
# shellcheck disable=SC2086
gcc "${flags[@]}" "${sanitize[@]}" -o "$MADE/c_static" "$source" "$BUILD/liballocsnoop.a" $libs
# shellcheck disable=SC2086
g++ "${flags[@]}" "${sanitize[@]}" -x c++ -o "$MADE/cxx_static" "$source" -x none "$BUILD/liballocsnoop.a" $libs
gcc "${flags[@]}" "${sanitize[@]}" -o "$MADE/c_shared" "$source" -L"$BUILD" -lallocsnoop
g++ "${flags[@]}" "${sanitize[@]}" -x c++ -o "$MADE/cxx_shared" "$source" -x none -L"$BUILD" -lallocsnoop
check "$MADE/c_static"
check "$MADE/cxx_static"
check "$MADE/c_shared" LD_LIBRARY_PATH="$BUILD"
check "$MADE/cxx_shared" LD_LIBRARY_PATH="$BUILD"

is_same "symbols beside the API" "$(nm -D --defined-only "$BUILD/liballocsnoop.so" | awk '{ print $3 }' | grep -v '^allocsnoop_' || :)" ""
is_same "and in the archive" "$(nm -g --defined-only "$BUILD/liballocsnoop.a" 2>/dev/null | awk 'NF == 3 { print $3 }' | grep -v '^allocsnoop_' || :)" ""
