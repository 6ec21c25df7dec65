#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `allocsnoop top` without a target: every process, within the default budget; nothing is left behind.
# alone: it traces every process
. "$(dirname "$0")/../harness/lib.sh"
. "$TREE/tests/harness/term.sh"
need_root

# The one that allocates most by far is on top, and says how sure its numbers are.
gated "$WORK/steady" 60
begin tmux-256color 80x24 -- -i 500ms
sees '^allocsnoop top +every process'
sees ' cost [0-9.]+ of 5\.0 %'
release
keys f "$TARGET" Enter
sees "^> +$TARGET .*steady"
sees '^(exact|estimate|at least)'
keys Escape a
sees 'stacks of all processes'
keys f steady_large Enter
sees '^> .*steady_large'
keys Enter
sees '^ +1 +steady_large +steady'
pid=$(pgrep -f "^$SNOOP top -i 500ms$")
bpf_held "$pid" >"$TMP/held"
[ -s "$TMP/held" ] || fail "holds nothing in the kernel?"
keys Q
ended 0
until_true 20 bpf_gone "$TMP/held" || fail "something is left in the kernel"
kill "$TARGET"
