/* SPDX-License-Identifier: BSD-2-Clause */
/* Uploads unwind tables: filling a map through mmap is some seventy times faster than by system
 * calls. */
#include "trace/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "trace/kernel.h"
#include "unwind/table.h"

#define TABLE_MAX 4096 /* AS_TABLE_MAX of bpf/maps.bpf.h */

int tables__init(struct tables *t, struct kernel *k, u64 bytes_max)
{
	int err;

	memset(t, 0, sizeof(*t));
	t->bytes_max = bytes_max;
	err = unwind_rules__init(&t->rules);
	if (err)
		return err;
	t->mapped = mmap(NULL, AS_RULE_MAX * sizeof(*t->mapped), PROT_READ | PROT_WRITE, MAP_SHARED,
			 kernel__rules_fd(k), 0);
	if (t->mapped != MAP_FAILED)
		return 0;
	t->mapped = NULL;
	err = -errno;
	tables__fini(t);
	return err;
}

void tables__fini(struct tables *t)
{
	if (t->mapped)
		munmap(t->mapped, AS_RULE_MAX * sizeof(*t->mapped));
	unwind_rules__fini(&t->rules);
	memset(t, 0, sizeof(*t));
}

/* Rules first: a row must never name one that isn't there yet. */
static void tables__upload_rules(struct tables *t)
{
	u32 cnt = unwind_rules__cnt(&t->rules);

	memcpy(&t->mapped[t->uploaded], &t->rules.rules[t->uploaded],
	       (cnt - t->uploaded) * sizeof(*t->mapped));
	t->uploaded = cnt;
}

static int table__upload(struct tables *t, struct kernel *k, const union as_page *pages,
			 u32 page_cnt, u32 slot)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	size_t size = (size_t)page_cnt * sizeof(*pages);
	CLEANUP(fd__closep) int fd = -1;
	void *to;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "allocsnoop_rows", sizeof(u32), sizeof(*pages),
			    page_cnt, &opts);
	if (fd < 0)
		return fd;
	to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (to == MAP_FAILED)
		return -errno;
	memcpy(to, pages, size);
	munmap(to, size);
	tables__upload_rules(t);
	return bpf_map_update_elem(kernel__tables_fd(k), &slot, &fd, BPF_ANY) ? -errno : 0;
}

int tables__add(struct tables *t, struct kernel *k, const struct elf_image *img, struct as_file *f)
{
	u32 first[AS_INDEX_PAGES]; /* for look-ups on the host */
	struct unwind_table rows = {};
	CLEANUP(free__p) union as_page *pages = NULL;
	u32 page_cnt = 0;
	int err;

	err = unwind_table__compile(&rows, img, &t->rules);
	if (!err)
		err = unwind_table__pack(&rows, &pages, &page_cnt, &f->chunk_cnt, first);
	unwind_table__fini(&rows);
	if (err || !page_cnt)
		return err;
	if (t->next_slot == TABLE_MAX || t->bytes + page_cnt * sizeof(*pages) > t->bytes_max) {
		t->over_cnt++;
		return 0;
	}
	err = table__upload(t, k, pages, page_cnt, t->next_slot);
	if (err)
		return err;
	t->bytes += page_cnt * sizeof(*pages);
	f->table = ++t->next_slot;
	return 0;
}
