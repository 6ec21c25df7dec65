#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# massif's file, read by ms_print: the snapshots are there, the peak and the end have the bytes that the same recording
# has in JSON, and their trees add up.
. "$(dirname "$0")/../harness/lib.sh"
. "$(dirname "$0")/../harness/formats.sh"
need_root
need ms_print
formats_build

# What the reader makes of it; it dies of what isn't right, and perl says when it is odd.
printed() { # FILE
	ms_print --threshold=0 "$1" >"$1.print" 2>"$1.err" || fail "ms_print of ${1##*/}: $(cat "$1.err")"
	[ ! -s "$1.err" ] || fail "ms_print of ${1##*/}: $(head -3 "$1.err")"
}

top_of_tree() { # FILE N: bytes of the N-th tree
	grep -E '\(heap allocation functions\)' "$1.print" | sed -n "$2p" | sed 's/^[^(]*(\([0-9,]*\)B).*/\1/; s/,//g'
}

agrees() { # PATH
	printed "$1.massif"
	is_same "peak and end of ${1##*/}" "$(top_of_tree "$1.massif" 1) $(top_of_tree "$1.massif" 2)" \
		"$(json_sums "$1.json" peak_bytes live_bytes)"
	# Each node is the sum of those below it.
	awk '
		/^ *n[0-9]+: / {
			match($0, /^ */)
			depth = RLENGTH
			split($0, word, /[n: ]+/)
			for (d in sum) if (d + 0 > depth) check(d + 0)
			if (depth) sum[depth] += word[3]
			bytes[depth] = word[3]
			children[depth] = word[2]
			next
		}
		{ for (d in sum) check(d + 0) }
		function check(d) {
			if (sum[d] != bytes[d - 1]) {
				print FILENAME ":" FNR ": children have " sum[d] " of " bytes[d - 1]
				bad = 1
			}
			delete sum[d]
		}
		END { exit bad }' "$1.massif" >"$TMP/bad" || fail "$(head -3 "$TMP/bad")"
}

formats "$TMP/times" massif 30 "$WORK/live_times"
agrees "$TMP/times"
grep -q 'p_a (in ' "$TMP/times.massif.print" || fail "no function of live_times in what ms_print prints"
is_same "peak that live_times says" "$(top_of_tree "$TMP/times.massif" 1)" \
	"$(sed -n 's/^peak total [0-9]* //p' "$TMP/times.stdout")"
# Three snapshots of its own; points of the last millisecond, and of the peak's, are in them.
points=$(sed -n 's/^points //p' "$TMP/times.stdout")
snapshots=$(sed -n 's/^Number of snapshots: //p' "$TMP/times.massif.print")
[ "$snapshots" -ge $((points > 2 ? points + 1 : 3)) ] && [ "$snapshots" -le $((points + 3)) ] ||
	fail "$snapshots snapshots of $points points"
grep -q "^Detailed snapshots: \[[0-9]* (peak), [0-9]*\]$" <(sed 's/^ *//' "$TMP/times.massif.print") ||
	fail "not the detailed snapshots: $(grep Detailed "$TMP/times.massif.print")"

formats "$TMP/edges" massif 0 "$WORK/live_edges" "$WORK/blink"
agrees "$TMP/edges"
grep -q '^Massif arguments:.*the sum of each process' "$TMP/edges.massif.print" || fail "several processes' peaks, without a word"
formats "$TMP/deep" massif 0 "$WORK/fan" 6 400
agrees "$TMP/deep"

# Sampled: what is live at the end is an estimate, the peak isn't known.
"$SNOOP" -q -l --sample-rate 0.5 -o "$TMP/massif.out.1" -- "$WORK/live_times" >/dev/null
printed "$TMP/massif.out.1"
grep -q '^Massif arguments:.*sampled' "$TMP/massif.out.1.print" && ! grep -q 'peak)' "$TMP/massif.out.1.print" ||
	fail "sampled, and with a peak"

refused 2 "--format massif: needs --live" "$SNOOP" -f massif -- touch "$TMP/ran"
refused 2 "--format massif: needs --live" "$SNOOP" -o "$TMP/massif.out" -- touch "$TMP/ran"
refused 2 "--by: means nothing to --format massif" "$SNOOP" -l -f massif --by size -- touch "$TMP/ran"
[ ! -e "$TMP/ran" ] || fail "a refused run ran"
