#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --comm: of programs that share a libc only those with the name count, from exec to exec; a process that
# changes its name counts while it has the right one.
# alone: has probes in every process
. "$(dirname "$0")/../harness/lib.sh"
need_root

cp "$WORK/follow" "$TMP/left_prog"
cp "$WORK/follow" "$TMP/right_prog"
gated "$TMP/left_prog" leaf 21
left=$TARGET left_out=$TARGET_OUT left_gate=$GATE
gated "$TMP/right_prog" leaf 34
attach "$TMP/left.json" --max-overhead none --comm 'nobody,l[e]ft_*'
release
release "$left_gate"
finish "$TARGET"
finish "$left"
stop_snoop "$TMP/left.json"
as_expected "$TMP/left.json" "$left_out"
is_same "names" "$(ask "$TMP/left.json" '[.processes[], .stacks[] | .comm] | unique | join(" ")')" left_prog
is_same "target" "$(ask "$TMP/left.json" .target)" "every process named nobody,l[e]ft_*"

# Of a command's children, and by the name of the moment.
trace "$TMP/child.json" --comm right_prog -- sh -c "'$TMP/left_prog' leaf 5; '$TMP/right_prog' leaf 6; :"
grep 360 "$TMP/child.json.stdout" >"$TMP/truth"
as_expected "$TMP/child.json" "$TMP/truth"
trace "$TMP/renames.json" -l --comm chosen -- "$WORK/follow" renames
as_expected "$TMP/renames.json" "$TMP/renames.json.stdout"
as_expected "$TMP/renames.json" "$TMP/renames.json.stdout" freed
losses_are_zero "$TMP/renames.json"
is_same "frees of unknown blocks" "$(ask "$TMP/renames.json" .totals.unknown_frees)" 0

refused 2 "needs --pid" "$SNOOP" --follow
refused 2 "followed anyway" "$SNOOP" --follow -- true
refused 2 "not together with --pid" "$SNOOP" --comm x -p $$
