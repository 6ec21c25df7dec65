/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files may share a table: copies do; files with the same build id do only when their unwind
 * information, their segments and the signal returns in their text are the same. Whoever has the
 * same id must have the same rows.
 */
#include <fcntl.h>
#include <string.h>

#include "check.h"
#include "elf_fixture.h"
#include "unwind/table.h"

static const u64 key[2] = { 17, 4 };
static struct unwind_rules rules; /* of all: equal numbers are equal rules */

struct subject {
	struct elf_image img;
	u64 id[2];
	struct unwind_table table;
};

static void subject__read(struct subject *s, const char *name)
{
	struct unwind_input in;
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK_EQ(elf_image__open(&s->img, fd), 0);
	CHECK_EQ(unwind_input__read(&in, &s->img), 0);
	unwind_input__id(&in, key, s->id);
	CHECK_EQ(unwind_table__make(&s->table, &in, &rules), 0);
	CHECK(s->table.rows.cnt);
	unwind_input__fini(&in);
	close(fd);
}

static void subject__free(struct subject *s)
{
	elf_image__close(&s->img);
	unwind_table__fini(&s->table);
}

static bool same_rows(const struct unwind_table *a, const struct unwind_table *b)
{
	if (a->rows.cnt != b->rows.cnt)
		return false;
	for (size_t i = 0; i < a->rows.cnt; i++)
		if (a->rows.v[i].off != b->rows.v[i].off || a->rows.v[i].rule != b->rows.v[i].rule)
			return false;
	return true;
}

/* Both say the same build id. */
static void check_pair(const char *name_a, const char *name_b, bool shared)
{
	struct subject a, b;

	subject__read(&a, name_a);
	subject__read(&b, name_b);
	CHECK(a.img.build_id_size == 4 && b.img.build_id_size == 4);
	CHECK(!memcmp(a.img.build_id, b.img.build_id, 4));
	CHECK_EQ(!memcmp(a.id, b.id, sizeof(a.id)), shared);
	CHECK_EQ(same_rows(&a.table, &b.table), shared);
	subject__free(&a);
	subject__free(&b);
}

/* Assembles NAME from its text section; all are of one size. */
static void make(const char *name, const char *text)
{
	CHECK_EQ(fixture__run("printf '.text\\n.globl f\\nf: %s\\n .balign 64, 0x90\\n' >%s.s && "
			      "gcc -nostdlib -shared -Wl,--build-id=0xdecade00 -o %s %s.s",
			      text, name, name, name),
		 0);
}

int main(void)
{
	CHECK_EQ(unwind_rules__init(&rules), 0);
	fixture__make("");
	make("one", ".cfi_startproc\\n push %%rbx\\n .cfi_def_cfa_offset 16\\n pop %%rbx\\n ret\\n"
		    ".cfi_endproc\\n mov $14, %%rax\\n syscall\\n");
	make("code", ".cfi_startproc\\n push %%rdx\\n .cfi_def_cfa_offset 16\\n pop %%rdx\\n "
		     "ret\\n.cfi_endproc\\n mov $14, %%rax\\n syscall\\n");
	make("cfi", ".cfi_startproc\\n push %%rbx\\n .cfi_def_cfa_offset 24\\n pop %%rbx\\n ret\\n"
		    ".cfi_endproc\\n mov $14, %%rax\\n syscall\\n");
	make("signal", ".cfi_startproc\\n push %%rbx\\n .cfi_def_cfa_offset 16\\n pop %%rbx\\n "
		       "ret\\n.cfi_endproc\\n mov $15, %%rax\\n syscall\\n");
	CHECK_EQ(fixture__run("cp one copy && cp one longer && printf more >>longer"), 0);
	check_pair("one", "copy", true);
	check_pair("one", "longer", true); /* not one byte that matters */
	check_pair("one", "code", true);   /* other instructions, the same to the unwinder */
	check_pair("one", "cfi", false);
	check_pair("one", "signal", false); /* differs in text only, and yet in its rows */
	fixture__remove();
	unwind_rules__fini(&rules);
	return check__done();
}
