# SPDX-License-Identifier: BSD-2-Clause
# Sourced by every end-to-end test. A test is a script that ends with status 0 when everything it
# asked for was so, 1 with the reason on standard error when not, and 77 with the reason as the last
# line of standard output when it cannot run here.
#
# Nothing waits by sleeping: workloads stop at pipes (gated, release), and what has no pipe is
# polled with a bound (until_true). Whatever a test starts is ended with it.

set -Eeuo pipefail
export LC_ALL=C.UTF-8

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
TREE=$PWD
BUILD=$(realpath -m "${BUILD:-build}")
SNOOP=$BUILD/allocsnoop
WORK=$BUILD/tests/workload
SOURCE=$TREE/tests/workload
NAME=$(basename "$0" .sh)
MADE=$BUILD/tests/e2e/$NAME # what the test compiles for itself
TMP=$(mktemp -d "${TMPDIR:-/tmp}/snoop-$NAME.XXXXXX")
chmod 755 "$TMP"
mkdir -p "$MADE"
WORK_FLAGS=(-D_GNU_SOURCE -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-builtin -pthread)

cleanup() {
	local status=$?
	trap - EXIT ERR
	set +e
	# Only what still runs: the shell's own job table, so no number can belong to another process.
	for pid in $(jobs -pr); do
		kill -KILL "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$TMP"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 143' INT TERM HUP
trap 'echo "${BASH_SOURCE[0]}:$LINENO: failed: $BASH_COMMAND" >&2' ERR

fail() {
	echo "$NAME: $*" >&2
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "no $tool here"
	done
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "tracing needs root"
	[ -x "$SNOOP" ] || fail "no $SNOOP: run make"
}

# until_true SECONDS COMMAND...: polls until COMMAND succeeds.
until_true() {
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000))
	shift
	until "$@"; do
		[ "${EPOCHREALTIME/./}" -lt "$end" ] || return 1
		sleep 0.02
	done
}

show() {
	local file
	for file; do
		[ ! -s "$file" ] || sed "s|^|  ${file##*/}: |" "$file" | head -40 >&2
	done
}

# often SHORT LONG: how often to repeat what fails seldom, or how long to try; LONG with LONG=1 in the environment.
often() {
	[ "${LONG:-0}" = 1 ] && echo "$2" || echo "$1"
}

is_same() { # WHAT IS SHOULD
	[ "$2" = "$3" ] || fail "$1: is '$2', not '$3'"
}

# ---- processes ----

# background COMMAND...: its process id is in BG; redirections of the call are COMMAND's. (A shell
# lets its background jobs ignore SIGINT; these are started as if from a terminal.)
background() {
	env --default-signal=INT,QUIT "$@" &
	BG=$!
}

# finish PID [STATUS]: waits for a background process to end, at most 60 seconds.
finish() {
	local status=0
	until_true 60 gone_or_zombie "$1" || fail "process $1 does not end"
	wait "$1" || status=$?
	[ "$status" = "${2:-0}" ] || fail "process $1 ended with status $status, not ${2:-0}"
}

process_state() { # one letter, X when gone
	local line
	{ read -r line <"/proc/$1/stat"; } 2>/dev/null || line='0 (x) X'
	line=${line##*) }
	echo "${line%% *}"
}

gone_or_zombie() {
	case $(process_state "$1") in
	X | Z) return 0 ;;
	*) return 1 ;;
	esac
}

# gated COMMAND...: starts a workload and waits until it stands at its gate. TARGET is its process id,
# TARGET_OUT what it prints; `release` opens the gate.
gated_cnt=0
gated() {
	gated_cnt=$((gated_cnt + 1))
	GATE=$TMP/gate.$gated_cnt
	TARGET_OUT=$TMP/target.$gated_cnt
	mkfifo "$GATE"
	GO_FIFO=$GATE background "$@" </dev/null >"$TARGET_OUT"
	TARGET=$BG
	until_true 20 grep -q '^ready' "$TARGET_OUT" || fail "'$*' does not come to its gate"
}

release() { # [GATE]
	echo go 1<>"${1:-$GATE}" >&1
}

# ---- allocsnoop ----

