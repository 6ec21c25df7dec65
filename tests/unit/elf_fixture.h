/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory in /tmp for one test, and small ELF files made in it by the compiler. */
#ifndef TESTS_UNIT_ELF_FIXTURE_H
#define TESTS_UNIT_ELF_FIXTURE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fixture_dir[] = "/tmp/allocsnoop-test.XXXXXX";

/* Runs a shell command in the directory; 0 when it succeeded. */
__attribute__((format(printf, 1, 2))) static inline int fixture__run(const char *fmt, ...)
{
	char cmd[4096];
	va_list args;
	int len;

	len = snprintf(cmd, sizeof(cmd), "cd %s && ", fixture_dir);
	va_start(args, fmt);
	vsnprintf(cmd + len, sizeof(cmd) - (size_t)len, fmt, args);
	va_end(args);
	return system(cmd);
}

/*
 * lib.so: an exported, a static and a sized assembler function with a label inside, an alias, and a
 * function that ends in a call. Exits with 77 (skipped) when there is no compiler.
 */
static inline void fixture__make(const char *cflags)
{
	static const char source[] =
		"#include <stdlib.h>\n"
		"__attribute__((noinline)) static int hidden_leaf(int n) { return n * 7 + (n >> "
		"3); }\n"
		"__attribute__((noinline)) static void last_call(int n) { exit(hidden_leaf(n)); }\n"
		"int visible(int n) { if (n > 1000) last_call(n); return hidden_leaf(n + 1); }\n"
		"int __visible(int n) __attribute__((alias(\"visible\")));\n"
		"int _v(int n) __attribute__((alias(\"visible\")));\n"
		"int weak(int n) __attribute__((weak, alias(\"visible\")));\n"
		"__asm__(\".text\\n.type outer_asm,@function\\nouter_asm: nop; nop\\n\"\n"
		"\".type inner_asm,@function\\ninner_asm: nop; nop\\n.size "
		"inner_asm,.-inner_asm\\n\"\n"
		"\"nop; nop; ret\\n.size outer_asm,.-outer_asm\\n.skip 64,0x90\\n\"\n"
		"\".type unsized_asm,@function\\nunsized_asm: nop; ret\\n\");\n";
	char path[128];
	FILE *f;

	if (!mkdtemp(fixture_dir))
		exit(1);
	if (fixture__run("gcc --version >/dev/null 2>&1 && nm --version >/dev/null 2>&1")) {
		puts("no compiler here");
		rmdir(fixture_dir);
		exit(77);
	}
	snprintf(path, sizeof(path), "%s/lib.c", fixture_dir);
	f = fopen(path, "w");
	if (!f || fputs(source, f) < 0 || fclose(f) ||
	    fixture__run("gcc -O1 -fPIC -shared %s -o lib.so lib.c", cflags))
		exit(1);
}

static inline void fixture__remove(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", fixture_dir);
	if (system(cmd))
		perror(cmd);
}

#endif
