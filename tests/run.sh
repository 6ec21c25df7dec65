#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the tests whose names match PATTERN (a glob or a part; all when there is none), one after the
# other, and sums up on the last line. A test may take TEST_TIMEOUT seconds; its process group ends
# with it, however it ends.
set -u
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}
limit=${TEST_TIMEOUT:-120}
pattern=${1:-}
passed=0 failed=0 skipped=0
scratch=$(mktemp -d /tmp/snoop-tests.XXXXXX) # all that a test leaves behind goes with it
chmod 755 "$scratch"
output=$scratch/output
current=

quit() {
	[ -z "$current" ] || kill -KILL -- "-$current" 2>/dev/null
	exit 130
}
trap quit INT TERM HUP
trap 'rm -rf "$scratch"' EXIT

# timeout(1) makes the group and leads it.
run_one() { # NAME PROGRAM [ARGUMENT]
	local start=${EPOCHREALTIME/./} status=0 time
	mkdir "$scratch/tmp"
	chmod 1777 "$scratch/tmp"
	TMPDIR=$scratch/tmp timeout -k 5 "$limit" "${@:2}" </dev/null >"$output" 2>&1 &
	current=$!
	{ wait "$current" || status=$?; } 2>/dev/null # no word from the shell about a killed job
	kill -KILL -- "-$current" 2>/dev/null
	current=
	rm -rf "$scratch/tmp"
	time=$(((${EPOCHREALTIME/./} - start) / 100000))
	time=$((time / 10)).$((time % 10))s
	case $status in
	0)
		passed=$((passed + 1))
		echo "ok $1 $time"
		;;
	77)
		skipped=$((skipped + 1))
		echo "skip $1: $(tail -n 1 "$output")"
		;;
	*)
		failed=$((failed + 1))
		[ "$status" != 124 ] && [ "$status" != 137 ] || echo "no end after $limit s" >>"$output"
		echo "FAIL $1 $time (status $status)"
		sed 's/^/    /' "$output"
		;;
	esac
}

shopt -s nullglob
for program in "$BUILD"/tests/unit/*_test "$BUILD"/tests/bpf/*_test tests/e2e/*.sh tests/fuzz/run.sh tests/vm/run.sh; do
	name=${program#"$BUILD"/}
	name=${name#tests/}
	name=${name%.sh}
	[[ -z $pattern || $name == $pattern || $name == *"$pattern"* ]] || continue
	limit=${TEST_TIMEOUT:-120}
	[ "$name" != vm/run ] || limit=${TEST_TIMEOUT:-240}
	case $program in
	*.sh) run_one "$name" bash "$program" ;;
	*) run_one "$name" "$program" ;;
	esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
