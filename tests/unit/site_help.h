/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening files and asking nm and objdump, for the tests of src/target. */
#ifndef TESTS_UNIT_SITE_HELP_H
#define TESTS_UNIT_SITE_HELP_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "target/site.h"

#define DIR_MADE "build/tests/site"

struct opened {
	struct elf_image img;
	struct site_file f;
	char path[256];
	char *names; /* what nm prints */
};

/* All a command prints; the caller frees. */
static __attribute__((format(printf, 1, 2))) char *ask(const char *fmt, ...)
{
	char cmd[1024], *text = NULL;
	size_t len = 0, n;
	va_list ap;
	FILE *p;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	p = popen(cmd, "r");
	do {
		char *grown = realloc(text, len + 65536);

		if (!grown || !p)
			abort();
		text = grown;
		n = fread(text + len, 1, 65535, p);
		len += n;
	} while (n);
	text[len] = '\0';
	pclose(p);
	return text;
}

/* Nothing is left open when it fails. */
static int opened__open(struct opened *o, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	memset(o, 0, sizeof(*o));
	snprintf(o->path, sizeof(o->path), "%s", path);
	if (fd < 0)
		return -1;
	err = elf_image__open(&o->img, fd);
	if (!err) {
		err = site_file__read(&o->f, &o->img, path, NULL);
		if (err)
			elf_image__close(&o->img);
	}
	if (err)
		close(fd);
	return err;
}

static void opened__close(struct opened *o)
{
	site_file__free(&o->f);
	elf_image__close(&o->img);
	close(o->img.fd);
	free(o->names);
}

/* What nm says a name's address is, as a file offset; 0 when there is no such name. */
static inline u64 nm_off(struct opened *o, const char *name)
{
	char want[128];
	size_t len = (size_t)snprintf(want, sizeof(want), " %s", name);
	u64 off = 0;

	if (!o->names)
		o->names = ask("{ nm -D '%s'; nm '%s'; } 2>/dev/null | grep -E ' [TtWwi] '",
			       o->path, o->path);
	for (const char *at = strstr(o->names, want); at; at = strstr(at + 1, want)) {
		const char *line = at;

		if (at[len] != '\n' && at[len] != '@')
			continue;
		while (line > o->names && line[-1] != '\n')
			line--;
		if (elf_image__vaddr_to_off(&o->img, strtoull(line, NULL, 16), &off))
			return off;
	}
	return 0;
}

static inline const struct site *site_of(const struct opened *o, const char *name)
{
	for (size_t i = 0; i < o->f.sites.cnt; i++)
		if (!strcmp(o->f.sites.v[i].symbol, name))
			return &o->f.sites.v[i];
	return NULL;
}

static inline bool in_ranges(const struct opened *o, u64 off)
{
	for (size_t i = 0; i < o->f.ranges.cnt; i++)
		if (off >= o->f.ranges.v[i].start && off < o->f.ranges.v[i].end)
			return true;
	return false;
}

/* Does `from` jump on to the site `to`, or (to == NULL) to the import? */
static inline bool jumps(const struct opened *o, const char *from, const char *to,
			 const char *import)
{
	for (size_t i = 0; i < o->f.jumps.cnt; i++) {
		const struct site_jump *j = &o->f.jumps.v[i];

		if (strcmp(o->f.sites.v[j->from].symbol, from))
			continue;
		if (to ? j->to >= 0 && !strcmp(o->f.sites.v[j->to].symbol, to)
		       : j->to == -1 && !strcmp(j->import, import))
			return true;
	}
	return false;
}

#endif
