#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests whose names match PATTERN (a glob or a part; all when there is none), JOBS at a time (two,
# as most of them wait for the kernel to remove probes), and sums up on the last line. Results come in
# the order of the names; a script with a line `# alone: WHY` shares the machine with no other test and comes
# last. A test may take TEST_TIMEOUT seconds; its process group ends with it, however it ends.
set -u
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}
jobs=${JOBS:-2}
pattern=${1:-}
passed=0 failed=0 skipped=0
scratch=$(mktemp -d /tmp/snoop-tests.XXXXXX) # all that a test leaves behind goes with it
chmod 755 "$scratch"
programs=() names=() # by number
early=()             # numbers of the longest: others fill the time beside them
shared=() alone=()   # the others
untold=()            # all, in the order of their results
declare -A running=() # process (and its group) -> number

quit() {
	local pid
	for pid in "${!running[@]}"; do
		kill -KILL -- "-$pid" 2>/dev/null
	done
	exit 130
}
trap quit INT TERM HUP
trap 'rm -rf "$scratch"' EXIT

now() { # tenths of a second
	echo $((${EPOCHREALTIME/./} / 100000))
}

# timeout(1) makes the group and leads it.
start() { # NUMBER
	local at=$scratch/$1 limit=${TEST_TIMEOUT:-180} command=("${programs[$1]}")
	[ "${names[$1]}" != vm/run ] || limit=${TEST_TIMEOUT:-240}
	[[ ${programs[$1]} != *.sh ]] || command=(bash "${programs[$1]}")
	mkdir -p "$at/tmp"
	chmod 755 "$at"
	chmod 1777 "$at/tmp"
	now >"$at/start"
	echo "no end after $limit s" >"$at/limit"
	TMPDIR=$at/tmp timeout -k 5 "$limit" "${command[@]}" </dev/null >"$at/output" 2>&1 &
	running[$!]=$1
}

# Waits for one test to end. The shell has no word to say about a killed job.
reap() {
	local pid status=0 at
	{ wait -n -p pid "${!running[@]}" || status=$?; } 2>/dev/null
	at=$scratch/${running[$pid]}
	unset "running[$pid]"
	kill -KILL -- "-$pid" 2>/dev/null
	rm -rf "$at/tmp"
	echo $(($(now) - $(<"$at/start"))) >"$at/time"
	echo "$status" >"$at/status"
}

tell() { # NUMBER
	local name=${names[$1]} at=$scratch/$1 status time
	status=$(<"$at/status")
	time=$(<"$at/time")
	time=$((time / 10)).$((time % 10))s
	case $status in
	0)
		passed=$((passed + 1))
		echo "ok $name $time"
		;;
	77)
		skipped=$((skipped + 1))
		echo "skip $name: $(tail -n 1 "$at/output")"
		;;
	*)
		failed=$((failed + 1))
		[ "$status" != 124 ] && [ "$status" != 137 ] || cat "$at/limit" >>"$at/output"
		echo "FAIL $name $time (status $status)"
		sed 's/^/    /' "$at/output"
		;;
	esac
}

# Of those that have ended, up to the first that has not.
tell_ended() {
	while [ "${#untold[@]}" != 0 ] && [ -e "$scratch/${untold[0]}/status" ]; do
		tell "${untold[0]}"
		untold=("${untold[@]:1}")
	done
}

# run_all MOST NUMBERS...: not more than MOST at a time
run_all() {
	local most=$1 number
	shift
	for number; do
		while [ "${#running[@]}" -ge "$most" ]; do
			reap
			tell_ended
		done
		start "$number"
	done
}

finish_all() {
	while [ "${#running[@]}" != 0 ]; do
		reap
		tell_ended
	done
}

shopt -s nullglob
for program in "$BUILD"/tests/unit/*_test "$BUILD"/tests/bpf/*_test tests/e2e/*.sh tests/fuzz/run.sh tests/vm/run.sh; do
	name=${program#"$BUILD"/}
	name=${name#tests/}
	name=${name%.sh}
	[[ -z $pattern || $name == $pattern || $name == *"$pattern"* ]] || continue
	number=${#names[@]}
	programs+=("$program")
	names+=("$name")
	if [[ $name == vm/run || $name == fuzz/run ]]; then
		early+=("$number")
	elif [[ $program == *.sh ]] && grep -q '^# alone: ' "$program"; then
		alone+=("$number")
	else
		shared+=("$number")
	fi
done
untold=("${shared[@]}" "${early[@]}" "${alone[@]}")
run_all "$jobs" "${early[@]}" "${shared[@]}"
finish_all
run_all 1 "${alone[@]}"
finish_all
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
