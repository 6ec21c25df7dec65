#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Estimates of what was allocated, and the size limits beside them.
. "$(dirname "$0")/../harness/estimate.sh"
need_root

check() { # OPTION VALUE [large]
	estimates_hold alloc "$1" "$2" -- "$WORK/mixed_size" 30000 ${3:-}
}

check --sample-rate 1/10
check --sample-rate 1/100
check --sample-bytes 64K large
check --sample-bytes 512K large

trace "$TMP/all.json" --sample-rate 1 -- "$WORK/mixed_size" 30000 large
read -r _ truth <"$TMP/all.json.stdout"
is_same "rate 1" "$(total "$TMP/all.json")" "$truth"
is_same "rate 1 is exact" "$(ask "$TMP/all.json" .exact)" true

# Size limits: what is outside is not counted, what is inside is, and so it splits.
trace "$TMP/small.json" --max-size 1023 -- "$WORK/mixed_size" 30000
trace "$TMP/large.json" --min-size 1024 -- "$WORK/mixed_size" 30000
read -r _ truth <"$TMP/large.json.stdout"
is_same "both parts" "$(jq -rs '"\(map(.totals.alloc_count) | add) \(map(.totals.alloc_bytes) | add)"' "$TMP/small.json" "$TMP/large.json")" "$truth"
