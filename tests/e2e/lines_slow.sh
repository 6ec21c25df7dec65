#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Debugging information that is made to take long: a file is given up once and not tried again, and many such files
# take little longer than a few.
. "$(dirname "$0")/../harness/lib.sh"
need_root

# An abbreviation of 60,000 attributes without a byte, and 5,000 entries of it.
cat >"$MADE/slow.c" <<'END'
#include <stdlib.h>
__asm__(".section .debug_abbrev,\"\",@progbits\n"
	".byte 1,0x11,1, 0x11,1, 0x12,7, 0,0\n"
	".byte 2,0x34,0\n .rept 60000\n .byte 0x3a,0x19\n .endr\n .byte 0,0, 0\n"
	".section .debug_info,\"\",@progbits\n"
	".long 9f-8f\n 8: .short 4\n .long 0\n .byte 8\n"
	".byte 1\n .quad slow\n .quad 4096\n .rept 5000\n .byte 2\n .endr\n .byte 0\n 9:\n .text\n");
typedef void fn(void **next, void (*last)(void));
static void deeper(void **next, void (*last)(void))
{
	if (*next)
		((fn *)*next)(next + 1, last);
	else
		last();
}
void slow(void **next, void (*last)(void))
{
	free(malloc(16));
	deeper(next, last);
	free(malloc(16)); /* a new place, on the way back */
}
END
gcc -O1 -fno-builtin -fno-optimize-sibling-calls -shared -fPIC -o "$MADE/slow.so" "$MADE/slow.c"

# DIRECTORY LIBRARIES: goes through all of them, stopping at the far end for a look.
cat >"$MADE/chain.c" <<'END'
#include <dlfcn.h>
#include "gate.h"
typedef void fn(void **next, void (*last)(void));
static void wait(void)
{
	gate__end();
}
int main(int argc, char **argv)
{
	void *fns[100] = {};
	char path[4096];

	for (int i = 0; argc == 3 && i < atoi(argv[2]); i++) {
		snprintf(path, sizeof(path), "%s/slow%d.so", argv[1], i);
		fns[i] = dlsym(dlopen(path, RTLD_NOW), "slow");
	}
	((fn *)fns[0])(fns + 1, wait);
	return 0;
}
END
gcc -O1 -g -D_GNU_SOURCE -I"$SOURCE" -fno-builtin -fno-optimize-sibling-calls -o "$MADE/chain" "$MADE/chain.c"
for i in $(seq 0 39); do
	cp "$MADE/slow.so" "$TMP/slow$i.so"
done

cpu_of() { # COMMAND...: hundredths of a second
	local TIMEFORMAT='%U %S'
	{ time "$@" 2>&3; } 3>&2 2>&1 | awk '{ print int(100 * ($1 + $2)) }'
}

# Looked at while it's at the far end, and again when it has come back by other places.
HOLD=2 trace "$TMP/twice.json" --lines -i 500ms -- "$MADE/chain" "$TMP" 3
is_same "files given up" "$(ask "$TMP/twice.json" .losses.lines_cut)" 3
is_same "lines of another file" "$(ask "$TMP/twice.json" '[.stacks[].frames[] | select(.function == "main" and .line == 0)] | length')" 0

one=$(cpu_of trace "$TMP/one.json" --lines -- "$MADE/chain" "$TMP" 1)
many=$(cpu_of trace "$TMP/many.json" --lines -- "$MADE/chain" "$TMP" 40)
is_same "files given up" "$(ask "$TMP/many.json" .losses.lines_cut)" 40
[ "$many" -lt $((8 * one)) ] || fail "40 files take $many/100 s of CPU time, one takes $one"
