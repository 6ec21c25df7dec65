/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps source lines by file and place. See the header. */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>

#include "elf/debugfile.h"

struct file_lines {
	struct map at; /* place -> struct line_frames * */
	struct arena arena;
	bool cut; /* a look-up gave up, and so would the next */
};

static void file_lines__free(struct file_lines *f)
{
	map__free(&f->at);
	arena__free(&f->arena);
	free(f);
}

void lines__fini(struct lines *l)
{
	u64 hash, val;

	for (size_t i = 0; map__next(&l->files, &i, &hash, &val);)
		file_lines__free((void *)(uintptr_t)val);
	map__free(&l->files);
}

static struct file_lines *lines__of(const struct lines *l, u64 hash)
{
	u64 val;

	return map__get(&l->files, hash, &val) ? (void *)(uintptr_t)val : NULL;
}

/* Those of a file, made when it's the first time; NULL out of memory. */
static struct file_lines *lines__for(struct lines *l, u64 hash)
{
	struct file_lines *f = lines__of(l, hash);

	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (f && map__put(&l->files, hash, (uintptr_t)f)) {
		free(f);
		return NULL;
	}
	return f;
}

static int file_lines__add(struct file_lines *f, struct line_file *lf, const struct line_wanted *w)
{
	struct line_frames *frames = arena__alloc(&f->arena, sizeof(*frames));
	int err;

	if (!frames)
		return -ENOMEM;
	err = line_file__find(lf, w->off, w->is_return_address, &f->arena, &frames->v,
			      &frames->cnt);
	return err ? err : map__put(&f->at, w->place, (uintptr_t)frames);
}

static int file_lines__add_none(struct file_lines *f, const struct line_wanted *wanted, size_t cnt)
{
	static const struct line_frames none;
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++)
		err = map__put(&f->at, wanted[i].place, (uintptr_t)&none);
	return err;
}

int lines__find(struct lines *l, u64 hash, int fd, const char *path,
		const struct line_wanted *wanted, size_t cnt)
{
	struct file_lines *f = lines__for(l, hash);
	struct line_file *lf;
	int err;

	if (!f)
		return -ENOMEM;
	if (f->cut)
		return file_lines__add_none(f, wanted, cnt);
	/* Of many files made to take long all together take little longer than the first ones. */
	err = line_file__open(&lf, fd, path, ELF_DEBUG_ROOT, 1 + l->cut_cnt);
	if (err)
		return err;
	for (size_t i = 0; i < cnt && !err; i++)
		err = file_lines__add(f, lf, &wanted[i]);
	f->cut = line_file__gave_up(lf);
	l->cut_cnt += f->cut;
	line_file__close(lf);
	return err;
}

const struct line_frames *lines__at(const struct lines *l, u64 hash, u64 place)
{
	const struct file_lines *f = lines__of(l, hash);
	u64 val;

	return f && map__get(&f->at, place, &val) ? (const void *)(uintptr_t)val : NULL;
}

void lines__forget(struct lines *l, u64 hash)
{
	struct file_lines *f = lines__of(l, hash);

	if (!f)
		return;
	file_lines__free(f);
	map__del(&l->files, hash);
}
