# SPDX-License-Identifier: BSD-2-Clause
# Real programs against two oracles that know nothing of probes: a preloaded library that counts calls
# (workload/lib/countlib.c), and valgrind's "total heap usage".
#
# The rule of all three: a successful call is one allocation of the requested bytes; realloc to a size
# above zero is one of the new size. For three runs to be comparable the programs must do the same:
#  - the same environment, to the length of every value: programs copy it. valgrind sets PWD,
#    LD_LIBRARY_PATH, GLIBCPP_FORCE_NEW, GLIBCXX_FORCE_NEW and an LD_PRELOAD of its own, so the others
#    get the same, with their LD_PRELOAD padded by slashes;
#  - the same kind of files for standard input, output and error: stdio and Python size buffers by it;
#  - no address randomization, and the idle twin of the counting library in place of it: some programs
#    order sets by address, or need one chunk more when a block happens to lie elsewhere;
#  - nothing freed or allocated by valgrind for its own sake at exit (freeres).
# ld.so's own allocations before libc is there are no calls of malloc; none of the three counts them.

. "$(dirname "$0")/../harness/lib.sh"
need_root
need setarch
oracle_build
mkdir "$TMP/dir"
cd "$TMP/dir"
RUNS_ENV=(PATH=/usr/bin:/bin LC_ALL=C "PWD=$TMP/dir" "TMPDIR=$TMP/dir" HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1
	PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 PERL_HASH_SEED=0 "COUNT_FILE=$TMP/count")
SNOOP_WITH=()
AS_VALGRIND=(LD_LIBRARY_PATH=/usr/lib/debug GLIBCPP_FORCE_NEW=1 GLIBCXX_FORCE_NEW=1)

padded() { # LIBRARY: its path, as long as valgrind's LD_PRELOAD
	printf '%*s' "$PRELOAD_LENGTH" "$1" | tr ' ' /
}

PRELOAD_LENGTH=160
if command -v valgrind >/dev/null; then
	PRELOAD_LENGTH=$(env -i valgrind /usr/bin/env 2>/dev/null </dev/null | sed -n 's/^LD_PRELOAD=//p' | tr -d '\n' | wc -c)
fi

by_counting() { # COMMAND...: "COUNT BYTES"
	truncate -s 0 "$TMP/count"
	truncate -s 24 "$TMP/count"
	setarch -R env -i "${RUNS_ENV[@]}" "${AS_VALGRIND[@]}" LD_PRELOAD="$(padded "$MADE/countlib.so")" "$@" \
		</dev/null >/dev/null 2>&1 || fail "'$*' fails with status $?"
	od -An -t u8 -N 16 -w16 "$TMP/count" | xargs
}

by_snoop() { # COMMAND...: "COUNT BYTES"; the profile stays in $TMP/real.json. SNOOP_WITH are more options
	truncate -s 24 "$TMP/count"
	setarch -R env -i "${RUNS_ENV[@]}" "${AS_VALGRIND[@]}" LD_PRELOAD="$(padded "$MADE/idle_lib.so")" \
		"$SNOOP" -f json -o "$TMP/real.json" -q "${SNOOP_WITH[@]}" -- "$@" </dev/null >/dev/null 2>&1 ||
		fail "'$*' fails with status $? when traced"
	sound "$TMP/real.json"
	losses_are_zero "$TMP/real.json"
	total "$TMP/real.json"
}

by_valgrind() { # COMMAND...: "COUNT BYTES"
	env -i "${RUNS_ENV[@]}" valgrind --log-file="$TMP/valgrind" --run-libc-freeres=no --run-cxx-freeres=no "$@" \
		</dev/null >/dev/null 2>&1 || fail "'$*' fails with status $? in valgrind"
	sed -nE 's/.*total heap usage: ([0-9,]+) allocs, .* ([0-9,]+) bytes allocated/\1 \2/p' "$TMP/valgrind" | tr -d ,
}

# agree COMMAND...: the counting library twice (a program that does not repeat itself proves nothing),
# then allocsnoop.
agree() {
	local again traced
	COUNTED=$(by_counting "$@")
	again=$(by_counting "$@")
	is_same "'$1', counted again" "$again" "$COUNTED"
	[ "${COUNTED% *}" -gt 100 ] || fail "'$1' allocates only $COUNTED"
	traced=$(by_snoop "$@")
	is_same "'$1', traced (the other is the counting library)" "$traced" "$COUNTED"
	echo "$1: $COUNTED"
}

agree_valgrind() { # COMMAND...
	local usage
	agree "$@"
	command -v valgrind >/dev/null || return 0
	usage=$(by_valgrind "$@")
	is_same "'$1', traced and counted (the other is valgrind)" "$COUNTED" "$usage"
}

# agree_live COMMAND...: allocations, and blocks and bytes "in use at exit" to valgrind (definitely, indirectly,
# possibly lost and still reachable together).
agree_live() {
	local usage in_use
	SNOOP_WITH=(-l)
	usage=$(by_valgrind "$@")
	in_use=$(sed -nE 's/.*in use at exit: ([0-9,]+) bytes in ([0-9,]+) blocks/\2 \1/p' "$TMP/valgrind" | tr -d ,)
	is_same "'$1', traced (the other is valgrind)" "$(by_snoop "$@")" "$usage"
	is_same "'$1', live at exit (the other is valgrind)" "$(total "$TMP/real.json" live)" "$in_use"
	echo "$1: $usage, live $in_use"
}
