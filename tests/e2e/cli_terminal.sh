#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The text report on a terminal: as wide as it is, with colours unless somebody said no, and with neither in a
# file or a pipe.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need script stty

ESC=$'\x1b'
command="$WORK/cxx_family"
"$SNOOP" -q -o "$TMP/saved.pb.gz" -- "$command" >/dev/null

# on_terminal OUT COLUMNS [VARIABLE=VALUE...] COMMAND...: what a terminal of so many columns gets.
on_terminal() {
	local out=$1 columns=$2
	shift 2
	env -u NO_COLOR -u COLUMNS TERM=xterm script -qec "stty cols $columns -onlcr; exec env $*" /dev/null </dev/null >"$out" ||
		fail "'$*' on a terminal: status $?"
	grep -q 'no losses' "$out" || { show "$out"; fail "'$*' on a terminal: no report"; }
}

# report OUT COLUMNS [VARIABLE=VALUE...] [OPTIONS]: the same of the saved profile.
report() {
	local out=$1 columns=$2 variables=()
	shift 2
	while [[ ${1:-} == *=* ]]; do
		variables+=("$1")
		shift
	done
	on_terminal "$out" "$columns" "${variables[@]}" "$SNOOP" report "$@" "$TMP/saved.pb.gz"
}

has_colours() { # FILE
	grep -q "$ESC\[1m" "$1" && grep -q "$ESC\[0m" "$1" || fail "${1##*/}: no colours"
}

is_plain() { # FILE
	if grep -n "$ESC" "$1" >&2; then fail "${1##*/}: an escape sequence"; fi
}

fits() { # FILE COLUMNS
	if sed "s/$ESC\[[0-9]*m//g" "$1" | grep -nE ".{$(($2 + 1))}" >&2; then fail "${1##*/}: wider than $2 columns"; fi
}

# A recording, and then the same for reports of a saved one.
on_terminal "$TMP/recorded" 80 "$SNOOP" -q -- "$command" '>/dev/tty'
has_colours "$TMP/recorded"
fits "$TMP/recorded" 80

report "$TMP/80" 80
has_colours "$TMP/80"
fits "$TMP/80" 80
grep -q '…' "$TMP/80" || fail "80 columns, and no name was cut"
report "$TMP/200" 200
fits "$TMP/200" 200
grep -q '[█▌]' "$TMP/200" || fail "no bars on a wide terminal"
sed "s/$ESC\[[0-9]*m//g" "$TMP/200" | grep -qE '.{81}' || fail "200 columns aren't used"
report "$TMP/columns" 200 COLUMNS=100 --tree
fits "$TMP/columns" 100
has_colours "$TMP/columns"

report "$TMP/no_color" 80 NO_COLOR=1
is_plain "$TMP/no_color"
fits "$TMP/no_color" 80
report "$TMP/no_color_empty" 80 NO_COLOR=
has_colours "$TMP/no_color_empty"
report "$TMP/dumb" 80 TERM=dumb
is_plain "$TMP/dumb"
report "$TMP/ascii" 100 LC_ALL=C TERM=dumb --tree
if LC_ALL=C grep -n $'[\x80-\xff]' "$TMP/ascii" >&2; then fail "a locale without UTF-8, and not only ASCII"; fi
grep -q '[|`]- ' "$TMP/ascii" || fail "no tree of ASCII"

# A file and a pipe: whole lines, nothing else, also when there is a terminal.
TERM=xterm COLUMNS=40 "$SNOOP" report "$TMP/saved.pb.gz" 2>&1 | cat >"$TMP/pipe"
is_plain "$TMP/pipe"
grep -qE '.{81}' "$TMP/pipe" || fail "lines are cut in a pipe"
env TERM=xterm script -qec "stty cols 40; exec $SNOOP report -o $TMP/file $TMP/saved.pb.gz" /dev/null </dev/null >/dev/null
cmp "$TMP/file" "$TMP/pipe" || fail "a file and a pipe get different reports"

# A command that has ended before anything could be said isn't announced with 0 processes.
"$SNOOP" -o "$TMP/true" -- true 2>"$TMP/err"
if grep ' 0 process' "$TMP/err" >&2; then fail "0 processes are announced"; fi
