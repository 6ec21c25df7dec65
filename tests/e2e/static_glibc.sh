#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# glibc linked into the executable: the same functions, without libc.so.
. "$(dirname "$0")/../harness/lib.sh"
need_root
gcc "${WORK_FLAGS[@]}" -static -o "$MADE/api_matrix_static" "$SOURCE/api_matrix.c"

trace "$TMP/command.json" -- "$MADE/api_matrix_static"
grep -v total "$TMP/command.json.stdout" >"$TMP/truth"
as_expected "$TMP/command.json" "$TMP/truth"

gated "$MADE/api_matrix_static"
attach "$TMP/pid.json" -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/pid.json"
as_expected "$TMP/pid.json" "$TARGET_OUT"
