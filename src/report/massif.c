/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What valgrind's massif writes, for ms_print and massif-visualizer: the heap's course, with the
 * stacks of its peak and of its end. A tree's children are a run of sorted stacks, parted by the
 * frame at the tree's depth; so there is no tree in memory, and every parent is the sum of its
 * children to the byte.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/numbered.h"
#include "report/writer.h"

#define NS_PER_MS 1000000

/* Branches below a thousandth of the whole are told as one. ms_print hides more by itself. */
#define THRESHOLD      1000
#define THRESHOLD_TEXT "0.10%"

/* perl warns of each deeper tree that ms_print reads. */
#define DEPTH_MAX 95

struct massif {
	const struct allocsnoop_profile *p;
	FILE *out;
	struct numbered n;
	struct str text;
	sample_value_fn value; /* of the snapshot that is written */
	u64 total;
	u32 snapshot_cnt;
};

/* Stacks that are equal down to some depth. */
struct branch {
	size_t from, to; /* of numbered.stacks */
	u64 bytes;
};

struct branches {
	VEC(struct branch) v; /* that are worth a line, the greatest first */
	size_t small_cnt;
	u64 small_bytes;
};

static u64 live_bytes(const struct allocsnoop_sample *s, const void *arg)
{
	(void)arg;
	return s->live_bytes;
}

static u64 peak_bytes(const struct allocsnoop_sample *s, const void *arg)
{
	(void)arg;
	return s->peak_bytes;
}

/* ---- one tree ---- */

static u64 stack__value(const struct massif *m, size_t at)
{
	return m->value(&m->p->samples.v[m->n.stacks.v[at].row], NULL);
}

static int add_branch(struct massif *m, struct branches *b, const struct branch *one)
{
	if (!one->bytes)
		return 0;
	if (one->bytes >= m->total / THRESHOLD)
		return vec__push(&b->v, *one);
	b->small_cnt++;
	b->small_bytes = sum__add(b->small_bytes, one->bytes);
	return 0;
}

/* What the stack has at this depth; 0: it has ended, which is a branch as well. */
static u64 name_at(const struct massif *m, size_t at, u32 depth)
{
	const struct numbered_stack *s = &m->n.stacks.v[at];

	return depth < s->cnt ? (u64)numbered__ids(&m->n, s)[depth] + 1 : 0;
}

