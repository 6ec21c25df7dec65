#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `allocsnoop list`: what would be probed in a file, in a process, and what it says when there is nothing.
. "$(dirname "$0")/../harness/lib.sh"
need_root

libc=$(ldd /bin/sh | awk '/libc\.so/ { print $3 }')
for name in malloc calloc realloc posix_memalign; do
	"$SNOOP" list "$libc" | grep -qw "$name" || fail "list $libc does not name $name"
done

"$SNOOP" list --probe 'libc.so.6:malloc(size=ARG1)' "$libc" >"$TMP/one"
grep -q ', 1 function; ' "$TMP/one" || fail "the grammar of one function: $(head -1 "$TMP/one")"

# Options stand on either side of the file.
is_same "list FILE -q" "$("$SNOOP" list "$libc" -q)" "$("$SNOOP" list -q "$libc")"

"$SNOOP" list -p $$ >"$TMP/mine"
grep -q 'libc' "$TMP/mine" || fail "list -p does not name the shell's libc"

refused 1 '/no/such/file' "$SNOOP" list /no/such/file
refused 1 "$SOURCE/gate.h" "$SNOOP" list "$SOURCE/gate.h"

status=0
"$SNOOP" list "$libc" >/dev/full 2>"$TMP/err" || status=$?
is_same "status on a full disk" "$status" 1
grep -q '^allocsnoop: .*No space left' "$TMP/err" || fail "a full disk goes unsaid"
