#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Estimates of what is live in a heap in motion, by calls and by bytes.
. "$(dirname "$0")/../harness/estimate.sh"
need_root

estimates_hold live -l --sample-rate 1/100 -- "$WORK/churn" 4 1000 2000 0 0 brief
estimates_hold live -l --sample-bytes 64K -- "$WORK/churn" 4 1000 2000 0 0 brief

trace "$TMP/all.json" -l --sample-rate 1 -- "$WORK/churn" 4 1000 2000 0 0 brief
read -r _ truth <"$TMP/all.json.stdout"
# In its books are not the threads' own blocks.
is_same "rate 1" "$(ask "$TMP/all.json" '[.stacks[] | select(site | startswith("site_"))] | sums("live")')" "$truth"
is_same "rate 1 is exact" "$(ask "$TMP/all.json" .exact)" true
