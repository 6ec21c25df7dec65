#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the library tells of a frame, against nm and readelf; of the recording's start, against the clock; and
# of its course.
. "$(dirname "$0")/../harness/lib.sh"
need_root
libs=$(sed -n 's/^Libs.private: //p' "$BUILD/allocsnoop.pc")
sanitize=()
[ "$(nm "$BUILD/liballocsnoop.a" 2>/dev/null | grep -c __asan_)" = 0 ] || sanitize=(-fsanitize=address,undefined)
# shellcheck disable=SC2086
gcc -Wall -Wextra -Werror -I"$TREE/include" -pthread "${sanitize[@]}" -o "$MADE/frames" "$SOURCE/embed/frames.c" \
	"$BUILD/liballocsnoop.a" $libs

before=$(date +%s%N)
"$MADE/frames" "$WORK/cxx_family" </dev/null >"$TMP/out" 2>"$TMP/err" || {
	show "$TMP/err"
	fail "frames: status $?"
}
started=$(sed -n 's/^started //p' "$TMP/out")
[ "$started" -ge "$before" ] && [ "$started" -le "$(date +%s%N)" ] || fail "started at $started, after $before"

# At least three; time and sums grow; the last one is the profile's own.
awk '
	$1 == "point" { points++; bad = bad || $2 <= time || $3 < count || $4 < bytes; time = $2; count = $3; bytes = $4 }
	$1 == "sum" { bad = bad || $2 != count || $3 != bytes || !count }
	END { exit bad || points < 3 }' "$TMP/out" || {
	grep -E '^(point|sum)' "$TMP/out" >&2
	fail "points don't grow up to the sum"
}

# Each of the program's functions that allocates: its symbol, demangled, is its name.
id=$(readelf -n "$WORK/cxx_family" | sed -n 's/.*Build ID: //p')
nm "$WORK/cxx_family" | awk '{ print $3 }' >"$TMP/symbols"
sed -n "s/^frame //p" "$TMP/out" | grep -F "|$WORK/cxx_family|" | sort -u >"$TMP/frames"
[ "$(wc -l <"$TMP/frames")" -ge 5 ] || fail "too few frames"
while IFS='|' read -r function mangled module build_id file line; do
	is_same "build id of $module" "$build_id" "$id"
	is_same "file of $function" "${file##*/}" cxx_family.cc
	[ "$line" -gt 0 ] || fail "no line for $function"
	[ "$mangled" != - ] || mangled=$function
	grep -qxF "$mangled" "$TMP/symbols" || fail "'$mangled' is no symbol"
	is_same "name of $mangled" "$function" "$(c++filt "$mangled")"
done <"$TMP/frames"

# What is probed: C's functions by their names, C++'s also by their symbols.
libc=$(ldd "$WORK/cxx_family" | awk '$1 ~ /^libc[.]so/ { print $3 }')
id=$(readelf -n "$libc" | sed -n 's/.*Build ID: //p')
grep -qxF "allocator malloc|-|$id" "$TMP/out" || fail "malloc has not libc's build id, $id"
sed -n 's/^allocator //p' "$TMP/out" | sort -u | while IFS='|' read -r function mangled _; do
	[ "$mangled" = - ] || is_same "name of $mangled" "$function" "$(c++filt "$mangled")"
done