# trace OUT [OPTIONS] -- COMMAND...: a whole run; its messages go to OUT.err, COMMAND's output to OUT.stdout.
trace() {
	local out=$1 status=0
	shift
	"$SNOOP" -f json -o "$out" "$@" </dev/null >"$out.stdout" 2>"$out.err" || status=$?
	[ "$status" = 0 ] || {
		show "$out.err" "$out.stdout"
		fail "allocsnoop $*: status $status"
	}
	sound "$out"
}

# attach OUT [OPTIONS]: starts allocsnoop and returns when it counts. SNOOP_PID is its process id.
attach() {
	local out=$1
	shift
	background "$SNOOP" -f json -o "$out" "$@" </dev/null >"$out.stdout" 2>"$out.err"
	SNOOP_PID=$BG
	until_true 30 attached_or_gone "$SNOOP_PID" "$out.err"
	is_tracing "$out.err" || {
		show "$out.err"
		fail "allocsnoop $*: does not begin"
	}
}

is_tracing() {
	grep -qE 'tracing .*sites?' "$1"
}

attached_or_gone() {
	is_tracing "$2" || gone_or_zombie "$1"
}

# attached_done OUT: waits for the attached allocsnoop to end by itself.
attached_done() {
	finish "$SNOOP_PID"
	sound "$1"
}

# stop_snoop OUT [PID]: ends it by SIGINT, as a person does.
stop_snoop() {
	kill -INT "${2:-$SNOOP_PID}"
	finish "${2:-$SNOOP_PID}"
	sound "$1"
}

# refused STATUS WORDS OPTIONS...: allocsnoop must give up with this status, and its messages must be
# one line of cause that matches WORDS, with at most one hint.
refused() {
	local status=0 want=$1 words=$2
	shift 2
	"$@" </dev/null >"$TMP/refused.out" 2>"$TMP/refused.err" || status=$?
	[ "$status" = "$want" ] && grep -qE "^allocsnoop: .*($words)" "$TMP/refused.err" &&
		[ "$(grep -vc '^hint: ' "$TMP/refused.err")" = 1 ] && [ ! -s "$TMP/refused.out" ] || {
		show "$TMP/refused.err" "$TMP/refused.out"
		fail "'$*': status $status, wanted $want and one line with '$words'"
	}
}

# ---- questions about profiles ----

ask() { # FILE FILTER [JQ-OPTIONS]
	local file=$1 filter=$2
	shift 2
	jq -r -L "$TREE/tests/harness" "$@" "include \"profile\"; $filter" "$file"
}

sound() {
	local bad
	bad=$(ask "$1" unsound) || fail "$1 is not a profile: $(head -c 300 "$1")"
	[ -z "$bad" ] || fail "$1: $bad"
}

# site_sum FILE FUNCTION: "COUNT BYTES" of what FUNCTION asked the allocator for; with COMM set, in the
# processes of this name.
site_sum() {
	ask "$1" 'at_site($name) | map(select($comm == "" or .comm == $comm)) | count_bytes' \
		--arg name "$2" --arg comm "${COMM:-}"
}

total() { # FILE [WHAT]
	ask "$1" '[.totals] | sums($what)' --arg what "${2:-alloc}"
}

# ends_are FILE FUNCTION LIVE FREED EXIT, each "COUNT BYTES": what became of the blocks of FUNCTION.
ends_are() {
	is_same "live, freed, exit of $2 in ${1##*/}" "$(ask "$1" 'at_site($name) |
		map(select($comm == "" or .comm == $comm)) | "\(sums("live")), \(sums("freed")), \(sums("exit"))"' \
		--arg name "$2" --arg comm "${COMM:-}")" "$3, $4, $5"
}

site_is() { # FILE FUNCTION COUNT BYTES
	is_same "$2 in ${1##*/}" "$(site_sum "$1" "$2")" "$3 $4"
}

# as_expected FILE TRUTH [WHAT]: every `expect FUNCTION COUNT BYTES [or COUNT BYTES]` of a workload's output;
# with WHAT (live, freed, exit) every `WHAT FUNCTION COUNT BYTES`. With COMM set, in the processes of this name.
as_expected() {
	local sites what=${3:-alloc}
	sites=$(
		ask "$1" 'sites($comm; $what)' --arg comm "${COMM:-}" --arg what "$what"
		echo "total $(total "$1" "$what")"
	)
	awk -v word="${3:-expect}" '
		NR == FNR { is[$1] = $2 " " $3; next }
		$1 != word { next }
		{ seen++; have = $2 in is ? is[$2] : "0 0" }
		have != $3 " " $4 && !($5 == "or" && have == $6 " " $7) {
			print $2 ": is " have ", not " $3 " " $4
			bad = 1
		}
		END {
			if (!seen)
				print "the workload said nothing to " word
			exit bad || !seen
		}' <(echo "$sites") "$2" >"$TMP/unexpected" || {
		show "$TMP/unexpected"
		fail "$what in ${1##*/} is not what ${2##*/} says"
	}
}

