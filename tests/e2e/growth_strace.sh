#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -e mmap,brk against strace: every successful anonymous and file mapping and every growth of the break of
# a shell and of what it runs, counts and bytes, from ld.so's first one on.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need strace perl

COMMAND=(sh -c 'ls -l / >/dev/null; perl -e "my @a = map { q(x) x 1000 } 1..3000; print scalar @a" | cat; "$0" maps' "$WORK/growth")

# A file for each process (-ff), so no call is torn in two. A child begins without a known break.
strace -ff -qq -e trace=mmap,mremap,brk -e signal=none -o "$TMP/strace" "${COMMAND[@]}" >/dev/null
cat "$TMP"/strace.* >"$TMP/all"
[ "$(ls "$TMP"/strace.* | wc -l)" -ge 4 ] || fail "strace saw too few processes"
cat >"$TMP/sum.pl" <<'END'
my (%n, %bytes, $at, $file);
while (<>) {
	undef $at, $file = $ARGV if ($file // "") ne $ARGV;
	next unless / = 0x([0-9a-f]+)$/;
	my ($now, @arg) = (hex $1, split /, /);
	if (/^mmap\(/) {
		add(/MAP_ANONYMOUS/ ? "mmap" : "mmap_file", $arg[1]);
	} elsif (/^mremap\(/) {
		add("mremap", $arg[2] - $arg[1]) if $arg[2] > $arg[1];
	} elsif (/^brk\(/) {
		print "unknown break in $ARGV\n" unless defined $at or /^brk\(NULL\)/;
		add("brk", $now - $at) if defined $at and $now > $at and !/^brk\(NULL\)/;
		$at = $now;
	}
}
sub add { $n{$_[0]}++; $bytes{$_[0]} += $_[1] }
print "$_ $n{$_} $bytes{$_}\n" for sort keys %n;
END
truth=$(perl "$TMP/sum.pl" "$TMP"/strace.*)

trace "$TMP/growth.json" -e mmap,brk -- "${COMMAND[@]}"
is_same "growth" "$(ask "$TMP/growth.json" '[.stacks[]] | group_by(.allocator)[] | "\(.[0].allocator) \(sums("alloc"))"')" "$truth"
is_same "kinds" "$(cut -d' ' -f1 <<<"$truth" | paste -sd' ')" "brk mmap mmap_file mremap"
is_same "stacks that aren't whole" "$(ask "$TMP/growth.json" '[.stacks[] | select(.end != "complete")] | length')" 0
losses_are_zero "$TMP/growth.json"
