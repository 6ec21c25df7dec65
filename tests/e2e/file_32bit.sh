#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 32-bit code can't be traced: a file with it is a named loss, and nothing else suffers.
. "$(dirname "$0")/../harness/lib.sh"
need_root

trace "$TMP/out.json" -- "$WORK/maps_32bit" "$TMP/code32"
site_is "$TMP/out.json" only_site 1 77
is_same "losses" "$(ask "$TMP/out.json" '.losses | tostring')" '{"file_32bit":1}'
