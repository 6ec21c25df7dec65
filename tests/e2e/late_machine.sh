#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The whole machine is traced, and what comes later is found: a library that a running program loads, containers
# with a libc of their own (on a file system of their own, and on an overlay), a file that was replaced, one in
# memory only. When they are gone, so are their probes, and nothing keeps their file systems busy; their names stay.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root
need unshare chroot mount umount bpftool

OUT=$TMP/all.json
MOUNTS=()
unmount_all() {
	local at
	for at in "${MOUNTS[@]}"; do
		umount -l "$at" 2>/dev/null || :
	done
	cleanup
}
trap unmount_all EXIT

mount_at() { # PLACE ARGUMENTS...
	mkdir -p "$1"
	mount "${@:2}" "$1" 2>"$TMP/mount.err" || skip "cannot mount: $(tail -n 1 "$TMP/mount.err")"
	MOUNTS=("$1" "${MOUNTS[@]}")
}

fill_root() { # PLACE
	local libc
	mkdir -p "$1/lib64"
	cc "${WORK_FLAGS[@]}" -o "$1/service" "$SOURCE/service.c"
	libc=$(ldd "$1/service" | sed -nE 's/.*libc\.so\.6 => (\S+).*/\1/p')
	mkdir -p "$1${libc%/*}"
	cp -L "$libc" "$1$libc"
	cp -L /lib64/ld-linux-x86-64.so.2 "$1/lib64/"
}

links() { # how many links allocsnoop holds
	bpf_held "$SNOOP_PID" | grep -c '^link' || :
}

links_are() {
	[ "$(links)" = "$1" ]
}

# How often the log says that a file of this name has its probes.
found() { # NAME
	grep -c "file '.*$1': [1-9][0-9]* places" "$OUT.err" || :
}

found_past() { # NAME TIMES
	[ "$(found "$1")" -gt "$2" ]
}

gone() { # NAME
	grep -q "nobody maps '.*$1' any more" "$OUT.err"
}

# A container that starts now, and the end of its file system. With its mounts in a namespace of its own they'd end
# with it, whoever holds a file there; so only one has that.
container() { # NAME ROOT UNSHARE-OPTIONS
	local before root=$2 have start
	have=$(links)
	before=$(found libc.so.6)
	mkfifo "$root/go"
	env GO_FIFO=/go unshare "${@:3}" --fork chroot "$root" /service </dev/null >"$TMP/$1.said" &
	until_true 20 grep -q ready "$TMP/$1.said" || fail "the container does not start"
	until_true 20 found_past libc.so.6 "$before" || fail "its libc is not found"
	release "$root/go"
	wait $!
	start=${EPOCHREALTIME/./}
	until_true 10 umount "$root" 2>/dev/null || fail "$1: its file system stays busy"
	echo "$1: unmounted $(((${EPOCHREALTIME/./} - start) / 1000)) ms after its end"
	until_true 10 links_are "$have" || fail "$1: links were $have, are $(links)"
}

cc "${WORK_FLAGS[@]}" -shared -fPIC -o "$MADE/private_alloc.so" "$SOURCE/lib/private_alloc.c"
mount_at "$TMP/root" -t tmpfs none
fill_root "$TMP/root"
mount_at "$TMP/root2" -t tmpfs none
fill_root "$TMP/root2"
mount_at "$TMP/lower" -t tmpfs none
fill_root "$TMP/lower"
mount_at "$TMP/upper" -t tmpfs none
mkdir "$TMP/upper/up" "$TMP/upper/work"
mount_at "$TMP/over" -t overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/upper/up,workdir=$TMP/upper/work" none
mount_at "$TMP/lib" -t tmpfs none

gated "$WORK/late_calls" "$MADE/private_alloc.so" 400
caller=$TARGET calls=$TARGET_OUT gate=$GATE
attach "$OUT" -v --max-overhead none

release "$gate"
finish "$caller"
container tmpfs "$TMP/root" -p
container tmpfs-again "$TMP/root2" -m -p
container overlay "$TMP/over" -p

# Twice the same path, but not the same file, on a file system that goes, too; the first one is deleted while it is
# mapped.
for turn in 1 2; do
	cp "$MADE/private_alloc.so" "$TMP/lib/mine.so"
	gated "$WORK/dlopen_alloc" "$TMP/lib/mine.so"
	rm "$TMP/lib/mine.so"
	cp "$MADE/private_alloc.so" "$TMP/lib/mine.so"
	before=$(found mine.so)
	release
	until_true 20 found_past mine.so "$before" || fail "the library is not found, turn $turn"
	finish "$TARGET"
done
until_true 10 gone /mine.so || fail "mine.so is still held"
until_true 10 umount "$TMP/lib" 2>/dev/null || fail "the library's file system stays busy"
stop_snoop "$OUT"

COMM=service
is_same "the services" "$(site_sum "$OUT" service_leak)" "45 55530"
is_same "names" "$(ask "$OUT" '[at_site("service_leak")[] | [.frames[].function] | .[0:4] | join(" ")] | unique[]')" \
	"malloc service_leak service_worker main"
is_same "cut stacks" "$(ask "$OUT" '[at_site("service_leak")[] | select(.truncated)] | length')" 0
COMM=
# Of the library's calls the first ones may be missing, none after them.
counted=$(site_sum "$OUT" late_call)
counted=${counted% *}
missed=$((400 - counted))
at=$(awk -v n=$missed '$1 == "call" && $2 == n { print $3 }' "$calls")
echo "the library's probes were there $at us after it was loaded: $missed calls of 400 missed"
[ "$at" -lt 2000000 ] || fail "that is too late"
is_same "late files are told of" "$(ask "$OUT" '.losses.late_attach >= 6')" true
# Other programs of this machine may be new, too.
losses_are_zero "$OUT" "late_attach|file_gone|stack_copy_limited|file_32bit"
