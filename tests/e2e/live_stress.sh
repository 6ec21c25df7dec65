#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 64 threads that allocate, move and free each other's blocks at eight places, with children that come and
# go beside them: at the end everything is as the program's own books say. LIVE_STRESS_SECONDS=60 asks
# for a longer run.
. "$(dirname "$0")/../harness/lib.sh"
need_root
SECS=${LIVE_STRESS_SECONDS:-8}

trace "$TMP/stress.json" -l -- "$WORK/churn" 64 8 1000000000 "$SECS" $((SECS * 2))
for what in "" freed live exit; do
	as_expected "$TMP/stress.json" "$TMP/stress.json.stdout" $what
done
losses_are_zero "$TMP/stress.json"
# (Of the parent's own, glibc frees once more what its threads had cached.)
is_same "frees of inherited blocks" "$(ask "$TMP/stress.json" '[.processes[] | select(.pid != $parent).unknown_frees] | add' \
	--argjson parent "$(sed -n 's/^parent //p' "$TMP/stress.json.stdout")")" \
	"$(sed -n 's/^inherited //p' "$TMP/stress.json.stdout")"
