#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes docs/pictures/top*.svg from a real run: some programs work, `allocsnoop top` watches them in tmux,
# and what its terminal shows becomes the pictures. Needs root, tmux, sqlite3, perl, python3 and ruby.
set -euo pipefail
cd "$(dirname "$0")/../.."
BUILD=$(realpath "${BUILD:-build}")
out=${1:-docs/pictures}
cols=116 rows=14
scratch=$(mktemp -d)
export TMUX_TMPDIR=$scratch
unset TMUX
term() {
	tmux -L picture -f /dev/null "$@"
}
cleanup() {
	term kill-server 2>/dev/null || :
	for pid in $(jobs -pr); do
		kill "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$scratch"
}
trap cleanup EXIT

# Programs that allocate, each in its own rhythm.
pids=
watch() {
	"$@" >/dev/null &
	pids=$pids,$!
}
watch python3 -c 'import time, json
kept = []
for turn in range(10 ** 9):
    rows = [{"id": i, "name": "x" * (i % 50)} for i in range(20 + 30 * (turn // 40 % 5))]
    kept.append(json.dumps(rows)); del kept[:-50]; time.sleep(0.05)'
watch perl -e 'my %seen; for (my $i = 0;; $i++) { $seen{"key $i"} = [1 .. 20]; select undef, undef, undef, 0.002 }'
while sleep 0.03; do
	echo "insert into t select hex(randomblob(200)) from u;"
done | sqlite3 -cmd "create table t(a); create table u(a); insert into u values (1), (2), (3), (4)" :memory: &
pids=$pids,$!
watch ruby -e 'a = []; loop { a << ("row " * rand(300)); a.shift if a.size > 4000; sleep 0.001 }'

export LC_ALL=C.UTF-8
unset NO_COLOR
term new-session -d -x "$cols" -y "$rows" "TERM=tmux-256color '$BUILD/allocsnoop' top --live -p ${pids#,}"
term set-option -g status off
sees() {
	for _ in $(seq 600); do
		! term capture-pane -p | grep -qE -- "$1" || return 0
		sleep 0.1
	done
	echo "the screen has no '$1'" >&2
	exit 1
}
sees ' 4[0-9]\.[0-9] s$'
picture() { # FILE TITLE
	mkdir -p "$(dirname "$1")"
	term capture-pane -p -e -N | python3 tests/tools/pane_svg.py "$cols" "$2" >"$1.new"
	mv "$1.new" "$1"
}
term send-keys Home # a warning goes with a key
sees 'h help'
picture "$out/top.svg" "allocsnoop top --live"
term send-keys n Enter l # the first by name
sees 'stacks of perl'
picture "$out/top-stacks.svg" "allocsnoop top --live: a process"
