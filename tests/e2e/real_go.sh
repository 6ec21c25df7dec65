#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A stripped Go program against the Go runtime's own count: what each package's init functions allocate
# (GODEBUG=inittrace=1, in the same run). Its bytes are rounded up to size classes, ours are as requested.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need go-md2man

trace "$TMP/init.json" -- env GODEBUG=inittrace=1 go-md2man
sed -nE 's/^init ([^ ]+) @.* ([0-9]+) bytes, ([0-9]+) allocs$/\1 \3/p' "$TMP/init.json.err" | sort >"$TMP/truth"
[ "$(awk '{ n += $2 } END { print n }' "$TMP/truth")" -gt 500 ] || fail "the runtime says too little"

# The frame that the runtime called for a package: PACKAGE.init, PACKAGE.init.0, PACKAGE.map.init.0 ...
ask "$TMP/init.json" '
	[.stacks[] | [.frames[]["function"]] as $f
		| ($f | map(test("^runtime\\.doInit1?$")) | index(true)) as $at
		| select($at and $f[-2] == "runtime.main")
		| { package: ($f[$at - 1] | sub("\\.(map\\.)?init(\\.[0-9]+)*$"; "")), count: .alloc_count }]
	| group_by(.package)[] | "\(.[0].package) \(map(.count) | add)"' >"$TMP/seen"
awk 'NR == FNR { seen[$1] = $2; next } { print $1, seen[$1] + 0 }' "$TMP/seen" "$TMP/truth" >"$TMP/is"
diff "$TMP/is" "$TMP/truth" >&2 || fail "other counts than the runtime's (>)"
is_same "packages that the runtime does not know" \
	"$(awk 'NR == FNR { known[$1]; next } !($1 in known)' "$TMP/truth" "$TMP/seen")" ""
losses_are_zero "$TMP/init.json"
