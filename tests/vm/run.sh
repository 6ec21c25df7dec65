#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The main job on the oldest kernel we promise: Debian's 6.1, emulated by qemu, with an initramfs of the
# built tool, its libraries and a few workloads. What the guest runs is in guest.sh; it sends the profiles
# over the serial line and they are judged here, by the same questions as everywhere else. Exit 0: all
# right, 1: not, 77: no qemu or no kernel to be had here (the last line says which).
. "$(dirname "$0")/../harness/lib.sh"
need_root
need qemu-system-x86_64 busybox cpio dpkg-deb jq

VM=$BUILD/vm
ROOT=$TMP/root
LOG=$VM/serial.log
LIMIT=${VM_TIMEOUT:-180} # seconds; half a minute is needed where nothing else runs
WORKLOADS=(own_pool api_matrix growth threads8 launch_tree launch_threads)
failures=0
mkdir -p "$VM"

# ---- the kernel: unpacked from its package, nothing is installed ----

kernel_package() { # the name with the version in it: the meta package depends on it
	apt-cache depends linux-image-cloud-amd64 2>/dev/null |
		sed -nE 's/^ *Depends: (linux-image-6\.1\.[^ ]*-cloud-amd64).*/\1/p' | head -n 1
}

fetch_kernel() {
	local name
	name=$(kernel_package)
	[ -n "$name" ] || { apt-get update -qq >/dev/null 2>&1 && name=$(kernel_package); } || :
	[ -n "$name" ] || skip "apt knows no linux-image-6.1*-cloud-amd64"
	rm -rf "$VM/unpack"
	mkdir -p "$VM/unpack"
	(cd "$VM/unpack" && apt-get download -qq "$name" 2>"$VM/apt.log") ||
		skip "apt cannot download $name: $(tail -n 1 "$VM/apt.log")"
	dpkg-deb --fsys-tarfile "$VM"/unpack/*.deb | tar -x -C "$VM/unpack" --wildcards './boot/vmlinuz-*'
	mv "$VM"/unpack/boot/vmlinuz-* "$VM/vmlinuz"
	rm -rf "$VM/unpack"
	echo "$name" >"$VM/kernel"
}

# ---- the initramfs ----

# add_program FILE TO: the file and every library that it loads, where it looks for them.
add_program() {
	local lib
	install -D "$1" "$ROOT$2"
	while read -r lib; do
		[ -e "$ROOT$lib" ] || install -D "$(realpath "$lib")" "$ROOT$lib"
	done < <(ldd "$1" | grep -oE '/[^ ]+' || :)
}

make_initramfs() {
	local name libs
	mkdir -p "$ROOT"/{bin,proc,sys,dev,tmp,etc,t,root}
	file_is_static "$(command -v busybox)" || skip "busybox is not a static one (package busybox-static)"
	install "$(command -v busybox)" "$ROOT/bin/busybox"
	add_program "$SNOOP" /bin/allocsnoop
	for name in "${WORKLOADS[@]}"; do
		[ -x "$WORK/$name" ] || fail "no $WORK/$name: run make tests"
		add_program "$WORK/$name" "/t/$name"
	done
	g++ "${WORK_FLAGS[@]}" -static -o "$ROOT/t/bad_allocs_static" "$SOURCE/bad_allocs.cc"
	libs=$(sed -n 's/^Libs.private: //p' "$BUILD/allocsnoop.pc")
	# shellcheck disable=SC2086
	gcc -I"$TREE/include" -pthread -o "$MADE/events" "$SOURCE/embed/events.c" "$BUILD/liballocsnoop.a" $libs
	add_program "$MADE/events" /t/events
	echo root:x:0:0:root:/root:/bin/sh >"$ROOT/etc/passwd"
	install "$TREE/tests/vm/init" "$ROOT/init"
	install -m 644 "$TREE/tests/vm/guest.sh" "$ROOT/guest.sh"
	(cd "$ROOT" && find . | cpio --quiet -o -H newc -R 0:0 | gzip -1) >"$VM/initramfs.gz"
}

file_is_static() {
	! ldd "$1" >/dev/null 2>&1
}

boot() {
	local status=0
	: >"$LOG"
	timeout -k 5 "$LIMIT" qemu-system-x86_64 -accel tcg -cpu max -m 1G -smp 2 -no-reboot -nic none \
		-display none -monitor none -serial "file:$LOG" -kernel "$VM/vmlinuz" -initrd "$VM/initramfs.gz" \
		-append "console=ttyS0 panic=-1 quiet loglevel=3 mitigations=off" </dev/null >"$VM/qemu.log" 2>&1 || status=$?
	tr -d '\r' <"$LOG" >"$TMP/serial"
	grep -q '^VM end$' "$TMP/serial" && return
	tail -n 25 "$TMP/serial" "$VM/qemu.log" >&2
	fail "the guest did not come to its end (qemu: status $status, limit $LIMIT s)"
}

# ---- what came back ----

# Files lie between `VM file NAME` and `VM file end`, in base64; the console may add lines of its own.
unpack_files() {
	local line name=
	mkdir -p "$TMP/files"
	while read -r line; do
		case $line in
		'VM file end') name= ;;
		'VM file '*) name=${line##* } ;;
		*) [ -z "$name" ] || ! [[ $line =~ ^[A-Za-z0-9+/]+=*$ ]] || echo "$line" >>"$TMP/files/$name.b64" ;;
		esac
	done <"$TMP/serial"
	for name in "$TMP"/files/*.b64; do
		base64 -d "$name" >"${name%.b64}"
	done
}

# judge NAME COMMAND...: COMMAND in a shell of its own, so that its fail() ends only this one.
judge() {
	local name=$1
	shift
	if (trap - EXIT && "$@") 2>"$TMP/why"; then
		echo "ok $name"
		return
	fi
	failures=$((failures + 1))
	echo "FAIL $name: $(head -n 1 "$TMP/why")"
	show "$TMP/files/${name//-/_}.err"
}

judge_matrix() { # PROFILE TRUTH
	sound "$1"
	as_expected "$1" "$2"
	losses_are_zero "$1"
	stack_is "$1" "s_malloc main" 7 707
}

# Blocks that are still there, and that were freed, of three functions with known books.
judge_live() { # PROFILE TRUTH
	judge_matrix "$1" "$2"
	is_same "live blocks" "$(jq -c '[.stacks[] | select(any(.frames[]; .function == ("s_malloc", "s_realloc_chain", "s_realloc_fail")))]
		| [map(.alloc_count), map(.freed_count), map(.live_count), map(.live_bytes)] | map(add)' "$1")" '[12,6,6,890]'
}

# A layer above malloc, and, live, malloc's beside it.
judge_pool() { # PROFILE TRUTH [live]
	sound "$1"
	losses_are_zero "$1"
	jq 'del(.stacks[] | select(.allocator == "malloc"))' "$1" >"$TMP/pool.json"
	grep -E '^[a-z]+ (allocates|nodes) ' "$2" >"$TMP/pool.truth"
	as_expected "$TMP/pool.json" "$TMP/pool.truth" ${3:-}
}

judge_threads() {
	sound "$1"
	site_is "$1" thread_work 400000 1600000
	is_same "stacks" "$(ask "$1" 'at_site("thread_work") | length')" 1
	losses_are_zero "$1"
}

# Without sessions: every return is probed, and the exits of operator new.
judge_exceptions() { # PROFILE TRUTH
	sound "$1"
	as_expected "$1" "$2"
	is_same "live blocks of x_new" "live x_new $(ask "$1" 'at_site("x_new") |
		"\(map(.live_count) | add) \(map(.live_bytes) | add)"')" "$(grep "^live x_new" "$2")"
	is_same "failed calls" "caught $(ask "$1" .totals.failed_count)" "$(grep caught "$2")"
	losses_are_zero "$1"
}

# Each growth's books; the workload's functions are one frame above libc's.
judge_growth() { # PROFILE TRUTH WHAT WORD
	local what=$3 word=$4
	sound "$1"
	losses_are_zero "$1"
	is_same "growth ($what)" "$(ask "$1" 'growers($what)' --arg what "$what" | grep -E '^(g_|sbrk)' | sort)" \
		"$(sed -n "s/^$word //p" "$2" | sort)"
}

judge_growth_live() {
	judge_growth "$1" "$2" alloc expect
	judge_growth "$1" "$2" live live
}

# Before 6.2 pages come in batches, so nearly.
judge_fault() { # PROFILE TRUTH
	local is rss
	sound "$1"
	losses_are_zero "$1"
	is=$(site_sum "$1" touch_pages)
	rss=$(sed -n 's/^rss_anon //p' "$2")
	[ $((${is#* } * 100)) -ge $((rss * 98)) ] && [ $((${is#* } * 100)) -le $((rss * 102)) ] ||
		fail "touch_pages: $is, and RssAnon has grown by $rss"
}

guest_said() {
	local word name why
	while read -r _ word name why; do
		[ "$word" = ok ] || failures=$((failures + 1))
		echo "$word $name${why:+: $why}"
	done < <(grep -E '^VM (ok|FAIL) ' "$TMP/serial" || :)
}

[ -s "$VM/vmlinuz" ] || fetch_kernel
make_initramfs
boot
unpack_files
echo "kernel $(sed -n 's/^VM kernel //p' "$TMP/serial")"
guest_said
judge matrix judge_matrix "$TMP/files/matrix.json" "$TMP/files/matrix.out"
judge matrix-pid judge_matrix "$TMP/files/matrix_pid.json" "$TMP/files/matrix_pid.out"
judge live judge_live "$TMP/files/live.json" "$TMP/files/live.out"
judge live-pid judge_live "$TMP/files/live_pid.json" "$TMP/files/live_pid.out"
judge exceptions judge_exceptions "$TMP/files/exceptions.json" "$TMP/files/exceptions.out"
judge comm judge_matrix "$TMP/files/comm.json" "$TMP/files/comm.out"
judge follow judge_matrix "$TMP/files/follow.json" "$TMP/files/follow.out"
judge cgroup judge_matrix "$TMP/files/cgroup.json" "$TMP/files/cgroup.out"
judge pool judge_pool "$TMP/files/pool.json" "$TMP/files/pool.out"
judge pool-live judge_pool "$TMP/files/pool_live.json" "$TMP/files/pool_live.out" live
judge growth judge_growth "$TMP/files/growth.json" "$TMP/files/growth.out" alloc expect
judge growth-live judge_growth_live "$TMP/files/growth_live.json" "$TMP/files/growth_live.out"
judge growth-fault judge_fault "$TMP/files/growth_fault.json" "$TMP/files/growth_fault.out"
judge threads8 judge_threads "$TMP/files/threads8.json"
[ "$failures" = 0 ] || fail "$failures checks failed; the guest's console is in $LOG"
