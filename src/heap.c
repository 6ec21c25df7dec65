/* SPDX-License-Identifier: BSD-2-Clause */
/* The live members of a profile: what is still there, how old it is, how it got there. */
#include <errno.h>

#include "making.h"
#include "proc/task.h"
#include "trace/over.h"

/* A process image: what execve(2) ends. */
struct image {
	bool over; /* the kernel has taken back what it had */
	u64 live_count;
	u64 live_bytes;
};

static int making__images(struct making *m)
{
	int err = 0;
	u64 key, val;

	for (size_t i = 0; !err && map__next(&m->s->record.procs, &i, &key, &val);) {
		const struct recorded_proc *proc = (void *)(uintptr_t)val;
		struct image *image = arena__alloc(&m->p->arena, sizeof(*image));

		if (!image) {
			err = -ENOMEM;
			break;
		}
		*image = (struct image){ .over = over__has(m->s, proc) };
		err = map__put(&m->images, proc->proc, (uintptr_t)image);
	}
	return err;
}

static struct image *making__image(const struct making *m, u64 proc)
{
	u64 val;

	return map__get(&m->images, proc, &val) ? (void *)(uintptr_t)val : NULL;
}

/* ---- one row ---- */

/* What n kept ones of the row stand for. */
static u64 scaled(struct making *m, enum rounded what, double p, u64 n)
{
	return p < 1 ? estimate__round((double)n / p, &m->left[what]) : n;
}

static int sample__lifetimes(struct making *m, const struct live_row *r, double p, bool over,
			     struct allocsnoop_sample *out)
{
	struct allocsnoop_lifetimes *l = arena__alloc(&m->p->arena, sizeof(*l));

	_Static_assert(ALLOCSNOOP_LIFE_CLASSES == AS_LIFE_CLASSES, "the same classes");
	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < AS_LIFE_CLASSES; i++) {
		l->freed[i] = scaled(m, ROUND_LIFE_FREED, p, r->sums.life[i]);
		l->live[i] = over ? 0 : scaled(m, ROUND_LIFE_LIVE, p, r->ages[i]);
	}
	out->lifetimes = l;
	if (r->sums.freed_cnt)
		out->freed_mean_ns = (double)r->sums.life_ns / (double)r->sums.freed_cnt;
	if (over)
		return 0;
	out->old_count = scaled(m, ROUND_OLD_CNT, p, r->old_cnt);
	out->old_bytes = scaled(m, ROUND_OLD_BYTES, p, r->old_bytes);
	if (r->older_cnt)
		out->live_mean_ns = (double)r->age_ns / (double)r->older_cnt;
	return 0;
}

/* What counts as live: all, or what is old enough; nothing when the image is over. */
static void row__live(const struct making *m, const struct live_row *r, bool over, u64 *cnt,
		      u64 *bytes)
{
	*cnt = over ? 0 : m->s->older_ns ? r->older_cnt : live_row__cnt(r);
	*bytes = over ? 0 : m->s->older_ns ? r->older_bytes : live_row__bytes(r);
}

/* What now is more, or less, than it was before. */
static s64 grown(struct making *m, enum rounded what, double p, u64 now, u64 before)
{
	if (now < before)
		return -(s64)scaled(m, what, p, before - now);
	return scaled(m, what, p, now - before);
}

static void sample__grown(struct making *m, const struct live_row *r, double p, u64 cnt, u64 bytes,
			  struct allocsnoop_sample *out)
{
	if (!m->s->has_before)
		return;
	out->grown_count = grown(m, ROUND_GROWN_CNT, p, cnt, r->before_cnt);
	out->grown_bytes = grown(m, ROUND_GROWN_BYTES, p, bytes, r->before_bytes);
}

/* Of an image, NULL when it had none. */
static const struct as_heap *making__heap(const struct making *m, const struct recorded_proc *proc)
{
	const struct as_heap *heap = proc ? live__heap(&m->live, proc->proc) : NULL;

	return heap || !proc || !proc->heap.proc ? heap : &proc->heap;
}

int sample__live(struct making *m, size_t at, const struct recorded_proc *proc,
		 struct allocsnoop_sample *out)
{
	const struct live_row *r = &m->live.rows.v[at];
	const struct as_heap *heap = making__heap(m, proc);
	struct image *image = proc ? making__image(m, proc->proc) : NULL;
	u32 class = as_key_class(&r->sums.key);
	double p = sampler__p(&m->s->sampler, class);
	bool over = image && image->over;
	struct estimate e = {};
	u64 cnt, bytes;

