# SPDX-License-Identifier: BSD-2-Clause
# Runs in the guest, in busybox's shell. What can be judged here prints `VM ok NAME` or `VM FAIL NAME why`;
# profiles are sent to the host, which has jq.

ok() {
	echo "VM ok $1"
}

bad() { # NAME WHY
	echo "VM FAIL $1 $2"
}

send() { # FILE: base64 between two lines, under its own name
	echo "VM file $(basename "$1")"
	[ ! -e "$1" ] || base64 "$1"
	echo "VM file end"
}

# finished NAME STATUS WANTED: sends what NAME left behind, too.
finished() {
	if [ "$2" = "$3" ]; then
		ok "$1-status"
	else
		bad "$1-status" "is $2, not $3: $(tail -n 1 "$1.err")"
	fi
	for part in json out err; do
		send "$1.$part"
	done
}

wait_for() { # FILE WORD: at most 60 s
	n=0
	until grep -q "$2" "$1" 2>/dev/null; do
		n=$((n + 1))
		[ "$n" -lt 600 ] || return 1
		sleep 0.1
	done
}

by_command() { # NAME WORKLOAD [OPTIONS [ARGUMENTS]]
	status=0
	# shellcheck disable=SC2086
	allocsnoop -f json -o "$1.json" ${3:-} -- "/t/$2" ${4:-} </dev/null >"$1.out" 2>"$1.err" || status=$?
	finished "$1" "$status" 0
}

by_pid() { # NAME WORKLOAD [OPTION]: the workload stands at its gate until its probes are in place
	status=0
	mkfifo "$1.gate"
	GO_FIFO=$1.gate "/t/$2" >"$1.out" </dev/null &
	target=$!
	wait_for "$1.out" ready || bad "$1" "the workload does not come to its gate"
	# shellcheck disable=SC2086
	allocsnoop -f json -o "$1.json" ${3:-} -p "$target" </dev/null >/dev/null 2>"$1.err" &
	snoop=$!
	wait_for "$1.err" tracing || bad "$1" "allocsnoop does not begin"
	echo go 1<>"$1.gate" >&1
	wait "$target"
	wait "$snoop" || status=$?
	finished "$1" "$status" 0
}

# The whole machine, but only what is in a cgroup counts.
by_cgroup() { # NAME WORKLOAD
	status=0
	mkdir "/sys/fs/cgroup/$1" || bad "$1" "no cgroup can be made"
	mkfifo "$1.gate"
	GO_FIFO=$1.gate "/t/$2" >"$1.out" </dev/null &
	target=$!
	wait_for "$1.out" ready || bad "$1" "the workload does not come to its gate"
	echo "$target" >"/sys/fs/cgroup/$1/cgroup.procs"
	allocsnoop -f json -o "$1.json" --cgroup "$1" </dev/null >/dev/null 2>"$1.err" &
	snoop=$!
	wait_for "$1.err" tracing || bad "$1" "allocsnoop does not begin"
	echo go 1<>"$1.gate" >&1
	wait "$target"
	kill -TERM "$snoop"
	wait "$snoop" || status=$?
	finished "$1" "$status" 0
}

# A program that makes processes and threads ends under the tracer as it does without it.
unharmed() { # NAME PROGRAM [ARGUMENTS]
	name=$1
	shift
	"$@" </dev/null >plain 2>&1
	plain=$?
	allocsnoop -q -f json -o "$name.json" -- "$@" </dev/null >traced 2>"$name.err"
	traced=$?
	if [ "$plain" = "$traced" ] && cmp -s plain traced; then
		ok "$name"
	else
		bad "$name" "status $traced, not $plain: $(tail -n 1 "$name.err")"
	fi
}

# What this kernel can't do makes tracing slower, and no more.
doctor() {
	status=0
	allocsnoop doctor >doctor.out 2>&1 || status=$?
	if [ "$status" = 0 ] && grep -q '^  slower *uprobe_multi ' doctor.out && grep -q '^  slower *session links ' doctor.out; then
		ok doctor
	else
		bad doctor "status $status: $(grep -E '^  (missing|unknown)' doctor.out | head -n 1)"
	fi
}

echo "VM kernel $(uname -r)"
doctor
if [ -r /sys/kernel/btf/vmlinux ]; then
	ok btf
else
	bad btf "no /sys/kernel/btf/vmlinux"
fi
by_command matrix api_matrix
by_pid matrix_pid api_matrix
by_command live api_matrix --live
by_pid live_pid api_matrix --live
by_command threads8 threads8
by_command comm api_matrix "--comm api_*"
by_pid follow api_matrix --follow
by_cgroup cgroup api_matrix
pool='--probe own_pool:pool_alloc(size=ARG2) --probe own_pool:free=pool_free(ptr=ARG2)'
pool="$pool --probe own_pool:pool_node(size=48)"
by_command pool own_pool "$pool"
by_command pool_live own_pool "-l -e malloc $pool"
by_command exceptions bad_allocs_static -l
by_command growth growth "-e mmap,brk"
by_command growth_live growth "-l -e mmap,brk"
by_command growth_fault growth "-e fault" "touch 128"
if /t/events /t/api_matrix >events.out 2>events.err; then
	ok events
else
	bad events "$(head -n 1 events.err)"
fi
unharmed fork /t/launch_tree fork 5
unharmed vfork /t/launch_tree vfork 5
unharmed spawn /t/launch_tree spawn 5
unharmed threads /t/launch_threads join 20
unharmed exec-by-thread /t/launch_threads exec 3
