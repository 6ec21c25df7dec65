#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the whole machine pays at default settings: a C build beside redis-benchmark and a Python loop,
# untraced and traced in turns. Says by how much tracing makes the build slower, how far two untraced
# builds are apart (the noise), what was lost, and whether every program that was started is listed.
# ROUNDS of them (3), of BUILDS builds one after the other (1; 5 take a minute on two CPUs); status 1 when the build takes 8 % and the noise longer, or something was lost.
. "$(dirname "$0")/lib.sh"
need redis-server redis-benchmark python3 gcc bpftrace
ROUNDS=${ROUNDS:-3}
BUILDS=${BUILDS:-1}
BUDGET=8 # percent
socket=$TMP/redis

load() { # until $TMP/stop is there
	redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no >/dev/null &
	redis=$!
	until_true 10 redis-cli -s "$socket" ping >/dev/null 2>&1
	while [ ! -e "$TMP/stop" ]; do
		redis-benchmark -s "$socket" -q -n 20000 -c 10 -t set,get,lpush >/dev/null 2>&1 || :
	done &
	loads=$!
	while [ ! -e "$TMP/stop" ]; do
		python3 -c 'import json
d = {str(i): list(range(i % 50)) for i in range(5000)}
for _ in range(20): json.loads(json.dumps(d))'
	done &
	loads="$loads $!"
}

unload() {
	touch "$TMP/stop"
	# Words of a list, split on purpose.
	wait $loads
	kill "$redis"
	wait "$redis" || :
	rm "$TMP/stop"
}

build() { # microseconds BUILDS of them take, on standard output
	local from=${EPOCHREALTIME/./} i
	for ((i = 0; i < BUILDS; i++)); do
		rm -rf "$TMP/o"
		mkdir "$TMP/o"
		find src -name '*.c' | sort | xargs -P 2 -I{} sh -c \
			'gcc -D_GNU_SOURCE -Iinclude -Isrc -Ibpf -I"$1/gen" -O2 -c "$2" -o "$3/$(echo "$2" | tr / _).o"' \
			sh "$BUILD" {} "$TMP/o"
	done
	echo $((${EPOCHREALTIME/./} - from))
}

one() { # untraced|traced
	local tracer=
	load
	if [ "$1" = traced ]; then
		background "$SNOOP" -f json -o "$TMP/machine.json" 2>"$TMP/machine.err"
		tracer=$BG
		until_true 30 grep -q '^tracing' "$TMP/machine.err"
		/bin/true # where all_listed begins
	fi
	took=$(build)
	if [ -n "$tracer" ]; then
		/bin/true # and ends
		sleep 0.2
		kill -INT "$tracer"
		finish "$tracer"
	fi
	unload
}

# Programs that were started while the tracer ran, by the kernel's word.
all_listed() {
	background bpftrace -e 'tracepoint:sched:sched_process_exec { printf("%d %s\n", pid, comm); }' >"$TMP/execs" 2>/dev/null
	local truth=$BG
	until_true 30 test -s "$TMP/execs"
	one traced
	kill -INT "$truth"
	wait "$truth" || :
	jq -r '.processes[].pid' "$TMP/machine.json" | sort -u >"$TMP/pids"
	awk '$2 == "true" { between = !between } between { print $1 }' "$TMP/execs" | sort -u >"$TMP/started"
	echo "$(wc -l <"$TMP/started") programs started, $(comm -23 "$TMP/started" "$TMP/pids" | wc -l) of them not listed"
}

median() {
	printf '%s\n' "$@" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

build >/dev/null # the caches
a=() b=() t=()
for ((i = 0; i < ROUNDS; i++)); do
	one untraced
	a+=("$took")
	one traced
	t+=("$took")
	jq -c '{losses, events, sampling, processes: (.processes | length)}' "$TMP/machine.json"
	lost=$(jq '[.losses[]] | add // 0' "$TMP/machine.json")
	one untraced
	b+=("$took")
	echo "round $((i + 1)): untraced ${a[i]} and ${b[i]} us, traced ${t[i]} us, lost $lost"
done
A=$(median "${a[@]}") B=$(median "${b[@]}") T=$(median "${t[@]}") U=$(median "${a[@]}" "${b[@]}")
awk -v a="$A" -v b="$B" -v t="$T" -v u="$U" -v most="$BUDGET" 'BEGIN {
	noise = (a > b ? a / b : b / a) * 100 - 100; slower = t * 100 / u - 100
	printf "the build takes %.1f %% longer; the noise of untraced ones is %.1f %%\n", slower, noise
	exit slower > most + noise }'
all_listed
