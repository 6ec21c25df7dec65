#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What cannot work is refused in one line that says why, with a hint where something can be done.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need setpriv unshare

hinted() {
	grep -q '^hint: ' "$TMP/refused.err" || {
		show "$TMP/refused.err"
		fail "no hint"
	}
}

background true
wait "$BG"
refused 1 "$BG.*(no such|not exist|gone|ended)" "$SNOOP" -p "$BG"
status=0
"$SNOOP" -p 0 </dev/null >"$TMP/zero.out" 2>"$TMP/zero.err" || status=$?
[ "$status" = 1 ] || [ "$status" = 2 ] || fail "-p 0: status $status"
refused "$status" "0" "$SNOOP" -p 0
thread=$(pgrep -P 2 | head -n 1) || skip "no kernel threads here"
refused 1 "$thread.*kernel" "$SNOOP" -p "$thread"
refused 2 "sample-rate" "$SNOOP" --sample-rate 7 -p $$
refused 2 "sample-bytes" "$SNOOP" --sample-bytes nonsense -p $$

# A copy that nobody may run: the build directory may be closed to others.
cp "$SNOOP" "$TMP/allocsnoop"
refused 1 "root|permi|privil" setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/allocsnoop" -p $$
hinted

mkdir "$TMP/empty"
refused 1 "BTF|btf" unshare -m sh -c "mount --bind '$TMP/empty' /sys/kernel/btf && exec '$SNOOP' -p $$"
hinted

refused 1 "bpf" "$WORK/no_bpf" "$SNOOP" -p $$
hinted
refused 1 "bpf" "$WORK/no_bpf" "$SNOOP" -- "$WORK/blink"
hinted

# Too few descriptors for the probes: an error, not a report of nothing.
background sleep 60
few() {
	bash -c 'ulimit -n 48 && exec "$@"' few "$SNOOP" -q -d 100ms -p "$BG"
}
refused 1 "open files" few
hinted

# More live blocks than the machine has memory for: nothing is wrong with the kernel.
kib=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
if [ $((kib / 64)) -lt $((450 << 10)) ]; then # the most that may be asked for takes 32 GiB
	refused 1 "no memory for tables of 536870912 live blocks" "$SNOOP" -l --max-live 512M -p $$
	hinted
fi
