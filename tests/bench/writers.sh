#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What writing a large profile costs in each format: CPU time, size and memory for 50,000, 100,000 and
# 200,000 different stacks of 25 frames on average. The table is printed and added to build/bench.txt;
# status 1 when a limit is not kept.
. "$(dirname "$0")/lib.sh"
formats=(folded json speedscope svg csv jeprof)
objects=("$BUILD"/obj/src/*.o "$BUILD"/obj/src/[!c]*/*.o) # all but cli/
cc -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Iinclude -Isrc -o "$MADE/writers" tests/bench/writers.c "${objects[@]}" \
	$(sed -n 's/^Libs.private: //p' "$BUILD/allocsnoop.pc")

for ((round = 1; round <= ROUNDS; round++)); do
	for stacks in 50000 100000 200000; do
		for format in "${formats[@]}"; do
			"$MADE/writers" $stacks "$format" >>"$TMP/$stacks"
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
for format in "${formats[@]}"; do
	limit "$format grows linearly" "$(cell 200000 "$format" 2)" "$(cell 50000 "$format" 2)" 6
	limit "the memory of $format, too" "$(cell 200000 "$format" 4)" "$(cell 50000 "$format" 4)" 4.5
done
exit $over
