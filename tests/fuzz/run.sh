#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fuzzes the CFI compiler, then for a third of that time the reader of Go's function tables and for two thirds that of
# saved profiles: tests/fuzz/run.sh [SECONDS]. Exit 0 nothing found, 1 found (the input is kept and named), 77 clang has no
# fuzzer here. The corpus stays in $BUILD/tests/fuzz, so runs build on each other.
set -eu

[ "${LONG:-0}" = 1 ] && seconds=30 || seconds=15
seconds=${1:-$seconds}
build=${BUILD:-build}
clang=${CLANG:-clang}
dir=$build/tests/fuzz

cd "$(dirname "$0")/../.."
mkdir -p "$dir/cfi" "$dir/go" "$dir/pprof" "$dir/found"

# Seeds: sections of real programs, cut to a size that mutates quickly. The first byte is the target's own:
# 3 = .eh_frame format at an address.
seed()
{
	out=$dir/cfi/seed-$(basename "$1")-$2
	[ -e "$out" ] && return
	section=$dir/section
	objcopy -O binary --only-section=.eh_frame --set-section-flags .eh_frame=alloc "$1" "$section" 2>/dev/null || return 0
	{ printf '\003'; head -c "$2" "$section"; } > "$out"
	rm -f "$section"
}

if ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
	"$clang" -fsanitize=fuzzer,address -x c - -o "$dir/probe" 2>/dev/null; then
	echo "clang can't link -fsanitize=fuzzer (libclang-rt-14-dev)"
	exit 77
fi

for file in /bin/sh /bin/true /lib64/ld-linux-x86-64.so.2 /lib/x86_64-linux-gnu/libc.so.6; do
	[ -r "$file" ] && seed "$file" 256 && seed "$file" 1500
done

# The smallest table of each format: a header that promises one function, and room for everything else to grow in.
for format in 372 360 361; do
	{
		printf "\\$format\\377\\377\\377\\0\\0\\1\\10\\1\\0\\0\\0\\0\\0\\0\\0"
		head -c 128 /dev/zero
	} >"$dir/go/seed-$format"
done

# Small profiles, inflated: mutations of those get further.
for stacks in 1 3; do
	"$build/tests/tools/profiles" make "$stacks" 3 "$dir/seed.pb.gz"
	gzip -dc "$dir/seed.pb.gz" >"$dir/pprof/seed-$stacks"
	rm -f "$dir/seed.pb.gz"
done

fuzz() # TARGET SECONDS SOURCES...
{
	target=$1
	time=$2
	shift 2
	"$clang" -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -Iinclude -Isrc -Ibpf -I"$build/gen" -o "$dir/${target}_fuzz" "tests/fuzz/${target}_fuzz.c" \
		"$@" src/elf/image.c src/elf/gopclntab.c src/base/*.c -lprotobuf-c -lz -pthread -lm

	if ! "$dir/${target}_fuzz" -max_total_time="$time" -max_len=4096 -timeout=5 -rss_limit_mb=1024 \
		-print_final_stats=1 -artifact_prefix="$dir/found/" "$dir/$target" >"$dir/log" 2>&1; then
		tail -40 "$dir/log"
		exit 1
	fi
	grep -E 'number_of_executed_units|new_units_added' "$dir/log" | sed "s/^stat::/$target: /"
}

fuzz cfi "$seconds" src/unwind/*.c
fuzz go $((seconds / 3))
fuzz pprof $((seconds * 2 / 3)) src/pprof/*.c src/profile/*.c "$build/gen/profile.pb-c.c"
