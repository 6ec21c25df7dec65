#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What tracing costs: a loop of malloc(64) and free under each tracer, one after the other, five
# rounds, medians. Each run gets a copy of libc of its own, so that no probe of one tracer is in the
# way of another; the floor is a probe that does nothing, at the same instruction, attached in the
# same way. Then what a stack costs alone, by unwinding.sh, and a report, by writers.sh. The tables are
# printed and kept in build/bench.txt; status 1 when a limit is not kept.
. "$(dirname "$0")/lib.sh"
need bpftrace perf clang
SECONDS_EACH=${SECONDS_EACH:-1}
build_bpf floor
build_c floor
# "glibc/musl free 0x98ef3 je 0x98fb8 ...": where allocsnoop probes free.
freed=$("$SNOOP" list "$libc" | awk '$2 == "free" { print $3; exit }')

# One measurement: fills `cpu` and `wall`, nanoseconds per iteration.
measure() { # ROUND TRACER
	local dir=$TMP/$1.$2 file tracer= deeper
	mkdir "$dir"
	cp "$libc" "$dir/libc.so.6"
	file=$dir/libc.so.6
	case $2 in # beside main and the three that call it there are storm_top, _mid and _leaf, and malloc
	*-deep*) deeper=$((${2##*-deep} - 8)) ;;
	*) deeper=0 ;;
	esac
	gated env LD_LIBRARY_PATH="$dir" "$WORK/storm" "$SECONDS_EACH" "$deeper"
	case $2 in
	untraced) ;;
	floor) background "$MADE/floor" "$MADE/floor.bpf.o" floor_call "$file" "$probed" "$TARGET" ;;
	floor-live) background "$MADE/floor" "$MADE/floor.bpf.o" floor_call "$file" "$probed" "$TARGET" "$freed" ;;
	snoop-live) background "$SNOOP" -l -f json -o "$dir/json" -p "$TARGET" ;;
	snoop-live1000) background "$SNOOP" -l -f json -o "$dir/json" --sample-rate 1/1000 -p "$TARGET" ;;
	snoop-1 | snoop-deep*) background "$SNOOP" -f json -o "$dir/json" -p "$TARGET" ;;
	snoop-1000) background "$SNOOP" -f json -o "$dir/json" --sample-rate 1/1000 -p "$TARGET" ;;
	bpftrace) background bpftrace -e "uprobe:$file:malloc { @[ustack] = sum(arg0); }" ;;
	perf)
		perf probe -q -x "$file" "allocsnoop_bench=malloc"
		background perf record -q -g -e 'probe_libc:allocsnoop_bench' -p "$TARGET" -o "$dir/perf.data"
		;;
	esac >"$dir/out" 2>"$dir/err"
	if [ "$2" != untraced ]; then
		tracer=$BG
		until_true 30 ready "$2" "$TARGET" "$file" "$dir/err" || {
			show "$dir/out" "$dir/err"
			fail "$2 places no probe"
		}
		! gone_or_zombie "$tracer" || fail "$2 has ended"
	fi
	release
	until_true 60 gone_or_zombie "$TARGET" || fail "the loop does not end under $2"
	wait "$TARGET" || fail "the loop fails under $2"
	[ -z "$tracer" ] || {
		kill -INT "$tracer" 2>/dev/null || :
		until_true 30 gone_or_zombie "$tracer" || kill -KILL "$tracer"
		wait "$tracer" 2>/dev/null || :
	}
	[ "$2" != perf ] || perf probe -q -d 'probe_libc:allocsnoop_bench'
	case $2 in
	snoop-*) losses_are_zero "$dir/json" ;;
	esac
	read -r cpu wall count < <(tail -n 1 "$TARGET_OUT")
	if [ "$2" = snoop-1 ]; then
		is_same "calls counted at rate 1" "$(site_sum "$dir/json" storm_leaf)" "$count $((count * 64))"
		is_same "frames" "$(ask "$dir/json" 'at_site("storm_leaf")[] | callers[:4] | join(" ")')" \
			"storm_leaf storm_mid storm_top main"
	fi
	rm -rf "$dir"
}

tracers=(untraced floor snoop-1 snoop-deep20 snoop-deep60 snoop-1000 floor-live snoop-live snoop-live1000 bpftrace perf)
declare -A says=(
	[untraced]="untraced"
	[floor]="empty probe (the floor)"
	[snoop-1]="allocsnoop"
	[snoop-deep20]="allocsnoop, 20 frames"
	[snoop-deep60]="allocsnoop, 60 frames"
	[snoop-1000]="allocsnoop --sample-rate 1/1000"
	[floor-live]="empty probes: malloc, return, free"
	[snoop-live]="allocsnoop --live"
	[snoop-live1000]="allocsnoop --live, 1/1000"
	[bpftrace]="bpftrace @[ustack] = sum(arg0)"
	[perf]="perf record -g"
)
# perf's probe stays until it's removed, which it can be only when nobody uses it any more.
leave() {
	local status=$?
	trap - ERR
	set +e
	kill -KILL $(jobs -pr) 2>/dev/null
	wait 2>/dev/null
	perf probe -q -d 'probe_libc:allocsnoop_bench' 2>/dev/null
	(exit "$status")
	cleanup
}
trap leave EXIT
perf probe -q -d 'probe_libc:allocsnoop_bench' 2>/dev/null || :
for ((round = 1; round <= ROUNDS; round++)); do
	for tracer in "${tracers[@]}"; do
		measure "$round" "$tracer"
		echo "$cpu $wall" >>"$TMP/$tracer.times"
		printf 'round %d: %-32s %10s ns\n' "$round" "${says[$tracer]}" "$cpu" >&2
	done
done

floor=$(median "$TMP/floor.times" 1)
{
	echo "malloc(64) and free in a loop, 4 frames of its own and 4 of libc (or more), medians of $ROUNDS interleaved rounds of $SECONDS_EACH s"
	about_machine
	printf '\n%-34s %12s %12s %10s\n' tracer 'CPU ns/iter' 'wall ns/iter' 'to floor'
	for tracer in "${tracers[@]}"; do
		cpu=$(median "$TMP/$tracer.times" 1)
		printf '%-34s %12s %12s %10s\n' "${says[$tracer]}" "$cpu" "$(median "$TMP/$tracer.times" 2)" \
			"$(awk -v a="$cpu" -v b="$floor" 'BEGIN { printf a / b < 0.1 ? "%.4f" : "%.2f", a / b }')"
	done
} | tee "$BUILD/bench.txt"

limit "allocsnoop within 1.35 of the floor" "$(median "$TMP/snoop-1.times" 1)" "$floor" 1.35
limit "allocsnoop at 20 frames within 1.45 of the floor" "$(median "$TMP/snoop-deep20.times" 1)" "$floor" 1.45
limit "allocsnoop at 1/1000 within 1.08 of the floor" "$(median "$TMP/snoop-1000.times" 1)" "$floor" 1.08
limit "allocsnoop --live within 1.45 of its three empty probes" "$(median "$TMP/snoop-live.times" 1)" \
	"$(median "$TMP/floor-live.times" 1)" 1.45
limit "allocsnoop --live at 1/1000 within 2.25 of the floor" "$(median "$TMP/snoop-live1000.times" 1)" "$floor" 2.25
limit "allocsnoop below bpftrace" "$(median "$TMP/snoop-1.times" 1)" "$(median "$TMP/bpftrace.times" 1)" 1
tests/bench/unwinding.sh || over=1
tests/bench/writers.sh || over=1
exit $over
