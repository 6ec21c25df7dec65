#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `allocsnoop doctor`: here all that tracing needs is there, since tracing works; and what is taken away is
# found missing, with a remedy, by the row that it belongs to.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need jq setpriv unshare

# ask_it NAME [COMMAND...]: asks it there, beside the others; the answers will be in $TMP/NAME.
declare -A asked
ask_it() {
	"${@:2}" "$doctor" doctor -f json </dev/null >"$TMP/$1" 2>"$TMP/$1.err" &
	asked[$1]=$!
}

# ill STATUS NAME: what it answered.
ill() {
	finish "${asked[$2]}" "$1"
	is_same "messages of '$2'" "$(cat "$TMP/$2.err")" ""
	is_same "'able' of '$2'" "$(jq .able "$TMP/$2")" "$([ "$1" = 0 ] && echo true || echo false)"
	is_same "rows of '$2' without state, need or text" \
		"$(jq '[.features[] | select((.state and .need and .text) | not)] | length' "$TMP/$2")" 0
	is_same "rows of '$2' that lack a remedy" "$(jq -c '[.features[] |
		select((.state | IN("missing", "slower", "limited")) and (.remedy // "") == "") | .name]' "$TMP/$2")" '[]'
}

row() { # FILE NAME: its state
	jq -r --arg name "$2" '.features[] | select(.name == $name) | .state' "$TMP/$1"
}

remedy() { # FILE NAME WORDS
	jq -r --arg name "$2" '.features[] | select(.name == $name) | .remedy' "$TMP/$1" | grep -qE "$3" || {
		show "$TMP/$1"
		fail "$1: the remedy of '$2' has no '$3'"
	}
}

# A copy that anybody may run: the build directory may be closed to others.
doctor=$TMP/allocsnoop
cp "$SNOOP" "$doctor"
chmod 755 "$doctor"

cannot=(setpriv --reuid=65534 --regid=65534 --clear-groups)
ask_it well
ask_it nobody "${cannot[@]}"
ask_it seccomp "$WORK/no_bpf"
mkdir "$TMP/empty"
ask_it btf unshare -m sh -c "mount --bind '$TMP/empty' /sys/kernel/btf && exec \"\$@\"" sh
ask_it few bash -c 'ulimit -n 20 && exec "$@"' few
ask_it some bash -c 'ulimit -n 150 && exec "$@"' some
ask_it pidns unshare --pid --fork --mount-proc

ill 0 well
is_same "what is needed and not there" \
	"$(jq -c '[.features[] | select(.need == "main" and .state != "ok" and .state != "limited") | .name]' "$TMP/well")" '[]'
is_same "what it counted" \
	"$(jq -r '.features[] | select(.name == "counting" or .name == "following") | .text' "$TMP/well")" \
	"1000 of 1000 allocations of a child, 100500 of 100500 bytes
1000 of 1000 allocations of a child, 100500 of 100500 bytes, 500 of 500 frees"
[ "$(jq .hit_ns "$TMP/well")" -gt 100 ] || fail "a hit costs nothing"

# Without root.
if "${cannot[@]}" "$doctor" -V >/dev/null 2>&1; then
	ill 1 nobody
	is_same "root of nobody" "$(row nobody root)" missing
	remedy nobody root sudo
	is_same "counting of nobody" "$(row nobody counting)" unknown
	is_same "btf of nobody" "$(row nobody btf)" ok

	# The text has the same rows, and the verdict last; it can fail to be written.
	"${cannot[@]}" "$doctor" doctor >"$TMP/text" || :
	is_same "rows" "$(grep -cE '^  (ok|slower|limited|missing|unknown) ' "$TMP/text")" "$(jq '.features | length' "$TMP/nobody")"
	is_same "the verdict" "$(tail -n 1 "$TMP/text")" "tracing can't work here: see \`missing\`"
	status=0
	"${cannot[@]}" "$doctor" doctor >/dev/full 2>"$TMP/err" || status=$?
	is_same "status on a full disk" "$status" 1
	grep -q '^allocsnoop: .*No space left' "$TMP/err" || fail "a full disk goes unsaid"
fi

# With a seccomp filter as containers have one.
ill 1 seccomp
is_same "bpf(2) refused" "$(row seccomp 'bpf(2)')" missing
remedy seccomp 'bpf(2)' seccomp

ill 1 btf
is_same "btf hidden" "$(row btf btf)" missing

# Too few descriptors to load anything, and too few to go far.
ill 1 few
is_same "20 descriptors" "$(row few programs) $(row few descriptors)" "missing missing"
remedy few descriptors LimitNOFILE
ill 0 some
is_same "150 descriptors" "$(row some counting) $(row some descriptors)" "ok limited"

ill 1 pidns
is_same "a PID namespace" "$(row pidns 'pid namespace')" missing