static int greatest_first(const void *left, const void *right)
{
	const struct branch *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static int branches__find(struct massif *m, const struct branch *parent, u32 depth,
			  struct branches *b)
{
	struct branch one = { .from = parent->from };
	int err = 0;

	for (size_t i = parent->from; i < parent->to && !err; i++) {
		one.bytes = sum__add(one.bytes, stack__value(m, i));
		one.to = i + 1;
		if (one.to < parent->to && name_at(m, i, depth) == name_at(m, one.to, depth))
			continue;
		err = add_branch(m, b, &one);
		one = (struct branch){ .from = one.to };
	}
	if (b->v.cnt)
		qsort(b->v.v, b->v.cnt, sizeof(*b->v.v), greatest_first);
	return err;
}

/* A '#' begins a comment, wherever it stands. */
static void add_name(struct str *s, const char *name)
{
	size_t from = s->len;

	str__add_utf8(s, name, strlen(name), true);
	for (size_t i = from; i < s->len; i++) {
		if (s->s[i] == '#')
			s->s[i] = '_';
	}
}

/* n3: 4096 0x1234: main (main.c:5), below its parent by the spaces in front. */
static int put_node(struct massif *m, u32 depth, size_t child_cnt, u64 bytes, const char *name)
{
	str__clear(&m->text);
	str__addf(&m->text, "%*sn%zu: %" PRIu64 " ", (int)depth, "", child_cnt, bytes);
	add_name(&m->text, name);
	str__add(&m->text, "\n");
	if (m->text.oom)
		return -ENOMEM;
	fwrite(m->text.s, 1, m->text.len, m->out);
	return 0;
}

static int put_small(struct massif *m, u32 depth, const struct branches *b)
{
	char text[96];

	if (!b->small_cnt)
		return 0;
	snprintf(text, sizeof(text), "in %zu place%s, %sbelow massif's threshold (%s)",
		 b->small_cnt, b->small_cnt > 1 ? "s" : "", b->small_cnt > 1 ? "all " : "",
		 THRESHOLD_TEXT);
	return put_node(m, depth, 0, b->small_bytes, text);
}

static int put_branch(struct massif *m, const struct branch *node, u32 depth, const char *name);

static int put_child(struct massif *m, const struct branch *child, u32 depth)
{
	u64 name = name_at(m, child->from, depth);

	if (!name)
		return put_node(m, depth + 1, 0, child->bytes, "[the stack ends here]");
	return put_branch(m, child, depth + 1, m->n.frames.v[name - 1].text);
}

/* What is below a node of this depth, into `b`: none where all its stacks end. */
static int branches__of(struct massif *m, const struct branch *node, u32 depth, struct branches *b)
{
	int err = branches__find(m, node, depth, b);

	if (b->v.cnt == 1 && !b->small_cnt && !name_at(m, b->v.v[0].from, depth))
		b->v.cnt = 0;
	return err;
}

/* A node whose stacks are equal for `depth` frames, and all below it. */
static int put_branch(struct massif *m, const struct branch *node, u32 depth, const char *name)
{
	struct branches b = {};
	int err = branches__of(m, node, depth, &b);
	bool cut = depth >= DEPTH_MAX && b.v.cnt + b.small_cnt;

	if (cut)
		b.v.cnt = b.small_cnt = 0;
	if (!err)
		err = put_node(m, depth, cut ? 1 : b.v.cnt + !!b.small_cnt, node->bytes, name);
	if (!err && cut)
		err = put_node(m, depth + 1, 0, node->bytes, "[more callers, left out]");
	for (size_t i = 0; i < b.v.cnt && !err; i++)
		err = put_child(m, &b.v.v[i], depth);
	if (!err)
		err = put_small(m, depth + 1, &b);
	vec__free(&b.v);
	return err;
}

/* ---- snapshots ---- */

static void put_snapshot(struct massif *m, u64 time_ns, u64 bytes, const char *tree)
{
	fprintf(m->out,
		"#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
		"\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		m->snapshot_cnt++, time_ns / NS_PER_MS, bytes, tree);
}

static u64 total_of(const struct massif *m, sample_value_fn value)
{
	u64 total = 0;

	for (size_t i = 0; i < m->p->samples.cnt; i++)
		total = sum__add(total, value(&m->p->samples.v[i], NULL));
	return total;
}

static int put_detailed(struct massif *m, u64 time_ns, sample_value_fn value, const char *tree)
{
	struct branch root = { .to = m->n.stacks.cnt };

	m->value = value;
	m->total = root.bytes = total_of(m, value);
	put_snapshot(m, time_ns, m->total, tree);
	return put_branch(m, &root, 0,
			  "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
}

/* Those of [from_ns, to_ns), in order of time whatever a file said. The detailed snapshot at to_ns
 * stands for those of its millisecond: the last profile has a point of its own. */
static void put_points(struct massif *m, u64 from_ns, u64 to_ns)
{
	u64 last_ns = from_ns;

	for (size_t i = 0; i < m->p->points.cnt; i++) {
		const struct allocsnoop_point *pt = &m->p->points.v[i];

		if (pt->time_ns < last_ns || pt->time_ns / NS_PER_MS >= to_ns / NS_PER_MS)
			continue;
		put_snapshot(m, pt->time_ns, pt->live_bytes, "empty");
		last_ns = pt->time_ns;
	}
}

static int put_snapshots(struct massif *m)
{
	const struct allocsnoop_process *highest = writer__highest(m->p);
	u64 end_ns = m->p->info.duration_ns, at_ns;
	int err = 0;

	at_ns = highest ? MIN(highest->peak_ns, end_ns) : end_ns;
	if (!total_of(m, peak_bytes))
		at_ns = 0;
	put_snapshot(m, 0, 0, "empty");
	put_points(m, 0, at_ns);
	if (total_of(m, peak_bytes))
		err = put_detailed(m, at_ns, peak_bytes, "peak");
	put_points(m, at_ns, end_ns);
	return err ? err : put_detailed(m, end_ns, live_bytes, "detailed");
}

/* ---- head ---- */

static int put_head(struct massif *m)
{
	const struct allocsnoop_info *info = &m->p->info;
	struct str *s = &m->text;

	str__add(s, "desc: allocsnoop " ALLOCSNOOP_VERSION ", requested bytes, ");
	if (!info->exact)
		str__add(s, "sampled: estimates, peak unknown");
	else
		str__add(s, "exact");
	if (info->exact && m->p->processes.cnt > 1)
		str__add(s, "; peak: the sum of each process's own, at the highest one's time");
	if (info->older_ns)
		str__add(s, "; end: only blocks of at least the age that was asked for");
	if (info->filtered)
		str__add(s, "; ");
	info__say_part(s, info);
	str__add(s, "\ncmd: ");
	add_name(s, info->target ? info->target : "");
	str__add(s, "\ntime_unit: ms\n");
	if (s->oom)
		return -ENOMEM;
	fwrite(s->s, 1, s->len, m->out);
	return 0;
}

static int massif_write(const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out)
{
	struct massif m = { .p = p, .out = out };
	int err = writer__needs_live(p, "massif");

	(void)opts;
	if (err)
		return err;
	err = numbered__init(&m.n, p, NUMBERED_CALLERS);
	if (!err)
		err = put_head(&m);
	if (!err)
		err = put_snapshots(&m);
	numbered__fini(&m.n);
	str__free(&m.text);
	if (err == -ENOMEM)
		err__fail(err, "cannot write the report: out of memory");
	return err ? err : writer__done(out);
}

const struct writer writer_massif = {
	.name = "massif",
	.help = "for ms_print: the heap's course, and the stacks of its peak and its end",
	.extension = "massif",
	.whole = true,
	.write = massif_write,
};
