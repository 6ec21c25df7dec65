#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Unwind rows have a limit in the kernel. Above it stacks are shorter and say so, the files are a named
# loss, and every sum is still exact.
. "$(dirname "$0")/../harness/lib.sh"
need_root

trace "$TMP/whole.json" -- "$WORK/fan" 3
losses_are_zero "$TMP/whole.json"
is_same "stacks that end complete" "$(ask "$TMP/whole.json" 'all(.stacks[]; .end == "complete")')" true

trace "$TMP/none.json" --max-table-memory 1K -- "$WORK/fan" 3
is_same "totals" "$(total "$TMP/none.json")" "$(total "$TMP/whole.json")"
is_same "the loss is named" "$(ask "$TMP/none.json" '.losses | keys == ["table_memory"] and .table_memory > 0')" true
is_same "stacks that don't say they are cut" "$(ask "$TMP/none.json" '[.stacks[] | select(.truncated | not)] | length')" 0
# The program has frame pointers: they lead as far as main's caller.
stack_is "$TMP/none.json" "fan_tip fan_left fan_left fan_left main" 1 24
