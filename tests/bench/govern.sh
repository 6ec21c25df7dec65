#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What --max-overhead keeps of its promise: the slow-down of a malloc storm, the estimates of a steady and a bursty
# program, and the delay of requests. Tracing and not tracing take turns; ROUNDS and SECONDS_EACH make it longer.
. "$(dirname "$0")/lib.sh"
SECONDS_EACH=${SECONDS_EACH:-3}
mkdir -p "$TMP/lib"
cp "$libc" "$TMP/lib/"
private() { # COMMAND...
	LD_LIBRARY_PATH=$TMP/lib "$@"
}

# Turns per millisecond of CPU time, over SECONDS_EACH of wall time.
speed() { # FILE PID
	local n0 c0
	n0=$(counter_read "$1")
	c0=$(cpu_ticks "$2")
	sleep "$SECONDS_EACH"
	echo $((($(counter_read "$1") - n0) / (($(cpu_ticks "$2") - c0) * 10)))
}

storm() { # PCT
	local file=$TMP/storm.$1 pid i
	counter_file "$file"
	private gated "$WORK/counter" "$file"
	pid=$TARGET
	release
	for ((i = 0; i < ROUNDS; i++)); do
		echo "alone $(speed "$file" "$pid")"
		attach "$TMP/storm.json" --max-overhead "$1" -p "$pid"
		echo "traced $(speed "$file" "$pid")"
		stop_snoop "$TMP/storm.json"
		echo "again $(speed "$file" "$pid")"
	done >"$TMP/speeds"
	counter_stop "$file"
	finish "$pid"
	awk -v pct="$1" -v least="$(ask "$TMP/storm.json" .totals.at_least)" '
		{ n[$1]++; sum[$1] += $2 }
		END {
			a = sum["alone"] / n["alone"]; b = sum["traced"] / n["traced"]; c = sum["again"] / n["again"]
			printf "storm, budget %2d %%: slower by %.1f %% (alone and again differ by %.1f %%), at least: %s\n",
				pct, ((a + c) / 2 / b - 1) * 100, (a / c - 1) * 100, least
		}' "$TMP/speeds"
}

estimates() { # PCT [bursts]
	local i
	for ((i = 0; i < ROUNDS; i++)); do
		private gated "$WORK/steady" "$SECONDS_EACH" ${2:-}
		attach "$TMP/est.json" --max-overhead "$1" -p "$TARGET"
		release
		finish "$TARGET"
		finish "$SNOOP_PID"
		echo "$(awk '$1 == "expect" { sum += $3 } END { print sum }' "$TARGET_OUT") $(ask "$TMP/est.json" \
			'"\(.totals.alloc_count) \(.totals.alloc_count_se) \(.sampling.windows) \(.sampling.cost_pct) \(
			at_site("steady_large") | map(.alloc_count) | add // 0)"')"
	done >"$TMP/estimates"
	awk -v pct="$1" -v what="${2:-steady}" '
		{ off = $2 / $1 - 1; sum += off; cost += $5; windows += $4; in95 += (off < 0 ? -off : off) * $1 <= 1.96 * $3; share += $6 / $2 }
		END { printf "%s, budget %g %%: %d of %d within 95 %%, mean off by %+.1f %%, share %.1f %% (20), %.0f windows, cost %.2f %%\n",
			what, pct, in95, NR, sum / NR * 100, share / NR * 100, windows / NR, cost / NR }' "$TMP/estimates"
}

for pct in ${BUDGETS:-1 5 20}; do
	storm "$pct"
done
estimates 2
estimates 2 bursts
