#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Another tool's return probes put their own address in place of the return addresses of the functions
# they are on. Stacks are whole all the same, and calls that jump on are still counted once.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need bpftrace
[ "$(uname -m)" = x86_64 ] || skip "the stacks of returns.c are those of x86_64"
bpftrace -e 'BEGIN { exit() }' >/dev/null 2>&1 || skip "bpftrace does not run here"
# With a C library of its own, so that other programs don't meet these probes.
cp "$(cc -print-file-name=libc.so.6)" "$MADE/libc.so.6"
cc -D_GNU_SOURCE -std=gnu11 -O2 -fomit-frame-pointer -fno-builtin -Wl,-rpath,"$MADE" -o "$MADE/returns" "$SOURCE/lib/returns.c"
ldd "$MADE/returns" | grep -q "$MADE/libc.so.6" || fail "the workload does not use its own C library"

# What the workload says, and no other stacks of these sizes.
as_said() { # PROFILE SAID
	grep '^stack ' "$2" | sort >"$TMP/said"
	[ "$(wc -l <"$TMP/said")" = 7 ] || fail "the workload says too little"
	ask "$1" '.stacks[] | select(.alloc_count > 0 and .alloc_bytes / .alloc_count > 40000) |
		([.frames[].function] | join(" ") | sub(" main .*"; " main")) as $functions |
		"stack \(.alloc_bytes / .alloc_count) \(.alloc_count) \($functions)"' | sort >"$TMP/seen"
	diff "$TMP/said" "$TMP/seen" >"$TMP/difference" || {
		show "$TMP/difference"
		fail "${1##*/} (>) is not what the workload says (<)"
	}
	is_same "cut stacks" "$(ask "$1" '[.stacks[] | select(.truncated)] | length')" 0
	losses_are_zero "$1"
}

trace "$TMP/alone.json" -- "$MADE/returns"
as_said "$TMP/alone.json" "$TMP/alone.json.stdout"

# All calls of a run, as often as the workload makes them. main's probe is the first and the last to be set,
# and says when runs under another name meet it.
ln -f "$MADE/returns" "$MADE/try"
calls=(main=1 inner=150 outer=50 recursion=250 first_jump=50 last_jump=50 one_side=50 malloc=350 realloc=100 reallocarray=50)
program="uretprobe:$MADE/returns:main { printf(\"first\\n\"); } "
for call in "${calls[@]}"; do
	name=${call%=*} file=$MADE/returns
	[[ $name != *alloc* ]] || file=$MADE/libc.so.6
	program+="uretprobe:$file:$name /comm == \"returns\"/ { @$name = count(); } "
done
program+="uretprobe:$MADE/returns:main { printf(\"last\\n\"); }"
background bpftrace -B line -e "$program" >"$TMP/bpftrace" 2>&1
bpftrace=$BG

probed() {
	"$MADE/try" >/dev/null
	grep -q '^first' "$TMP/bpftrace" && grep -q '^last' "$TMP/bpftrace"
}
until_true 30 probed || {
	show "$TMP/bpftrace"
	fail "bpftrace does not see the workload"
}

trace "$TMP/command.json" -- "$MADE/returns"
gated "$MADE/returns"
attach "$TMP/pid.json" -p "$TARGET"
release
attached_done "$TMP/pid.json"
finish "$TARGET"
kill -INT "$bpftrace"
finish "$bpftrace"
as_said "$TMP/command.json" "$TMP/command.json.stdout"
as_said "$TMP/pid.json" "$TARGET_OUT"

# Return probes were there in every call of these two runs: bpftrace counted them.
for call in "${calls[@]}"; do
	is_same "returns of ${call%=*}" "$(sed -n "s/^@${call%=*}: //p" "$TMP/bpftrace")" $((2 * ${call#*=}))
done
