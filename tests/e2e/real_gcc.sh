#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# gcc: the compiler proper, and the driver with everything it starts.
. "$(dirname "$0")/../harness/real.sh"
cat >hello.c <<'C'
#include <stdio.h>
int main(void) { printf("%d\n", 1); return 0; }
C
cat >alone.c <<'C'
struct node { struct node *next; int key; };
int sum(struct node *n) { int s = 0; for (; n; n = n->next) s += n->key; return s; }
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
C
cc1=$(gcc -print-prog-name=cc1)
touch alone.s hello.o # that they exist is part of being the same
agree "$cc1" -quiet -O1 alone.c -o alone.s
if command -v valgrind >/dev/null; then
	# cc1's arenas grow by chunks of 32 KiB, and whether one more is needed depends on how blocks are
	# aligned: in valgrind's layout the two may differ by such chunks and by nothing else.
	read -r count bytes <<<"$COUNTED"
	read -r v_count v_bytes <<<"$(by_valgrind "$cc1" -quiet -O1 alone.c -o alone.s)"
	is_same "cc1 against valgrind but for whole chunks" $((bytes - 32768 * count)) $((v_bytes - 32768 * v_count))
	[ $((count - v_count)) -ge -3 ] && [ $((count - v_count)) -le 3 ] || fail "$count and $v_count calls"
fi
agree gcc -O1 -c hello.c -o hello.o
