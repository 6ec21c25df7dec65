/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiles and uploads unwind tables. Filling a map through mmap is some seventy times faster than
 * by system calls.
 */
#include "trace/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "trace/kernel.h"
#include "unwind/input.h"
#include "unwind/table.h"

#define TABLE_MAX      4096 /* AS_TABLE_MAX of bpf/maps.bpf.h */
#define IDLE_CNT_MAX   512  /* tables kept for files that may come again, */
#define IDLE_BYTES_MAX (32ull << 20)

static size_t table__size(const struct table *table)
{
	return table->page_cnt * sizeof(*table->pages);
}

static void table__drop_pages(struct table *table)
{
	if (table->slot)
		munmap(table->pages, table__size(table));
	else
		free(table->pages);
	table->pages = NULL;
}

int tables__init(struct tables *t, struct kernel *k, u64 bytes_max)
{
	int err;

	memset(t, 0, sizeof(*t));
	t->bytes_max = bytes_max;
	err = unwind_rules__init(&t->rules);
	if (err)
		return err;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->compiled, NULL);
	err = getrandom(t->key, sizeof(t->key), 0) == sizeof(t->key) ? 0 : -EIO;
	t->mapped = mmap(NULL, AS_RULE_MAX * sizeof(*t->mapped), PROT_READ | PROT_WRITE, MAP_SHARED,
			 kernel__rules_fd(k), 0);
	if (t->mapped == MAP_FAILED) {
		t->mapped = NULL;
		err = -errno;
	}
	if (err)
		tables__fini(t);
	return err;
}

void tables__fini(struct tables *t)
{
	if (!t->rules.rules) /* never opened */
		return;
	if (t->mapped)
		munmap(t->mapped, AS_RULE_MAX * sizeof(*t->mapped));
	for (size_t i = 0; i < t->all.cnt; i++) {
		table__drop_pages(t->all.v[i]);
		free(t->all.v[i]);
	}
	vec__free(&t->all);
	vec__free(&t->placed);
	vec__free(&t->free_slots);
	vec__free(&t->stale_slots);
	map__free(&t->by_id);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->compiled);
	unwind_rules__fini(&t->rules);
	memset(t, 0, sizeof(*t));
}

/* ---- compiling ---- */

/* The table of this id; *is_new: the caller shall compile it. NULL: no memory. */
static struct table *tables__claim(struct tables *t, const u64 id[2], bool *is_new)
{
	struct table *table;
	u64 val;

	*is_new = false;
	if (map__get(&t->by_id, id[0], &val)) {
		table = (void *)(uintptr_t)val;
		if (table->id[1] == id[1])
			return table;
	}
	table = calloc(1, sizeof(*table));
	if (!table || vec__push(&t->all, table)) {
		free(table);
		return NULL;
	}
	memcpy(table->id, id, sizeof(table->id));
	map__put(&t->by_id, id[0], (uintptr_t)table); /* without memory it isn't shared */
	*is_new = true;
	return table;
}

static u64 table__bytes(const struct table *table)
{
	return table->slot ? table__size(table) : 0;
}

static void tables__use(struct tables *t, struct table *table)
{
	if (!table->user_cnt++ && table->idle_since) {
		table->idle_since = 0;
		t->idle_cnt--;
		t->idle_bytes -= table__bytes(table);
	}
}

/* Leaves a table without rows when it can't. */
static void table__compile(struct table *table, const struct unwind_input *in,
			   struct unwind_rules *rules)
{
	u32 first[AS_INDEX_PAGES]; /* for look-ups on the host */
	struct unwind_table rows;

	if (!unwind_table__make(&rows, in, rules))
		unwind_table__pack(&rows, &table->pages, &table->page_cnt, &table->chunk_cnt,
				   first);
	unwind_table__fini(&rows);
}

static struct table *tables__of(struct tables *t, const struct unwind_input *in)
{
	struct table *table;
	bool is_new;
	u64 id[2];

	unwind_input__id(in, t->key, id);
	pthread_mutex_lock(&t->lock);
	table = tables__claim(t, id, &is_new);
	if (table)
		tables__use(t, table);
	pthread_mutex_unlock(&t->lock);
	if (!is_new)
		return table;
	table__compile(table, in, &t->rules);
	pthread_mutex_lock(&t->lock);
	table->compiled = true;
	pthread_cond_broadcast(&t->compiled);
	pthread_mutex_unlock(&t->lock);
	return table;
}

void tables__compile(struct tables *t, const struct elf_image *img, struct table **table)
{
	struct unwind_input in;

	*table = unwind_input__read(&in, img) ? NULL : tables__of(t, &in);
	unwind_input__fini(&in);
}

