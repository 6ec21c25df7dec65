#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What --max-overhead keeps of its promise: the slow-down of a malloc storm, the delay of requests of 10 us, the estimates
# of a steady and a bursty program and the shares of its stacks. Tracing and not tracing take turns; ROUNDS and
# SECONDS_EACH make it longer, PARTS chooses.
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

latency() { # PCT, or alone: nanoseconds of the median, of 1 in 1000, and the most
	private gated "$WORK/requests" "$SECONDS_EACH" 10000
	[ "$1" = alone ] || attach "$TMP/requests.json" --max-overhead "$1" -p "$TARGET"
	release
	finish "$TARGET"
	[ "$1" = alone ] || finish "$SNOOP_PID"
	echo "$1 $(awk '$1 == "latency" { print $2, $3, $4 }' "$TARGET_OUT")"
}

requests() { # PCT
	local i
	for ((i = 0; i < ROUNDS; i++)); do
		latency alone
		latency "$1"
	done | tee "$TMP/latencies"
	awk -v pct="$1" '
		{ n[$1]++; p50[$1] += $2; late[$1] += $3; if ($4 > most[$1]) most[$1] = $4 }
		END {
			printf "requests of 10 us, budget %g %%: median %.1f us (alone %.1f), 1 in 1000 above %.1f us (alone %.1f), most %.1f us (alone %.1f)\n",
				pct, p50[pct] / n[pct] / 1000, p50["alone"] / n["alone"] / 1000, late[pct] / n[pct] / 1000,
				late["alone"] / n["alone"] / 1000, most[pct] / 1000, most["alone"] / 1000
		}' "$TMP/latencies"
}

shares() { # PCT [bursts]: how far the shares of the ten largest stacks are from the truth, in points of percent
	local i
	for ((i = 0; i < ROUNDS; i++)); do
		private gated "$WORK/requests" "$SECONDS_EACH" 20000 ${2:-}
		attach "$TMP/shares.json" --max-overhead "$1" -p "$TARGET"
		release
		finish "$TARGET"
		finish "$SNOOP_PID"
		awk '$1 == "expect" { n[$2] = $3; sum += $3 } END { for (f in n) print f, n[f] / sum * 100 }' "$TARGET_OUT" |
			sort >"$TMP/true_shares"
		ask "$TMP/shares.json" '.totals.alloc_count as $all | [.stacks[] | { s: site, n: .alloc_count }] | group_by(.s)[] |
			"\(.[0].s) \((map(.n) | add) / $all * 100)"' | sort >"$TMP/shares"
		join -a 1 -e 0 -o 0,1.2,2.2 "$TMP/true_shares" "$TMP/shares" | sort -k2,2gr | head -n 10
		echo "total $(awk '$1 == "expect" { sum += $3 } END { print sum }' "$TARGET_OUT") $(ask "$TMP/shares.json" \
			'"\(.totals.alloc_count) \(.totals.alloc_count_se)"')"
	done >"$TMP/all_shares"
	awk -v pct="$1" -v what="${2:-steady}" '
		$1 == "total" { off = $3 / $2 - 1; sum += off; n++; in95 += (off < 0 ? -off : off) * $2 <= 1.96 * $4; next }
		{ off = $3 - $2; off = off < 0 ? -off : off; if (off > most) most = off; within += off <= 3; cnt++ }
		END { printf "%s, budget %g %%: %d of %d totals within 95 %%, mean off by %+.1f %%; %d of %d shares within 3 points, at most %.1f off\n",
			what, pct, in95, n, sum / n * 100, within, cnt, most }' "$TMP/all_shares"
}

for part in ${PARTS:-storms requests shares estimates}; do
	case $part in
	storms)
		for pct in ${BUDGETS:-1 5 20}; do
			storm "$pct"
		done
		;;
	requests) requests 5 ;;
	shares)
		shares 2
		shares 2 bursts
		;;
	estimates)
		estimates 2
		estimates 2 bursts
		;;
	esac
done