	row__live(m, r, over, &cnt, &bytes);
	sampler__add(&m->s->sampler, class, cnt, bytes, &e);
	out->live_count = scaled(m, ROUND_LIVE_CNT, p, cnt);
	out->live_bytes = scaled(m, ROUND_LIVE_BYTES, p, bytes);
	out->live_count_var = e.cnt_var;
	out->live_bytes_var = e.bytes_var;
	out->freed_count = scaled(m, ROUND_FREED_CNT, p, r->sums.freed_cnt);
	out->freed_bytes = scaled(m, ROUND_FREED_BYTES, p, r->sums.freed_bytes);
	out->untracked_count = scaled(m, ROUND_UNTRACKED_CNT, p, r->sums.untracked_cnt);
	out->untracked_bytes = scaled(m, ROUND_UNTRACKED_BYTES, p, r->sums.untracked_bytes);
	out->temporary_count = scaled(m, ROUND_TEMPORARY_CNT, p, r->sums.temporary_cnt);
	if (over) {
		out->exit_count = scaled(m, ROUND_EXIT_CNT, p, live_row__cnt(r));
		out->exit_bytes = scaled(m, ROUND_EXIT_BYTES, p, live_row__bytes(r));
	}
	if (m->s->sampler.exact && heap) {
		out->peak_count = r->sums.peak_cnt;
		out->peak_bytes = r->sums.peak_bytes;
	}
	sample__grown(m, r, p, cnt, bytes, out);
	if (image) {
		image->live_count += out->live_count;
		image->live_bytes += out->live_bytes;
	}
	return sample__lifetimes(m, r, p, over, out);
}

/* ---- all rows ---- */

static void making__join_row(struct making *m, size_t to, size_t from)
{
	struct live_row *rows = m->live.rows.v;

	live_row__add(&rows[to], &rows[from]);
	rows[from] = (struct live_row){};
}

/* Hits whose stacks were finished later have rows of their own in the kernel: here they join the
 * first row of their stack. */
static int making__join_rows(struct making *m)
{
	struct map first = {}; /* hash of key -> row */
	int err = 0;
	u64 h, at;

	for (size_t i = AS_CLASS_CNT; i < m->live.rows.cnt && !err; i++) {
		struct live_row *r = &m->live.rows.v[i];

		r->sums.key.stack = record__whole(&m->s->record, r->sums.key.stack);
		h = tally_key__hash(&r->sums.key);
		while (map__get(&first, h, &at) &&
		       !tally_key__eq(&m->live.rows.v[at].sums.key, &r->sums.key))
			h = map__mix(h, 1);
		if (map__get(&first, h, &at))
			making__join_row(m, at, i);
		else
			err = map__put(&first, h, i);
	}
	map__free(&first);
	return err;
}

/* What the next profile's growth is counted from. */
static int making__remember(struct making *m)
{
	struct session *s = m->s;
	int err = 0;

	s->before.cnt = 0;
	for (size_t i = 0; i < m->live.kernel_row_cnt && !err; i++) {
		const struct live_row *r = &m->live.rows.v[i];
		const struct image *image = making__image(m, r->sums.key.proc);
		struct live_before before;

		row__live(m, r, image && image->over, &before.cnt, &before.bytes);
		err = vec__push(&s->before, before);
	}
	for (size_t i = 0; i < s->record.past.cnt; i++) /* of images that are over */
		s->record.past.v[i].before_cnt = s->record.past.v[i].before_bytes = 0;
	s->has_before = !err;
	return err;
}

int making__live_rows(struct making *m)
{
	int err = live__take(&m->live, m->s);

	if (!err && m->s->record.finished.cnt)
		err = making__join_rows(m);
	if (!err)
		err = making__images(m);
	m->p->info.grown = m->s->has_before;
	if (m->live.heaps.cnt)
		m->p->info.unknown_frees += m->live.heaps.v[0].unknown_frees;
	for (size_t i = 0; i < m->live.rows.cnt && !err; i++) {
		const struct as_live_row *sums = &m->live.rows.v[i].sums;
		struct recorded_row row = {
			.key = sums->key,
			.cnt = sums->alloc_cnt,
			.bytes = sums->alloc_bytes,
			.images = m->live.rows.v[i].images,
		};

		/* A row whose calls have all failed, or are still running, says nothing. */
		if (row.cnt)
			err = making__row(m, &row, i);
	}
	return err ? err : making__remember(m);
}

void process__live(struct making *m, const struct recorded_proc *proc,
		   struct allocsnoop_process *out)
{
	const struct as_heap *heap = making__heap(m, proc);
	const struct image *image = making__image(m, proc->proc);

	if (image) {
		out->live_count = image->live_count;
		out->live_bytes = image->live_bytes;
	}
	if (image && !image->over && !out->exited) /* the number may be another's by now */
		out->rss_anon = proc_task__rss_anon(proc->pid);
	if (!heap)
		return;
	out->unknown_frees = heap->unknown_frees;
	m->p->info.unknown_frees += heap->unknown_frees;
	if (!m->s->sampler.exact)
		return;
	out->peak_bytes = heap->peak_bytes;
	out->peak_count = heap->peak_cnt;
	out->peak_ns = heap->peak_ns - MIN(heap->peak_ns, m->s->start_ns);
}