static void tables__await(struct tables *t, const struct table *table)
{
	pthread_mutex_lock(&t->lock);
	while (!table->compiled)
		pthread_cond_wait(&t->compiled, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

/* ---- placing ---- */

/* Rules first: a row must never name one that isn't there yet. */
static void tables__upload_rules(struct tables *t)
{
	u32 cnt = unwind_rules__cnt(&t->rules);

	memcpy(&t->mapped[t->uploaded], &t->rules.rules[t->uploaded],
	       (cnt - t->uploaded) * sizeof(*t->mapped));
	t->uploaded = cnt;
}

/* A slot that is used again must not find rules of the table before: the kernel's memory of them is
 * cleared, for all such slots at once. */
static int tables__take_slot(struct tables *t, struct kernel *k, u32 *slot)
{
	if (!t->free_slots.cnt && t->placed.cnt == TABLE_MAX && t->stale_slots.cnt) {
		kernel__forget_rules(k);
		for (size_t i = 0; i < t->stale_slots.cnt; i++)
			vec__push(&t->free_slots, t->stale_slots.v[i]);
		t->stale_slots.cnt = 0;
	}
	if (t->free_slots.cnt) {
		*slot = t->free_slots.v[--t->free_slots.cnt];
		return 0;
	}
	*slot = t->placed.cnt;
	return vec__push(&t->placed, NULL);
}

static bool tables__has_slot(const struct tables *t)
{
	return t->free_slots.cnt || t->stale_slots.cnt || t->placed.cnt < TABLE_MAX;
}

/* The rows move into the kernel's memory, where walks in user space read them, too. */
static int table__upload(struct tables *t, struct kernel *k, struct table *table)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	CLEANUP(fd__closep) int fd = -1;
	size_t size = table__size(table);
	union as_page *pages;
	u32 slot;
	int err;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "allocsnoop_rows", sizeof(u32), sizeof(*pages),
			    table->page_cnt, &opts);
	if (fd < 0)
		return fd;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		return -errno;
	memcpy(pages, table->pages, size);
	tables__upload_rules(t);
	err = tables__take_slot(t, k, &slot);
	if (!err && bpf_map_update_elem(kernel__tables_fd(k), &slot, &fd, BPF_ANY)) {
		err = -errno;
		vec__push(&t->free_slots, slot);
	}
	if (err) {
		munmap(pages, size);
		return err;
	}
	free(table->pages);
	table->pages = pages;
	table->slot = slot + 1;
	t->placed.v[slot] = table;
	return 0;
}

/* ---- idle tables ---- */

static void tables__drop(struct tables *t, struct kernel *k, struct table *table)
{
	u64 val;
	size_t i = 0;

	t->idle_cnt--;
	t->idle_bytes -= table__bytes(table);
	if (map__get(&t->by_id, table->id[0], &val) && (void *)(uintptr_t)val == table)
		map__del(&t->by_id, table->id[0]);
	while (t->all.v[i] != table)
		i++;
	t->all.v[i] = t->all.v[--t->all.cnt];
	if (table->slot) {
		kernel__forget_table(k, table->slot - 1);
		t->placed.v[table->slot - 1] = NULL;
		t->bytes -= table__size(table);
		vec__push(&t->stale_slots, table->slot - 1); /* without memory it's lost */
	}
	table__drop_pages(table);
	free(table);
}

/* The one that has been without users for longest; NULL none. */
static struct table *tables__oldest(const struct tables *t)
{
	struct table *oldest = NULL;

	for (size_t i = 0; t->idle_cnt && i < t->all.cnt; i++) {
		struct table *table = t->all.v[i];

		if (table->idle_since && (!oldest || table->idle_since < oldest->idle_since))
			oldest = table;
	}
	return oldest;
}

/* For that many bytes, at the cost of idle tables; false: there isn't. */
static bool tables__make_room(struct tables *t, struct kernel *k, u64 size)
{
	struct table *oldest;
	bool room;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		room = tables__has_slot(t) && t->bytes + size <= t->bytes_max;
		oldest = room ? NULL : tables__oldest(t);
		if (!oldest)
			break;
		tables__drop(t, k, oldest);
	}
	pthread_mutex_unlock(&t->lock);
	return room;
}

void tables__release(struct tables *t, struct kernel *k, struct table *table)
{
	if (!table)
		return;
	pthread_mutex_lock(&t->lock);
	if (!--table->user_cnt) {
		table->idle_since = ++t->idle_clock;
		t->idle_cnt++;
		t->idle_bytes += table__bytes(table);
		if (table->too_large) /* the next time it may find room */
			tables__drop(t, k, table);
	}
	while (t->idle_cnt > IDLE_CNT_MAX || t->idle_bytes > IDLE_BYTES_MAX)
		tables__drop(t, k, tables__oldest(t));
	pthread_mutex_unlock(&t->lock);
}

int tables__place(struct tables *t, struct kernel *k, struct table *table, struct as_file *f)
{
	u64 size;
	int err = 0;

	if (!table)
		return 0;
	tables__await(t, table);
	size = table__size(table);
	if (size && !table->slot && !tables__make_room(t, k, size))
		table->too_large = true;
	if (table->too_large) {
		t->over_cnt++;
		table__drop_pages(table);
		return 0;
	}
	if (size && !table->slot) {
		err = table__upload(t, k, table);
		if (err)
			return err; /* the next file with this table tries again */
		t->bytes += size;
	}
	f->table = table->slot;
	f->chunk_cnt = table->chunk_cnt;
	return 0;
}
