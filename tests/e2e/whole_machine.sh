#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Without a target every process is traced: two that start after the tracer are exact, and allocsnoop
# itself is in no number.
. "$(dirname "$0")/../harness/lib.sh"
need_root

attach "$TMP/all.json"
"$WORK/api_matrix" >"$TMP/one"
"$WORK/cxx_family" >"$TMP/two"
stop_snoop "$TMP/all.json"
grep -v total "$TMP/one" >"$TMP/truth"
as_expected "$TMP/all.json" "$TMP/truth"
as_expected "$TMP/all.json" "$TMP/two"
is_same "allocsnoop in its own report" "$(ask "$TMP/all.json" '
	[(.processes[], .stacks[]) | select(.comm | startswith("allocsnoop"))] + [.processes[] | select(.pid == $own)] | length' \
	--argjson own "$SNOOP_PID")" 0

# It ends by itself.
attach "$TMP/short.json" -d 2s
"$WORK/api_matrix" >"$TMP/one"
"$WORK/cxx_family" >"$TMP/two"
attached_done "$TMP/short.json"
as_expected "$TMP/short.json" "$TMP/truth"
as_expected "$TMP/short.json" "$TMP/two"
is_same "it lasted two seconds" "$(ask "$TMP/short.json" '.duration_ns >= 2e9 and .duration_ns < 4e9')" true
