#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Without a target every process is traced: two that start after the tracer are exact, and allocsnoop
# itself is in no number.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root

# They start while the tracer runs, and stand at their gates until it knows their files: without a target nobody
# stops a process for that, so one that lives for a millisecond only may stay without names.
known() { # FILE...
	local file
	for file; do
		grep -q "file '.*/$file" "$LOG" || return 1
	done
}

one_program() { # OUT NAME LIBRARY...
	local out=$1
	shift
	gated "$WORK/$1"
	until_true 30 known "$@"
	release
	finish "$TARGET"
	cp "$TARGET_OUT" "$out"
}

two_programs() { # LOG
	LOG=$1
	one_program "$TMP/one" api_matrix
	one_program "$TMP/two" cxx_family libstdc++.so
}

attach "$TMP/all.json" -v --max-overhead none
two_programs "$TMP/all.json.err"
stop_snoop "$TMP/all.json"
grep -v total "$TMP/one" >"$TMP/truth"
COMM=api_matrix as_expected "$TMP/all.json" "$TMP/truth"
COMM=cxx_family as_expected "$TMP/all.json" "$TMP/two"
is_same "allocsnoop in its own report" "$(ask "$TMP/all.json" '
	[(.processes[], .stacks[]) | select(.pid == $own)] | length' --argjson own "$SNOOP_PID")" 0

# It ends by itself.
attach "$TMP/short.json" -v --max-overhead none -d 2s
two_programs "$TMP/short.json.err"
attached_done "$TMP/short.json"
COMM=api_matrix as_expected "$TMP/short.json" "$TMP/truth"
COMM=cxx_family as_expected "$TMP/short.json" "$TMP/two"
is_same "it lasted two seconds" "$(ask "$TMP/short.json" '.duration_ns >= 2e9 and .duration_ns < 4e9')" true
