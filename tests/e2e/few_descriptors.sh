#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Too few descriptors for the whole machine: that is said, counted as a loss, and the report comes all the same; with
# still fewer there is one line that says why nothing can be traced.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root

with_limit() { # LIMIT
	local status=0
	(ulimit -n "$1" && exec "$SNOOP" --max-overhead none -d 300ms -f json -o "$TMP/few.json") </dev/null >"$TMP/out" 2>"$TMP/err" || status=$?
	echo $status
}

one_voice() { # LIMIT
	! grep '^libbpf' "$TMP/err" || fail "$1 descriptors: the library speaks, too"
}

gated "$WORK/direct_caller"
some=0
for ((limit = 160; limit > 40; limit -= 12)); do
	status=$(with_limit $limit)
	one_voice $limit
	[ "$status" = 0 ] || break
	sound "$TMP/few.json"
	[ "$(ask "$TMP/few.json" '.losses.attach_failed // 0')" != 0 ] || continue
	some=$((some + 1))
	grep -qE "descriptors are (left|in use).*ulimit -Hn" "$TMP/err" || {
		show "$TMP/err"
		fail "$limit descriptors: nothing says that they have run out"
	}
done
[ $some -gt 0 ] || fail "no limit was too low for some files only"
is_same "status with $limit descriptors" "$status" 1
grep -q "^hint: raise the hard limit\|^allocsnoop: .*open files" "$TMP/err" || {
	show "$TMP/err"
	fail "$limit descriptors: nothing says why it can't trace"
}
for limit in 68 64; do
	is_same "status with $limit descriptors" "$(with_limit $limit)" 1
	one_voice $limit
done
release
