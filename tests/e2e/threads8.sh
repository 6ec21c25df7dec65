#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Eight threads, one stack, 400,000 additions to one row: five times of five exactly (LONG=1: twenty of twenty).
. "$(dirname "$0")/../harness/lib.sh"
need_root

for _ in $(seq "$(often 5 20)"); do
	trace "$TMP/out.json" -- "$WORK/threads8"
	site_is "$TMP/out.json" thread_work 400000 1600000
	is_same "stacks" "$(ask "$TMP/out.json" 'at_site("thread_work") | length')" 1
	losses_are_zero "$TMP/out.json"
done

gated "$WORK/threads8"
attach "$TMP/pid.json" -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/pid.json"
site_is "$TMP/pid.json" thread_work 400000 1600000