# stack_is FILE "LEAF CALLER ..." COUNT BYTES: exactly one row with these callers, with these sums.
stack_is() {
	local names is
	names=$(printf '%s\n' $2 | jq -R . | jq -sc .)
	is=$(ask "$1" 'along($names) | "\(length) \(count_bytes)"' --argjson names "$names")
	is_same "rows, count, bytes of '$2'" "$is" "1 $3 $4"
}

# losses_are_zero FILE [EXCEPT-REGEX]
losses_are_zero() {
	local bad
	bad=$(ask "$1" '.losses | to_entries[] | select(.value != 0) | "\(.key)=\(.value)"' |
		grep -vE "^(${2:-none})=" || :)
	[ -z "$bad" ] || fail "losses in ${1##*/}: $bad"
}

# ---- the counting oracle (see workload/lib/countlib.c) ----

# Two libraries of one source with names of the same length: counting, and idle, which only takes the same room.
oracle_build() {
	local lib=$SOURCE/lib/countlib.c
	cc -D_GNU_SOURCE -O1 -fno-builtin -shared -fPIC -o "$MADE/countlib.so" "$lib"
	cc -D_GNU_SOURCE -O1 -fno-builtin -shared -fPIC -DIDLE -o "$MADE/idle_lib.so" "$lib"
}

# ---- how fast a target runs ----

counter_file() { # makes the shared page of workload/counter.c
	truncate -s 0 "$1" # a file that was used before must be zeroed
	truncate -s 4096 "$1"
}

counter_read() {
	od -An -t u8 -N 8 "$1" | tr -d ' '
}

counter_stop() {
	printf '\1' | dd of="$1" bs=1 seek=8 conv=notrunc status=none
}

cpu_ticks() { # PID: how long it ran, in hundredths of a second (user and system)
	local line
	read -r line <"/proc/$1/stat" || fail "process $1 is gone"
	# shellcheck disable=SC2086
	set -- ${line##*) }
	echo $((${12} + ${13}))
}

# counter_speed FILE PID: its turns per millisecond of its CPU time, over 0.3 seconds of it. Other load
# on the machine does not change it, probes do.
counter_speed() {
	local n0 c0
	n0=$(counter_read "$1")
	c0=$(cpu_ticks "$2")
	until_true 20 ran_for "$2" $((c0 + 30)) || fail "process $2 does not run"
	echo $((($(counter_read "$1") - n0) / (($(cpu_ticks "$2") - c0) * 10)))
}

ran_for() { # PID TICKS
	[ "$(cpu_ticks "$1")" -ge "$2" ]
}

counted_past() { # FILE N
	[ "$(counter_read "$1")" -gt "$2" ]
}

# ---- what allocsnoop leaves in the kernel ----

# `prog ID`, `map ID` and `link ID` of every bpf object that a process holds. Others of its files may be closed
# meanwhile.
bpf_held() { # PID
	{ cat "/proc/$1"/fdinfo/* 2>/dev/null || :; } | sed -nE 's/^(prog|map|link)_id:\s*/\1 /p' | sort -u
}

# Of the objects in this list, none is left in the kernel.
bpf_gone() { # FILE
	local kind id
	while read -r kind id; do
		! bpftool "$kind" show id "$id" >/dev/null 2>&1 || return 1
	done <"$1"
}

# unwind_tables PID: of each unwind table that an allocsnoop has in the kernel: bytes of its pages, bytes
# of kernel memory.
unwind_tables() {
	local id inner
	for id in $(bpf_held "$1" | sed -n 's/^map //p'); do
		[ "$(bpftool -j map show id "$id" | jq -r .name)" = tables ] || continue
		for inner in $(bpftool -j map dump id "$id" | jq -r '.[].value | reverse | map(.[2:]) | "0x" + add'); do
			bpftool -j map show id $((inner)) | jq -r '"\(.max_entries * .bytes_value) \(.bytes_memlock)"'
		done
	done
}
