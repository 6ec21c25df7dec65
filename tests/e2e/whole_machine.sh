#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Without a target every process is traced: two that start after the tracer are exact, and allocsnoop
# itself is in no number.
. "$(dirname "$0")/../harness/lib.sh"
need_root

# They start while the tracer runs, and stand at their gates for a moment: without a target nobody stops
# a process until its files are known, so one that lives for a millisecond only may stay without names.
two_programs() {
	gated "$WORK/api_matrix"
	release
	finish "$TARGET"
	cp "$TARGET_OUT" "$TMP/one"
	gated "$WORK/cxx_family"
	release
	finish "$TARGET"
	cp "$TARGET_OUT" "$TMP/two"
}

attach "$TMP/all.json"
two_programs
stop_snoop "$TMP/all.json"
grep -v total "$TMP/one" >"$TMP/truth"
COMM=api_matrix as_expected "$TMP/all.json" "$TMP/truth"
COMM=cxx_family as_expected "$TMP/all.json" "$TMP/two"
is_same "allocsnoop in its own report" "$(ask "$TMP/all.json" '
	[(.processes[], .stacks[]) | select(.comm | startswith("allocsnoop"))] + [.processes[] | select(.pid == $own)] | length' \
	--argjson own "$SNOOP_PID")" 0

# It ends by itself.
attach "$TMP/short.json" -d 2s
two_programs
attached_done "$TMP/short.json"
COMM=api_matrix as_expected "$TMP/short.json" "$TMP/truth"
COMM=cxx_family as_expected "$TMP/short.json" "$TMP/two"
is_same "it lasted two seconds" "$(ask "$TMP/short.json" '.duration_ns >= 2e9 and .duration_ns < 4e9')" true
