/* SPDX-License-Identifier: BSD-2-Clause */
/* One text of --probe, from left to right. Whatever is wrong is told with its column. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "target/probe.h"

#define FREE_MARK "free="

struct parser {
	const char *spec;
	const char *at;
	struct probe *p;
};

static int parser__fail(const struct parser *s, const char *at, const char *what)
{
	err__fail(-EINVAL, "probe '%s': column %zu: %s", s->spec, (size_t)(at - s->spec) + 1, what);
	err__hint("write it as 'libpool.so:pool_alloc(size=ARG2,count=ARG1)', "
		  "'libpool.so:free=pool_free(ptr=ARG1)' or 'preset:NAME'");
	return -EINVAL;
}

/* The colon before the function: paths may have others. */
static const char *object_end(const char *spec)
{
	const char *open = strchr(spec, '('), *colon = NULL;

	for (const char *c = spec; *c && c != open; c++)
		if (*c == ':')
			colon = c;
	return colon;
}

static int parse_object(struct parser *s)
{
	const char *end = object_end(s->spec);

	if (!end)
		return parser__fail(s, s->spec, "no colon between object and function");
	if (end == s->spec)
		return parser__fail(s, s->spec, "no object: a path, a file name, or * for any");
	s->p->object = strndup(s->spec, end - s->spec);
	if (!s->p->object)
		return err__fail(-ENOMEM, "out of memory");
	if (strchr(s->p->object, '/'))
		s->p->path = realpath(s->p->object, NULL);
	s->at = end + 1;
	return 0;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '@';
}

/* A function that is named by where it lies is called after the file. */
static int name_by_offset(struct parser *s, const char *text)
{
	const char *slash = strrchr(s->p->object, '/');
	char *end;

	errno = 0;
	s->p->off = strtoull(text, &end, 16);
	if (*end || errno || !s->p->off)
		return parser__fail(s, s->at, "not an offset in the file, as in 0x1a40");
	s->p->by_offset = true;
	return asprintf(&s->p->symbol, "%s+%s", slash ? slash + 1 : s->p->object, text) < 0
		       ? err__fail(-ENOMEM, "out of memory")
		       : 0;
}

static int parse_function(struct parser *s)
{
	size_t len = 0;
	char name[PROBE_NAME_MAX + 1];

	if (!strncmp(s->at, FREE_MARK, strlen(FREE_MARK))) {
		s->p->row.role = ROLE_FREE;
		s->at += strlen(FREE_MARK);
	}
	while (is_name_char(s->at[len]))
		len++;
	if (!len)
		return parser__fail(s, s->at, "no function: a symbol, or a file offset as 0x1a40");
	if (len > PROBE_NAME_MAX)
		return parser__fail(s, s->at, "the function's name is too long");
	if (s->at[len] != '(')
		return parser__fail(s, s->at + len,
				    s->at[len] ? "not part of a symbol (C++ functions go by their "
						 "mangled names)"
					       : "no arguments: (size=ARG1) is the least");
	snprintf(name, sizeof(name), "%.*s", (int)len, s->at);
	if (!strncmp(name, "0x", 2)) {
		int err = name_by_offset(s, name);

		if (err)
			return err;
	} else {
		s->p->symbol = strdup(name);
	}
	if (!s->p->symbol)
		return err__fail(-ENOMEM, "out of memory");
	s->p->row.symbol = s->p->symbol;
	s->at += len + 1;
	return 0;
}

static const struct {
	const char *name;
	size_t field; /* a u8 of struct catalog_row */
} arguments[] = {
	{ "size", offsetof(struct catalog_row, size_arg) },
	{ "count", offsetof(struct catalog_row, count_arg) },
	{ "ptr", offsetof(struct catalog_row, ptr_arg) },
	{ "align", offsetof(struct catalog_row, align_arg) },
	{ "out", offsetof(struct catalog_row, out_arg) },
};

static int parse_fixed(struct parser *s)
{
	const char *text = s->at;
	char *end;

	errno = 0;
	s->p->fixed_size = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || end == text)
		return parser__fail(s, text, "not ARG1 to ARG6, nor a number of bytes");
	if (errno || !s->p->fixed_size || s->p->fixed_size >> 63)
		return parser__fail(s, text, "not a size that a block can have");
	s->at = end;
	return 0;
}

static bool is_taken(const struct catalog_row *row, u8 arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++)
		if (*((const u8 *)row + arguments[i].field) == arg)
			return true;
	return false;
}

static int parse_value(struct parser *s, size_t kind)
{
	u8 *field = (u8 *)&s->p->row + arguments[kind].field;
	u8 arg;

	if (*field || (!kind && s->p->fixed_size))
		return parser__fail(s, s->at, "said twice");
	if (strncmp(s->at, "ARG", 3))
		return !kind ? parse_fixed(s) : parser__fail(s, s->at, "not ARG1 to ARG6");
	if (s->at[3] < '1' || s->at[3] > '6' || is_name_char(s->at[4]))
		return parser__fail(s, s->at, "not ARG1 to ARG6: others aren't in registers");
	arg = (u8)(s->at[3] - '0');
	if (is_taken(&s->p->row, arg))
		return parser__fail(s, s->at, "this argument means something already");
	*field = arg;
	s->at += 4;
	return 0;
}

static int parse_argument(struct parser *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		size_t len = strlen(arguments[i].name);

		if (strncmp(s->at, arguments[i].name, len) || s->at[len] != '=')
			continue;
		s->at += len + 1;
		return parse_value(s, i);
	}
	return parser__fail(s, s->at, "not size=, count=, ptr=, align= or out=");
}

static int parse_arguments(struct parser *s)
{
	int err;

	for (;;) {
		err = parse_argument(s);
		if (err)
			return err;
		if (*s->at == ',') {
			s->at++;
			continue;
		}
		if (*s->at != ')')
			return parser__fail(s, s->at, "neither ',' nor ')'");
		s->at++;
		return *s->at ? parser__fail(s, s->at, "something after the ')'") : 0;
	}
}

/* What the arguments make of the function. */
static int parse_role(struct parser *s)
{
	struct catalog_row *r = &s->p->row;
	const char *args = strchr(s->spec, '(') + 1;
	bool sized = r->size_arg || s->p->fixed_size;

	if (r->role == ROLE_FREE) {
		if (!r->ptr_arg || sized || r->count_arg || r->align_arg || r->out_arg)
			return parser__fail(s, args, "a free has ptr=, and nothing else");
		return 0;
	}
	if (!sized)
		return parser__fail(s, args, "no size=");
	if (r->align_arg && !r->out_arg)
		return parser__fail(s, args,
				    "align= means something with out= only (posix_memalign)");
	if (r->ptr_arg && r->out_arg)
		return parser__fail(s, args, "ptr= and out= exclude each other");
	r->role = r->ptr_arg ? ROLE_REALLOC : ROLE_ALLOC;
	/* Its object may be C++ all the same: see text__may_throw(). */
	r->throws = !strncmp(r->symbol, "_Z", 2) || s->p->by_offset;
	return 0;
}

int probe__parse(struct probe *p, const char *spec)
{
	struct parser s = { spec, spec, p };
	int err = parse_object(&s);

	if (!err)
		err = parse_function(&s);
	if (!err)
		err = parse_arguments(&s);
	return err ? err : parse_role(&s);
}
