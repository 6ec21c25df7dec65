#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Without root: one line that names what needs root, the hint, status 1; what needs no root works.
. "$(dirname "$0")/../harness/lib.sh"
need setpriv
need_root

# The tree may lie where nobody else may look.
cp "$SNOOP" "$TMP/allocsnoop"
chmod 755 "$TMP/allocsnoop"
nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
nobody "$TMP/allocsnoop" -V >/dev/null || skip "the tool's libraries cannot be read by others"

for args in '' "-p $$" '-- true' '-d 1s -f json'; do
	refused 1 'root' nobody "$TMP/allocsnoop" $args
	grep -q '^hint: .*sudo' "$TMP/refused.err" || fail "'$args': no hint at sudo"
done

# Nothing may be left behind by a report that was never made.
mkdir -m 777 "$TMP/free"
refused 1 'root' nobody "$TMP/allocsnoop" -o "$TMP/free/x.json" -- true
[ -z "$(ls -A "$TMP/free")" ] || fail "a file was left behind: $(ls -A "$TMP/free")"

# A usage error is one before rights are asked for.
refused 2 "not a duration" nobody "$TMP/allocsnoop" -d 5x
nobody "$TMP/allocsnoop" --help >/dev/null
libc=$(ldd /bin/sh | awk '/libc\.so/ { print $3 }')
nobody "$TMP/allocsnoop" list "$libc" | grep -qw malloc || fail "list needs root for a readable file"
