#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Four threads, a thousand functions, random sizes, blocks moved and freed by other threads, one in twenty
# forgotten: every function's blocks as the program's own books say. CALLS=500000 (of each thread) asks for
# the long run.
. "$(dirname "$0")/../harness/lib.sh"
need_root

trace "$TMP/mix.json" -l -- "$WORK/churn" 4 1000 "${CALLS:-25000}" 0 0
for what in "" freed live; do
	as_expected "$TMP/mix.json" "$TMP/mix.json.stdout" $what
done
losses_are_zero "$TMP/mix.json"
is_same "functions" "$(ask "$TMP/mix.json" '[.stacks[] | site | select(startswith("site_"))] | unique | length')" 1000
