/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Container runtimes and systemd give their cgroups names of known shapes: one row a shape. A
 * path's innermost container counts (containers run in containers), and a service only where there
 * is none, as a container may run systemd.
 */
#include "proc/container.h"

#include <ctype.h>
#include <string.h>

#include "proc/cgroup.h"

#define ID_SHOWN     12
#define ID_BYTES_MIN 12
#define ID_BYTES     64 /* of a name that is nothing but an id */
#define ID_ASKED_MIN 4

enum what { WHAT_NOTHING, WHAT_SERVICE, WHAT_POD, WHAT_ID, WHAT_NAME };

static const struct shape {
	const char *before;
	const char *after;
	enum what what;
} shapes[] = {
	{ "docker-", ".scope", WHAT_ID },
	{ "cri-containerd-", ".scope", WHAT_ID },
	{ "crio-", ".scope", WHAT_ID },
	{ "libpod-", ".scope", WHAT_ID },
	{ "nerdctl-", ".scope", WHAT_ID },
	{ "cri-containerd-", "", WHAT_ID },
	{ "crio-", "", WHAT_ID },
	{ "libpod-", "", WHAT_ID },
	{ "lxc.payload.", "", WHAT_NAME },
	{ "machine-", ".scope", WHAT_NAME },
	{ "systemd-nspawn@", ".service", WHAT_NAME },
	{ "", ".service", WHAT_SERVICE },
};

/* A part of a path. */
struct part {
	const char *s;
	size_t len;
};

static bool part__is_hex(struct part p)
{
	for (size_t i = 0; i < p.len; i++) {
		if (!isxdigit((unsigned char)p.s[i]))
			return false;
	}
	return true;
}

static bool part__starts(struct part p, const char *s)
{
	return p.len >= strlen(s) && !memcmp(p.s, s, strlen(s));
}

static bool part__ends(struct part p, const char *s)
{
	size_t len = strlen(s);

	return p.len >= len && !memcmp(p.s + p.len - len, s, len);
}

/* What the directory is, and the part of its name that says which. */
static enum what part__read(struct part p, struct part *which)
{
	*which = p;
	if (p.len == ID_BYTES && part__is_hex(p))
		return WHAT_ID;
	if ((part__starts(p, "pod") && p.len == 3 + 36) || part__starts(p, "kubepods-")) {
		const char *pod = memmem(p.s, p.len, "pod", 3);

		while (pod && strncmp(pod, "pods", 4) == 0)
			pod = memmem(pod + 3, p.len - (pod + 3 - p.s), "pod", 3);
		if (!pod)
			return WHAT_NOTHING;
		*which = (struct part){ pod, p.len - (pod - p.s) };
		which->len -= part__ends(p, ".slice") ? strlen(".slice") : 0;
		return WHAT_POD;
	}
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct shape *s = &shapes[i];
		size_t before = strlen(s->before), after = strlen(s->after);

		if (p.len <= before + after || !part__starts(p, s->before) ||
		    !part__ends(p, s->after))
			continue;
		*which = (struct part){ p.s + before, p.len - before - after };
		if (s->what == WHAT_ID && (which->len < ID_BYTES_MIN || !part__is_hex(*which)))
			continue;
		return s->what;
	}
	return WHAT_NOTHING;
}

static int hex__value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* systemd writes what its names may not hold as \xHH (systemd.unit(5)). */
static void part__copy(struct part p, char name[CGROUP_NAME_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < p.len && n < CGROUP_NAME_MAX - 1; i++) {
		bool coded = p.len - i >= 4 && p.s[i] == '\\' && p.s[i + 1] == 'x' &&
			     isxdigit((unsigned char)p.s[i + 2]) &&
			     isxdigit((unsigned char)p.s[i + 3]);
		char c = coded ? hex__value(p.s[i + 2]) << 4 | hex__value(p.s[i + 3]) : p.s[i];

		i += coded ? 3 : 0;
		if (c)
			name[n++] = c;
	}
	name[n] = '\0';
}

static void which__copy(enum what what, struct part p, struct part which, char *name)
{
	if (what == WHAT_ID)
		which.len = which.len < ID_SHOWN ? which.len : ID_SHOWN;
	part__copy(what == WHAT_SERVICE ? p : which, name);
}

/* The last part before `end`; false when there is none. */
static bool part__before(const char *path, const char **end, struct part *p)
{
	const char *e = *end, *s;

	while (e > path && e[-1] == '/')
		e--;
	for (s = e; s > path && s[-1] != '/';)
		s--;
	*p = (struct part){ s, e - s };
	*end = s;
	return p->len;
}

bool cgroup__container(const char *path, char name[CGROUP_NAME_MAX])
{
	const char *end = path + strlen(path);
	enum what best = WHAT_NOTHING;
	struct part p, which;

	name[0] = '\0';
	while (best < WHAT_ID && part__before(path, &end, &p)) {
		enum what what = part__read(p, &which);

		if (what <= best)
			continue;
		best = what;
		which__copy(what, p, which, name);
	}
	return best != WHAT_NOTHING;
}

bool container__is(const char *path, const char *name)
{
	const char *end = path + strlen(path);
	char plain[CGROUP_NAME_MAX];
	struct part p, which;
	size_t len = strlen(name);
	enum what what;

	if (!part__before(path, &end, &p))
		return false;
	if (p.len == len && !memcmp(p.s, name, len))
		return true;
	what = part__read(p, &which);
	if (what == WHAT_ID)
		return len >= ID_ASKED_MIN && part__starts(which, name);
	part__copy(which, plain);
	return what != WHAT_NOTHING && !strcmp(plain, name);
}
