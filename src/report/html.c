/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report as a page: one file that needs nothing else. The page itself is made at build time
 * (html/build.js) with a place for the profile; this writes it around the profile's data. The one
 * idea: in all of the JSON `<` can only be in a string, so replacing it there is all that keeps
 * names from ending the script element.
 */
#include <errno.h>
#include <locale.h>
#include <string.h>

#include "base/err.h"
#include "report/html.h"

/* Empty where the build had no npm. */
static const u8 page[] = {
#include "html_page.inc"
};

#define PLACE "@PROFILE@"

/* Of one of the two trees. */
static const struct html_limits limits = {
	.cost = 1500 * 1000,
	.nodes = 40000,
	.others = 6000,
};

/* ---- the numbers ---- */

#define VALUE(name, value)                                   \
	static u64 name(const struct allocsnoop_sample *s)   \
	{                                                    \
		return sample__value(s, ALLOCSNOOP_##value); \
	}
#define MEMBER(type, member)                                  \
	static type member(const struct allocsnoop_sample *s) \
	{                                                     \
		return s->member;                             \
	}
VALUE(alloc_bytes, ALLOC_BYTES)
VALUE(alloc_count, ALLOC_COUNT)
VALUE(live_bytes, LIVE_BYTES)
VALUE(live_count, LIVE_COUNT)
VALUE(peak_bytes, PEAK_BYTES)
VALUE(grown_bytes, GROWN_BYTES)
VALUE(temporary_count, TEMPORARY_COUNT)
MEMBER(u64, base_alloc_bytes)
MEMBER(u64, base_alloc_count)
MEMBER(u64, base_live_bytes)
MEMBER(u64, base_live_count)
MEMBER(double, alloc_bytes_var)
MEMBER(double, alloc_count_var)
MEMBER(double, live_bytes_var)
MEMBER(double, live_count_var)

/* In the order of enum allocsnoop_value. */
const struct html_kind html_kinds[HTML_KINDS] = {
	{ "alloc_bytes", alloc_bytes, alloc_bytes_var },
	{ "alloc_count", alloc_count, alloc_count_var },
	{ "live_bytes", live_bytes, live_bytes_var },
	{ "live_count", live_count, live_count_var },
	{ "peak_bytes", peak_bytes, NULL },
	{ "grown_bytes", grown_bytes, NULL },
	{ "temporary_count", temporary_count, NULL },
	{ "base_alloc_bytes", base_alloc_bytes, NULL },
	{ "base_alloc_count", base_alloc_count, NULL },
	{ "base_live_bytes", base_live_bytes, NULL },
	{ "base_live_count", base_live_count, NULL },
};

/* Those that there is something to see of; what was asked for, always. */
static void html__choose_kinds(struct html *h, const struct allocsnoop_report_opts *opts)
{
	bool diff = h->stacks->info.diff;

	for (size_t k = 0; k < HTML_KINDS; k++)
		h->shown[k] = h->totals[k] && (diff || k < HTML_VALUES);
	for (size_t k = HTML_VALUES; diff && k < HTML_KINDS; k++)
		h->shown[k] |= h->shown[k - HTML_VALUES];
	h->shown[ALLOCSNOOP_ALLOC_BYTES] = h->shown[ALLOCSNOOP_ALLOC_COUNT] = true;
	if (h->j.live)
		h->shown[ALLOCSNOOP_LIVE_BYTES] = h->shown[ALLOCSNOOP_LIVE_COUNT] = true;
	if ((size_t)opts->value < HTML_VALUES)
		h->shown[opts->value] = true;
}

/* ---- the file ---- */

/* What stands for the character at c, and how long it is; NULL: it stands for itself. The
 * separators of lines and paragraphs, U+2028 and U+2029, end lines in older JavaScript. */
static const char *escape(const char *c, size_t *len)
{
	*len = 1;
	if (*c == '<')
		return "\\u003c";
	if (*c == '>')
		return "\\u003e";
	if (strncmp(c, "\xe2\x80\xa8", 3) && strncmp(c, "\xe2\x80\xa9", 3))
		return NULL;
	*len = 3;
	return c[2] == '\xa8' ? "\\u2028" : "\\u2029";
}

int html__flush(struct html *h)
{
	struct str *s = &h->j.buf;
	size_t from = 0, len;

	if (s->oom)
		return -ENOMEM;
	for (size_t i = 0; i < s->len; i += len) {
		const char *with = escape(s->s + i, &len);

		if (!with)
			continue;
		fwrite(s->s + from, 1, i - from, h->j.out);
		fputs(with, h->j.out);
		from = i + len;
	}
	fwrite(s->s + from, 1, s->len - from, h->j.out);
	str__clear(s);
	return ferror(h->j.out) ? -EIO : 0;
}

static int add_names(struct html *h)
{
	const struct html_names *n = &h->names;
	int err = 0;

	html__array(h, "strings");
	for (size_t i = 0; !err && i < n->used_strings.cnt; i++) {
		str__add(&h->j.buf, i ? "," : "");
		json__string(&h->j, n->strings.v[n->used_strings.v[i]].text);
		if (h->j.buf.len > HTML_NAME_MAX)
			err = html__flush(h);
	}
	str__add(&h->j.buf, "]");
	html__array(h, "frames");
	for (size_t i = 0; i < n->used_frames.cnt; i++) {
		const struct html_frame *f = &n->frames.v[n->used_frames.v[i]];

		str__addf(&h->j.buf, "%s%u,%u,%u,%u,%u", i ? "," : "",
			  n->strings.v[f->function].out, n->strings.v[f->module].out,
			  n->strings.v[f->file].out, f->line, f->flags);
	}
	str__add(&h->j.buf, "]}");
	return err ? err : html__flush(h);
}

static int build_trees(struct html *h, enum allocsnoop_by by)
{
	int err = 0;

	for (size_t k = 0; k < HTML_KINDS; k++) {
		for (size_t i = 0; i < h->stacks->samples.cnt; i++)
			h->totals[k] = sum__add(h->totals[k],
						html_kinds[k].value(&h->stacks->samples.v[i]));
	}
	for (size_t i = 0; !err && i < ARRAY_SIZE(h->trees); i++) {
		h->trees[i] = (struct html_tree){
			.p = h->stacks,
			.by = by,
			.up = i,
			.names = &h->names,
			.limits = limits,
			.totals = h->totals,
		};
		err = html_tree__build(&h->trees[i]);
	}
	return err;
}

static int html__write_data(struct html *h, const struct allocsnoop_profile *p,
			    const struct allocsnoop_report_opts *opts)
{
	int err = html_names__init(&h->names);

	if (!err)
		err = build_trees(h, opts->by);
	if (!err)
		err = html_functions__sum(&h->functions, h->stacks, h->totals);
	if (err)
		return err;
	html__choose_kinds(h, opts);
	err = html__add_facts(h, p, opts);
	if (!err)
		err = html__add_functions(h);
	if (!err)
		err = html__add_trees(h);
	return err ? err : add_names(h);
}

static void html__free(struct html *h)
{
	html_functions__fini(&h->functions);
	for (size_t i = 0; i < ARRAY_SIZE(h->trees); i++)
		html_tree__fini(&h->trees[i]);
	html_names__fini(&h->names);
	str__free(&h->j.buf);
	str__free(&h->j.clean);
}

static int html__write_page(struct html *h, const struct allocsnoop_profile *p,
			    const struct allocsnoop_report_opts *opts)
{
	const u8 *place = memmem(page, sizeof(page), PLACE, strlen(PLACE));
	const u8 *rest = place + strlen(PLACE);
	int err;

	fwrite(page, 1, place - page, h->j.out);
	err = html__write_data(h, p, opts);
	if (!err)
		fwrite(rest, 1, page + sizeof(page) - rest, h->j.out);
	html__free(h);
	if (err && !ferror(h->j.out))
		return err__fail(err, "cannot write the report: %s", strerror(-err));
	return writer__done(h->j.out);
}

static int html_write(const struct allocsnoop_profile *p, const struct allocsnoop_report_opts *opts,
		      FILE *out)
{
	/* A program that embeds the library may have set a locale with a decimal comma. */
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old;
	struct allocsnoop_profile *stacks = profile__group(p, opts->by);
	struct html h = {
		.j = { .out = out, .p = p, .live = !strcmp(p->info.mode, "live") },
		.stacks = stacks,
	};
	int err = -ENOMEM;

	if (c && stacks) {
		profile__sort(stacks, opts->value);
		old = uselocale(c);
		err = html__write_page(&h, p, opts);
		uselocale(old);
	} else {
		err__fail(err, "cannot write the report: out of memory");
	}
	if (c)
		freelocale(c);
	profile__free(stacks);
	return err;
}

static int html_ready(void)
{
	if (sizeof(page))
		return 0;
	err__fail(-ENOTSUP, "this allocsnoop was built without npm");
	err__hint("install nodejs and npm, then build again: make deps-html html");
	return -ENOTSUP;
}

const struct writer writer_html = {
	.name = "html",
	.help = "a page to explore: flame graph, functions, sizes, lifetimes, processes",
	.extension = "html",
	.whole = true,
	.ready = html_ready,
	.write = html_write,
};
