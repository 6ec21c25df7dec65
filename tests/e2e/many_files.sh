#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Files in numbers, on the whole machine: two hundred copies of libc that nobody maps cost nothing at the start;
# programs that run once, each a file of its own, leave neither descriptors nor probes nor tables behind, and every
# allocation of theirs is counted or told of.
# alone: traces every process
. "$(dirname "$0")/../harness/lib.sh"
need_root
need bpftool mount

FILES=$TMP/files
mkdir "$FILES"
mount -t tmpfs none "$FILES" 2>"$TMP/mount.err" || skip "cannot mount: $(tail -n 1 "$TMP/mount.err")"
unmount_all() {
	umount -l "$FILES" 2>/dev/null || :
	cleanup
}
trap unmount_all EXIT

libc=$(ldd "$WORK/blink" | awk '/libc\.so\.6/ { print $3 }')
mkdir "$FILES/lib"
for i in {1..200}; do
	cp "$libc" "$FILES/lib/libc.so.$i"
done

fd_cnt() {
	find "/proc/$SNOOP_PID/fd" -mindepth 1 | wc -l
}

held() { # how many descriptors lie on the file system
	find "/proc/$SNOOP_PID/fd" -mindepth 1 -lname "$FILES/*" 2>/dev/null | wc -l
}

nothing_held() {
	[ "$(held)" = 0 ]
}

map_entries() { # NAME
	local id
	for id in $(bpf_held "$SNOOP_PID" | sed -n 's/^map //p'); do
		[ "$(bpftool -j map show id "$id" | jq -r .name)" != "$1" ] ||
			bpftool -j map dump id "$id" | jq length
	done
}

start=${EPOCHREALTIME/./}
attach "$TMP/all.json" -v --max-overhead none
echo "started in $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
is_same "copies opened at the start" "$(held)" 0
is_same "copies looked at" "$(grep -c "$FILES/lib" "$TMP/all.json.err" || :)" 0
files=$(map_entries files)

# Who comes too late for a program finds it where it was executed.
cp "$WORK/blink" "$FILES/late"
kill -STOP "$SNOOP_PID"
"$FILES/late"
"$FILES/late"
kill -CONT "$SNOOP_PID"
until_true 20 grep -q "file '$FILES/late'" "$TMP/all.json.err" || fail "the program is not found where it was"

cnt=$(often 50 100)
for ((i = 0; i < cnt; i++)); do
	cp "$WORK/blink" "$FILES/blink$((i % 20))"
	"$FILES/blink$((i % 20))"
	rm "$FILES/blink$((i % 20))"
done
until_true 10 nothing_held || fail "$(held) descriptors are still held"
now=$(map_entries files)
# Other programs of this machine come, too.
[ $((now - files)) -lt "$cnt" ] || fail "the kernel's table of files grew from $files to $now"
umount "$FILES" || fail "the file system is busy"
stop_snoop "$TMP/all.json"
is_same "all of the blinks" "$(ask "$TMP/all.json" '[.stacks[] | select(.comm | startswith("blink"))] | count_bytes')" \
	"$((3 * cnt)) $((3333 * cnt))"
is_same "programs listed" "$(ask "$TMP/all.json" '[.processes[] | select(.comm | startswith("blink")) | .pid] | unique | length')" "$cnt"
COMM=late
site_is "$TMP/all.json" blink_leak 6 6666
COMM=
gone=$(ask "$TMP/all.json" '.losses.file_gone // 0')
named=$(ask "$TMP/all.json" 'at_site("blink_leak") | map(select(.comm != "late")) | count_bytes')
echo "$gone files were gone before they could be opened; of $((3 * cnt)) allocations ${named% *} have names"
[ $((${named% *} + 3 * gone)) -ge $((3 * cnt)) ] || fail "names are missing, and nothing says so"
# Other programs of this machine may be new, too, large, and bring an allocator.
losses_are_zero "$TMP/all.json" "file_gone|late_attach|stack_copy_limited|file_32bit"
