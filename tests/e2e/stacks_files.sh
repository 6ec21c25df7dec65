#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stacks through libraries whose files are not simply there: deleted, in memory, on tmpfs, on overlayfs in
# another mount namespace, or unloaded and followed by another one at the same address.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need unshare mount
[ "$(uname -m)" = x86_64 ] || skip "without frame pointers stacks are walked on x86_64 only"
flags=(-D_GNU_SOURCE -std=gnu11 -O2 -fomit-frame-pointer -fno-builtin)
cc "${flags[@]}" -o "$MADE/odd_files" "$SOURCE/lib/odd_files.c"

library() { # PATH SIZE FRAME
	cc "${flags[@]}" -shared -fPIC -DSIZE="$2" -DFRAME="$3" -o "$1" "$SOURCE/lib/odd_files.c"
}

whole() { # PROFILE SIZE...: one call of each, from the library to main
	local size out=$1
	shift
	for size; do
		is_same "stacks of $size bytes in ${out##*/}" "$(ask "$out" '.stacks[] | select(.alloc_bytes == $size) |
			"\(.alloc_count) \(.end) \([.frames[:5][].function] | join(" "))"' --argjson size "$size")" \
			"1 complete malloc odd_leaf odd_call in_library main"
	done
	losses_are_zero "$out"
}

shm=$(mktemp -d /dev/shm/snoop.XXXXXX)
library "$TMP/deleted.so" 60001 100
library "$TMP/memory.so" 60002 200
library "$shm/tmpfs.so" 60003 300
library "$TMP/first.so" 60004 400
library "$TMP/second.so" 60005 5000
trace "$TMP/files.json" -- "$MADE/odd_files" "deleted:$TMP/deleted.so" "memory:$TMP/memory.so" "tmpfs:$shm/tmpfs.so" \
	"closed:$TMP/first.so" "closed:$TMP/second.so"
rm -r "$shm"
whole "$TMP/files.json" 60001 60002 60003 60004 60005
is_same "addresses of a library and the next one" "$(sort -u "$TMP/files.json.stdout" | wc -l)" 1

mkdir "$TMP/lower" "$TMP/upper" "$TMP/work" "$TMP/merged"
library "$TMP/lower/lower.so" 60006 600
mount_there() {
	unshare -m mount -t overlay overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/upper,workdir=$TMP/work" "$TMP/merged"
}
mount_there 2>/dev/null || {
	echo "no overlayfs here: left out"
	exit 0
}
cat >"$TMP/contained" <<-'SH'
	#!/bin/sh
	mount -t overlay overlay -o "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work" "$1/merged"
	cp "$1/upper.so" "$1/merged/"
	exec "$2" "overlay:$1/merged/lower.so" "overlay:$1/merged/upper.so"
SH
library "$TMP/upper.so" 60007 700
trace "$TMP/overlay.json" -- unshare -m sh "$TMP/contained" "$TMP" "$MADE/odd_files"
whole "$TMP/overlay.json" 60006 60007
