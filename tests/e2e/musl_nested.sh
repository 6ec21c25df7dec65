#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# musl: static, dynamic, and stripped of all symbols. Its calloc, posix_memalign and strdup call other
# public functions of its allocator; where there is nothing to probe, one line says so.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need musl-gcc
flags=(-D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -fno-builtin)
musl-gcc "${flags[@]}" -static -o "$MADE/nested" "$SOURCE/musl_nested.c"
musl-gcc "${flags[@]}" -o "$MADE/nested_dyn" "$SOURCE/musl_nested.c"
cp "$MADE/nested" "$MADE/nested_stripped"
strip "$MADE/nested_stripped"

check() { # PROFILE
	site_is "$1" m_plain 9 1080
	site_is "$1" m_zeroed 6 3000
	site_is "$1" m_posix 4 2800
	site_is "$1" m_c11 3 2304
	site_is "$1" strdup 2 40
	losses_are_zero "$1"
}

for kind in nested nested_dyn; do
	trace "$TMP/$kind.json" -- "$MADE/$kind"
	check "$TMP/$kind.json"
	gated "$MADE/$kind"
	attach "$TMP/$kind.pid.json" -p "$TARGET"
	release
	finish "$TARGET"
	attached_done "$TMP/$kind.pid.json"
	check "$TMP/$kind.pid.json"
	is_same "all of $kind" "$(total "$TMP/$kind.pid.json")" "24 9224"
done
is_same "all of nested from its start" "$(total "$TMP/nested.json")" "24 9224"

# The command runs all the same; by a process id there is nothing that could be traced.
"$SNOOP" -f json -o "$TMP/none.json" -- "$MADE/nested_stripped" </dev/null >"$TMP/none.out" 2>"$TMP/none.err" || :
is_same "output of the stripped one" "$(cat "$TMP/none.out")" "nested ok"
is_same "lines about it" "$(grep -c "no allocator symbols in '.*/nested_stripped'" "$TMP/none.err")" 1
gated "$MADE/nested_stripped"
status=0
timeout 20 "$SNOOP" -f json -o "$TMP/none2.json" -d 300ms -p "$TARGET" </dev/null 2>"$TMP/none2.err" || status=$?
is_same "lines about it by process id" "$(grep -c "no allocator symbols in '.*/nested_stripped'" "$TMP/none2.err")" 1
is_same "status by process id" "$status" 1
release
finish "$TARGET"
