#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What writing a large profile costs in each format: CPU time, size and memory for 50,000, 100,000 and
# 200,000 different stacks of 20 frames. The table is printed and added to build/bench.txt; status 1 when
# a limit is not kept.
. "$(dirname "$0")/lib.sh"
formats=(folded json pprof html speedscope svg csv jeprof)

for ((round = 1; round <= ROUNDS; round++)); do
	for stacks in 50000 100000 200000; do
		for format in "${formats[@]}"; do
			"$BUILD/tests/tools/profiles" time $stacks 20 "$format" >"$TMP/words"
			# write FORMAT N ms of CPU, N MiB at most, N bytes
			awk '$1 == "write" { printf "%s %d %.1f %d\n", $2, $3, $11 / 1e6, $7 }' "$TMP/words" >>"$TMP/$stacks"
		done
	done
done

cell() { # STACKS FORMAT FIELD
	grep "^$2 " "$TMP/$1" >"$TMP/cell"
	median "$TMP/cell" "$3"
}

{
	printf '\n%s\n' "a profile of many stacks: ms of CPU time to write it, megabytes written, megabytes of memory with the profile; $ROUNDS rounds"
	about_machine
	printf '\n%-12s %24s %24s %24s\n' format '50,000 stacks' '100,000' '200,000'
	for format in "${formats[@]}"; do
		printf '%-12s' "$format"
		for stacks in 50000 100000 200000; do
			printf ' %8s %8s %6s' "$(cell $stacks "$format" 2)" "$(cell $stacks "$format" 3)" "$(cell $stacks "$format" 4)"
		done
		echo
	done
} | tee -a "$BUILD/bench.txt"

limit "200,000 stacks in folded within 0.5 s" "$(cell 200000 folded 2)" 500 1
limit "and in pprof within 2 s" "$(cell 200000 pprof 2)" 2000 1
for format in "${formats[@]}"; do
	limit "$format grows linearly" "$(cell 200000 "$format" 2)" "$(cell 50000 "$format" 2)" 6
	limit "the memory of $format, too" "$(cell 200000 "$format" 4)" "$(cell 50000 "$format" 4)" 4.5
done
exit $over
