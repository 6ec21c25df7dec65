#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a stack costs: the run time of allocsnoop's program as the kernel itself measures it, beside
# that of a program which asks the kernel's helper for the stack; what a sample costs in a large
# program whose stacks and tables are cold; and what its unwind tables cost. Medians of interleaved
# rounds; every run has a copy of libc of its own. The tables are printed and added to
# build/bench.txt; status 1 when a limit is not kept. docs/costs.md explains the rows.
. "$(dirname "$0")/lib.sh"
need bpftool clang gcc jq
ROUNDS=${UNWINDING_ROUNDS:-3}
CALLS=${CALLS:-200000} # a run: 0.2 to 2 seconds
STACKS=2048	       # many more than are remembered
DEPTHS=(5 20 60)
clang=$(readlink -f "$(command -v clang)")

build_bpf floor
build_c floor
build_c stats
cc -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -Ibpf -pthread -o "$MADE/tables" tests/bench/tables.c \
	"$BUILD"/obj/src/{base,elf,unwind}/*.o -lz
flags=(-O2 -Wall -Wextra -Werror -fno-optimize-sibling-calls -fno-builtin -D_GNU_SOURCE)
cc "${flags[@]}" -fomit-frame-pointer -o "$MADE/chain" tests/bench/chain.c
cc "${flags[@]}" -fno-omit-frame-pointer -o "$MADE/chain-fp" tests/bench/chain.c

# ---- the kernel's run-time statistics ----

# Measures a program that a process holds, until stats_read.
stats_begin() { # PID NAME
	local id
	id=$(program_id "$1" "$2")
	background "$MADE/stats" "$id" >"$TMP/stats"
	STATS=$BG
	until_true 10 grep -q on "$TMP/stats" || fail "the kernel has no run-time statistics"
}

# Fills `time` and `cnt`: nanoseconds in all, runs.
stats_read() {
	kill -INT "$STATS"
	finish "$STATS"
	read -r time cnt < <(tail -n 1 "$TMP/stats")
}

stop() { # PID
	kill -INT "$1" 2>/dev/null || :
	until_true 60 gone_or_zombie "$1" || kill -KILL "$1"
	wait "$1" 2>/dev/null || :
}

# The id of a program that a process holds.
program_id() { # PID NAME
	local id
	for id in $(bpf_held "$1" | sed -n 's/^prog //p'); do
		[ "$(bpftool -j prog show id "$id" | jq -r .name)" != "$2" ] || {
			echo "$id"
			return
		}
	done
	fail "process $1 holds no BPF program '$2'"
}

# ---- a stack of so many frames ----

# frames, which build of chain, its root and its number of stacks, the tracer and its program:
# malloc, main and three frames of libc belong to an ordinary stack, malloc and two to the others.
run_of() { # KIND DEPTH
	case $1 in
	hot) run=(chain libc $(($2 - 5)) 1 snoop allocsnoop_call) ;;
	walked) run=(chain libc $(($2 - 5)) "$STACKS" snoop allocsnoop_call) ;;
	far) run=(chain-fp far $(($2 - 3)) 1 stackid stackid_call) ;;
	zero) run=(chain-fp zero $(($2 - 3)) 1 stackid stackid_call) ;;
	garbage) run=(chain-fp libc $(($2 - 5)) 1 stackid stackid_call) ;;
	empty) run=(chain libc $(($2 - 5)) 1 floor floor_call) ;;
	esac
}

measure() { # KIND DEPTH: adds nanoseconds a run of the program to KIND.DEPTH
	local dir=$TMP/run run file tracer time cnt
	run_of "$1" "$2"
	mkdir "$dir"
	cp "$libc" "$dir/libc.so.6"
	file=$dir/libc.so.6
	gated env LD_LIBRARY_PATH="$dir" "$MADE/${run[0]}" "${run[@]:1:3}" "$CALLS"
	case ${run[4]} in
	snoop) background "$SNOOP" -f json -o "$dir/json" -p "$TARGET" ;;
	*) background "$MADE/floor" "$MADE/floor.bpf.o" "${run[5]}" "$file" "$probed" "$TARGET" ;;
	esac >"$dir/out" 2>"$dir/err"
	tracer=$BG
	until_true 30 ready "${run[4]}" "$TARGET" "$file" "$dir/err" || {
		show "$dir/out" "$dir/err"
		fail "$1: no probe is placed"
	}
	stats_begin "$tracer" "${run[5]}"
	release
	finish "$TARGET"
	stop "$tracer"
	stats_read
	[ "$cnt" -ge "$CALLS" ] || fail "$1: the program ran $cnt times, not $CALLS"
	awk -v t="$time" -v n="$cnt" 'BEGIN { printf "%.1f\n", t / n }' >>"$TMP/$1.$2"
	[ "${run[4]}" != snoop ] || has_depth "$dir/json" "$2"
	rm -rf "$dir"
}

# The loop's stack is whole, and is what the row says.
has_depth() { # FILE DEPTH
	losses_are_zero "$1"
	is_same "the loop's stack" "$(ask "$1" '.stacks | max_by(.alloc_count) |
		"\(.frames | length) \(.end) \(.alloc_count == $calls)"' --argjson calls "$CALLS")" "$2 complete true"
}

# ---- the files of clang ----

# clang, with all its files mapped, waiting for its source, which `release "$CLANG_GATE"` gives it.
clang_start() { # OPTIONS...
	CLANG_GATE=$TMP/clang.gate
	rm -f "$CLANG_GATE"
	mkfifo "$CLANG_GATE"
	{ read -r _ <"$CLANG_GATE" && cat "$TMP/source.c"; } 2>/dev/null |
		"$clang" "$@" -x c -c -o /dev/null - >"$TMP/clang.out" 2>&1 &
	CLANG=$!
	until_true 30 waits_in_read "$CLANG" || {
		show "$TMP/clang.out"
		fail "clang does not wait for its source"
	}
}

waits_in_read() { # PID: in read(2), with libLLVM mapped
	grep -qs libLLVM "/proc/$1/maps" && grep -qs '^0 ' "/proc/$1/syscall"
}

# Text of many functions; every one is another.
c_source() {
	awk 'BEGIN {
		print "struct node { struct node *next; int key, val[8]; };"
		for (i = 0; i < 250; i++)
			printf "int f%d(struct node *n, int k) { int s = %d; for (; n; n = n->next) " \
				"{ for (int i = 0; i < 8; i++) s += n->val[i] * (k ^ %d); if (n->key == k %% %d) break; } " \
				"switch (s & 7) { case 0: return s * %d; case 1: return s / %d; case 5: s -= k; } return s; }\n",
				i, i, i * 7, i + 3, i + 1, i + 2
	}'
}

# A whole compilation at a rate: fills `time` and `cnt` of allocsnoop's program.
compile_traced() { # RATE OUT
	clang_start -O1
	attach "$2" --sample-rate "$1" -p "$CLANG"
	stats_begin "$SNOOP_PID" allocsnoop_call
	release "$CLANG_GATE"
	finish "$CLANG"
	attached_done "$2"
	stats_read
}

# Of a thousand runs of the program one takes a sample. What the others cost is what they cost in a
# run that keeps none; the rest of the time is the samples'. Adds to `cold`: nanoseconds a sample, a
# frame, frames, samples, nanoseconds of a call that isn't kept.
measure_cold() {
	local time cnt none_ns samples
	compile_traced 0.000000001 "$TMP/none.json"
	none_ns=$(awk -v t="$time" -v n="$cnt" 'BEGIN { print t / n }')
	compile_traced 1/1000 "$TMP/cold.json"
	samples=$(ask "$TMP/cold.json" '.totals.alloc_count / 1000 | round')
	[ "$samples" -ge 100 ] || fail "only $samples samples of clang"
	awk -v t="$time" -v n="$cnt" -v none="$none_ns" -v k="$samples" -v f="$(mean_frames "$TMP/cold.json")" \
		'BEGIN { ns = (t - n * none) / k; printf "%.0f %.1f %.1f %d %.1f\n", ns, ns / f, f, k, none }' >>"$TMP/cold"
}

mean_frames() { # FILE
	ask "$1" '.stacks | (map(.alloc_count * (.frames | length)) | add) / (map(.alloc_count) | add)'
}

# Milliseconds from the start of allocsnoop to its first probe, to `start`; its tables to `kernel`.
measure_start() {
	local begin=${EPOCHREALTIME/./} line lines pid
	exec {lines}< <(exec env --default-signal=INT "$SNOOP" -f json -o "$TMP/start.json" -p "$CLANG" 2>&1)
	pid=$!
	while read -r -u "$lines" line; do
		[[ $line != *tracing* ]] || break
	done
	awk -v us=$((${EPOCHREALTIME/./} - begin)) 'BEGIN { printf "%.0f\n", us / 1000 }' >>"$TMP/start"
	unwind_tables "$pid" | awk '{ n++; sum += $2 } END { print n, sum }' >>"$TMP/kernel"
	kill -INT "$pid"
	until_true 30 gone_or_zombie "$pid" || kill -KILL "$pid"
	exec {lines}<&-
}

measure_tables() {
	local file files=()
	clang_start
	while read -r file; do
		files+=("$file")
	done < <(awk '$2 ~ /x/ && $6 ~ /^\// { print $6 }' "/proc/$CLANG/maps" | sort -u)
	for ((round = 1; round <= ROUNDS; round++)); do
		"$MADE/tables" "${files[@]}" >>"$TMP/tables"
		measure_start
	done
	kill -KILL "$CLANG"
	release "$CLANG_GATE" # its feeder ends, too
	wait "$CLANG" 2>/dev/null || :
}

# ---- all of it ----

c_source >"$TMP/source.c"
for ((round = 1; round <= ROUNDS; round++)); do
	for depth in "${DEPTHS[@]}"; do
		for kind in empty hot walked zero garbage far; do
			measure "$kind" "$depth"
			printf 'round %d: %-8s %3d frames %10s ns\n' "$round" "$kind" "$depth" "$(tail -n 1 "$TMP/$kind.$depth")" >&2
		done
	done
done
for ((round = 1; round <= ROUNDS; round++)); do
	measure_cold
done
measure_tables

ns() { # KIND DEPTH
	median "$TMP/$1.$2" 1
}

row() { # WORDS KIND
	printf '%-46s' "$1"
	for depth in "${DEPTHS[@]}"; do
		printf ' %10s' "$(ns "$2" "$depth")"
	done
	echo
}

ratios() { # WORDS KIND OTHER
	printf '%-46s' "$1"
	for depth in "${DEPTHS[@]}"; do
		awk -v a="$(ns "$2" "$depth")" -v b="$(ns "$3" "$depth")" 'BEGIN { printf " %10.2f", a / b }'
	done
	echo
}

read -r tables_cnt _ < "$TMP/tables"
read -r _ kernel_size < "$TMP/kernel"
wall=$(median "$TMP/tables" 3)
{
	printf '\n%s\n' "run time of the BPF program for one allocation, by the kernel's statistics: ns, medians of $ROUNDS rounds of $CALLS calls"
	about_machine
	printf '\n%-46s %10s %10s %10s\n' 'frames' "${DEPTHS[@]}"
	row 'empty program' empty
	row 'allocsnoop, a loop (remembered stack)' hot
	row 'allocsnoop, every stack walked' walked
	row 'bpf_get_stackid, chain that ends in rbp 0 (a)' zero
	row 'bpf_get_stackid, ordinary program (b)' garbage
	row 'bpf_get_stackid, no read that fails (c)' far
	printf '%-46s' 'allocsnoop, a loop: a frame'
	for depth in "${DEPTHS[@]}"; do
		awk -v ns="$(ns hot "$depth")" -v n="$depth" 'BEGIN { printf " %10.1f", ns / n }'
	done
	echo
	ratios 'allocsnoop, a loop, to (a)' hot zero
	ratios 'allocsnoop, a loop, to (b)' hot garbage
	ratios 'allocsnoop, every stack walked, to (a)' walked zero
	ratios 'allocsnoop, every stack walked, to (b)' walked garbage
	ratios 'allocsnoop, every stack walked, to (c)' walked far
	printf '\n%s\n' "clang -O1 -c, one call of 1000 kept: $(median "$TMP/cold" 1) ns a sample, $(median "$TMP/cold" 2) ns a frame"
	echo "($(median "$TMP/cold" 4) samples of $(median "$TMP/cold" 3) frames, caches cold; a call that isn't kept: $(median "$TMP/cold" 5) ns)"
	printf '\n%s\n' "table compile: all files of \`clang\` in $(awk -v w="$wall" 'BEGIN { printf "%.3f", w / 1000 }') s ($tables_cnt files; one after the other $(median "$TMP/tables" 2) ms)"
	echo "rows: $(median "$TMP/tables" 4) in $(median "$TMP/tables" 5) bytes; kernel memory of the maps: $kernel_size bytes"
	echo "allocsnoop -p of such a clang counts $(median "$TMP/start" 1) ms after its start"
} | tee -a "$BUILD/bench.txt"

limit "a walk of 20 frames within 2.0 of bpf_get_stackid (a)" "$(ns walked 20)" "$(ns zero 20)" 2.0
limit "a walk of 20 frames within 2.0 of bpf_get_stackid (c)" "$(ns walked 20)" "$(ns far 20)" 2.0
limit "20 frames in a loop within 0.35 of bpf_get_stackid (b)" "$(ns hot 20)" "$(ns garbage 20)" 0.35
limit "a cold frame within 0.8 us" "$(median "$TMP/cold" 2)" 800 1
limit "clang's tables within 1 s" "$wall" 1000 1
exit $over
