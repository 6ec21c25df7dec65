#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# 32,768 different stacks, each seen once and none of them wrong; and a stack that is deeper than the
# limit: cut with a mark, its leaf side whole.
. "$(dirname "$0")/../harness/lib.sh"
need_root

"$SNOOP" -f folded --value alloc-count -o "$TMP/fan.folded" -- "$WORK/fan" 15 400 </dev/null >"$TMP/out" 2>"$TMP/err"
is_same "fan says" "$(cat "$TMP/out")" "paths 32768 deep 50"
# Leaf last: ...;main;fan_left;...;fan_tip;malloc 1
grep -E ';fan_tip;malloc [0-9]+$' "$TMP/fan.folded" | sed -E 's/^.*;main;//; s/;fan_tip;malloc / /' >"$TMP/paths"
is_same "stacks of fan_tip" "$(wc -l <"$TMP/paths")" 32768
is_same "different ones" "$(cut -d' ' -f1 "$TMP/paths" | sort -u | wc -l)" 32768
is_same "of 15 turns, seen once" "$(grep -cE '^(fan_(left|right);){14}fan_(left|right) 1$' "$TMP/paths")" 32768

# Where a format has no place for losses, they are told of on standard error.
is_same "losses" "$(grep -v '^tracing ' "$TMP/err" || :)" ""

# Thousands of rows of one sample each, which stands for 1.29 calls: what rounding takes from each adds up.
for mode in "" -l; do
	trace "$TMP/sampled.json" $mode --sample-bytes 16 -- "$WORK/fan" 13 400
	is_same "8242 calls are within 6 standard errors$mode" "$(ask "$TMP/sampled.json" '.totals |
		(.alloc_count - 8242 | fabs) < 6 * .alloc_count_se')" true
done

for depth in "" 100; do
	trace "$TMP/deep.json" ${depth:+--max-depth "$depth"} -- "$WORK/fan" 3 400
	site_is "$TMP/deep.json" fan_tip 8 192
	is_same "stacks of deep_tip" "$(ask "$TMP/deep.json" 'at_site("deep_tip") | "\(length) \(count_bytes)"')" "1 50 204800"
	is_same "callers of deep_tip" "$(ask "$TMP/deep.json" 'at_site("deep_tip")[] |
		if .truncated then .end, (callers | .[1:] | unique[]) else "complete", (callers[1:402] | unique[]) end' | xargs)" \
		"$([ -n "$depth" ] && echo truncated deep_rec || echo complete deep_rec main)"
	[ -z "$depth" ] || is_same "frames" "$(ask "$TMP/deep.json" 'at_site("deep_tip")[].frames | length')" "$depth"
done
