/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps source lines by file and place. See the header. */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>

#include "elf/debugfile.h"

struct file_lines {
	struct map at; /* place -> struct line_frames * */
	struct arena arena;
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

int lines__find(struct lines *l, u64 hash, int fd, const char *path,
		const struct line_wanted *wanted, size_t cnt)
{
	struct file_lines *f = lines__for(l, hash);
	struct line_file *lf;
	int err;

	if (!f)
		return -ENOMEM;
	err = line_file__open(&lf, fd, path, ELF_DEBUG_ROOT);
	if (err)
		return err;
	for (size_t i = 0; i < cnt && !err; i++)
		err = file_lines__add(f, lf, &wanted[i]);
	l->cut_cnt += line_file__gave_up(lf);
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
