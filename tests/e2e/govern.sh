#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --max-overhead: a light program is counted exactly, a steady one estimated from windows, and a storm goes on nearly
# as fast as alone, with numbers that say they are lower bounds.
# alone: measures how fast a process runs
. "$(dirname "$0")/../harness/lib.sh"
need_root

# A libc of its own: nobody else's probes are in it.
mkdir "$TMP/lib"
cp "$(ldd "$WORK/steady" | awk '/libc\.so\.6/ { print $3 }')" "$TMP/lib/"
private() { # COMMAND...
	LD_LIBRARY_PATH=$TMP/lib "$@"
}

status=0
"$SNOOP" -q -f json -o "$TMP/try.json" --max-overhead 5 -- true 2>"$TMP/try.err" || status=$?
if [ "$status" != 0 ]; then
	# Old kernels: it says so, and what to do; where nobody asked, it is a warning.
	grep -q -- "--max-overhead: this kernel's probes" "$TMP/try.err" || fail "$(head -1 "$TMP/try.err")"
	skip "no budgets on this kernel"
fi

# Light: exact, with its cost.
trace "$TMP/light.json" --max-overhead 20 -- "$WORK/api_matrix"
as_expected "$TMP/light.json" "$TMP/light.json.stdout"
is_same "a light program" "$(ask "$TMP/light.json" '"\(.exact) \(.sampling.coverage) \(.sampling.budget_pct)"')" "true 1 20"

# Steady: a part of it is seen, and says of all of it what is true.
private gated "$WORK/steady" 2.5
attach "$TMP/steady.json" --max-overhead 2 -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/steady.json"
ask "$TMP/steady.json" '[.totals.alloc_count, .totals.alloc_bytes, .totals.alloc_count_se, .totals.alloc_bytes_se,
	.sampling.windows, .sampling.coverage, .exact] | @tsv' >"$TMP/said"
awk 'function off(x) { return x < 0 ? -x : x }
	NR == FNR { if ($1 == "expect") { cnt += $3; bytes += $4 }; next }
	{
		if ($7 != "false" || $5 < 3 || $6 >= 0.6 || $6 <= 0) { print "no windows"; bad = 1 }
		# Five standard errors: less than one run in a million by chance.
		if (off($1 - cnt) > 5 * $3 || off($2 - bytes) > 5 * $4 || $3 > cnt / 2) { print "not within"; bad = 1 }
		if (bad) { print; print "truth: " cnt, bytes }
		exit bad
	}' "$TARGET_OUT" "$TMP/said" >"$TMP/why" || {
	show "$TMP/why"
	fail "the steady one's estimate"
}

# A storm: as fast as alone, nearly (it would be 50 times slower), and "at least".
counter_file "$TMP/storm"
private gated "$WORK/counter" "$TMP/storm"
storm=$TARGET
release
until_true 20 counted_past "$TMP/storm" 100000
full=$(counter_speed "$TMP/storm" "$storm")
background "$SNOOP" --max-overhead 5 -p "$storm" </dev/null >"$TMP/storm.txt" 2>"$TMP/storm.err"
until_true 30 is_tracing "$TMP/storm.err" || fail "it does not begin"
during=$(counter_speed "$TMP/storm" "$storm")
again=$(counter_speed "$TMP/storm" "$storm")
[ $((during > again ? during : again)) -ge $((full * 3 / 4)) ] || fail "the storm: $during and $again turns/ms within the budget, $full before"
kill -INT "$BG"
finish "$BG"
grep -q '^coverage  *not known.* of a budget of 5 %' "$TMP/storm.txt" && grep -q '^total  *at least ' "$TMP/storm.txt" || {
	show "$TMP/storm.txt"
	fail "a storm's report doesn't say what it knows"
}
counter_stop "$TMP/storm"
finish "$storm"
