#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# An allocator in a library that is loaded while the program is traced, and one with two versions of
# one function.
. "$(dirname "$0")/../harness/lib.sh"
need_root
lib=$SOURCE/lib
cc "${WORK_FLAGS[@]}" -shared -fPIC -o "$MADE/private_alloc.so" "$lib/private_alloc.c"
cc "${WORK_FLAGS[@]}" -shared -fPIC -Wl,--version-script="$lib/versioned.map" -o "$MADE/versioned.so" "$lib/versioned.c"
cc "${WORK_FLAGS[@]}" -o "$MADE/versioned_user" "$lib/versioned_user.c" "$MADE/versioned.so"

trace "$TMP/late.json" -- "$WORK/dlopen_alloc" "$MADE/private_alloc.so"
as_expected "$TMP/late.json" "$TMP/late.json.stdout"
is_same "allocators" "$(ask "$TMP/late.json" '[.stacks[] | select(site | startswith("d_")) | .allocator] | sort | join(" ")')" \
	"je_calloc je_malloc je_mallocx"

# Again under the same name after the file was replaced: the new file has its own probes.
cp "$MADE/private_alloc.so" "$TMP/copy.so"
trace "$TMP/copy.json" -- "$WORK/dlopen_alloc" "$TMP/copy.so"
as_expected "$TMP/copy.json" "$TMP/copy.json.stdout"

trace "$TMP/versioned.json" -- "$MADE/versioned_user"
site_is "$TMP/versioned.json" v_old 4 160
site_is "$TMP/versioned.json" v_new 6 360
is_same "names with a version" "$(ask "$TMP/versioned.json" '[.stacks[].frames[].function | select(contains("@"))] | length')" 0
