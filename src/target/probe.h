/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocators that the user names: `OBJECT:FUNC(size=ARG2,count=ARG1)`, `OBJECT:free=FUNC(ptr=ARG1)`
 * or `preset:NAME`. Each becomes a row like the catalog's, for the files that OBJECT names.
 */
#ifndef TARGET_PROBE_H
#define TARGET_PROBE_H

#include "base/types.h"
#include "base/vec.h"
#include "target/catalog.h"

#define PROBE_LAYER_MAX 7    /* what an attach cookie can say */
#define PROBE_MAX	256  /* functions */
#define PROBE_SPEC_MAX	4096 /* bytes */
#define PROBE_NAME_MAX	255  /* of a function */
#define PROBE_NEAR_MAX	64   /* longer near misses aren't told */
#define PROBE_ANY_FILE	"*"

struct probe {
	struct catalog_row row; /* first: rows of a layer above 0 are in one of these */
	char *object;		/* path, file name or pattern; what the layer is called */
	char *path;		/* of an object with a slash: without symbolic links; or NULL */
	char *symbol;		/* what row.symbol points to */
	bool by_offset;		/* `off` says where, not the name */
	u64 off;		/* in the file */
	u64 fixed_size;		/* bytes, where no argument says the size; 0: one does */
	u32 spec;		/* which of the user's texts it comes from */

	/* What came of it; files are read by several threads. */
	u32 file_cnt;		   /* files that the object names */
	u32 site_cnt;		   /* of them with the function */
	char near[PROBE_NEAR_MAX]; /* a function there with nearly this name */
};

struct probe_set {
	VEC(struct probe *) v;
	VEC(char *) specs;	  /* the user's texts */
	VEC(const char *) layers; /* names: layer n is [n - 1] */
	bool only;		  /* the catalog's allocators aren't traced */
};

struct probe_preset {
	const char *name;      /* NULL ends the table */
	const char *allocator; /* for headings */
	const char *help;
	const struct catalog_row *rows;
	size_t row_cnt;
	/* A function that only hands its arguments on. Where it's larger than thin_size bytes, the
	 * compiler has inlined what it calls, and it into others. */
	const char *thin;
	u64 thin_size;
	const char *advice; /* then */
};

extern const struct probe_preset probe_presets[]; /* preset.c */

/* Reads one text but presets. What it leaves in `p` is to be freed, after failure too. */
int probe__parse(struct probe *p, const char *spec);

/* Adds what one text says. -EINVAL with words and a hint, or -ENOMEM. */
int probe_set__add(struct probe_set *set, const char *spec);

/* The last step: whose blocks can be followed? (A pool's that are freed all at once can't.) */
void probe_set__finish(struct probe_set *set);
void probe_set__free(struct probe_set *set);

/* Does it name functions of the file with this path? */
bool probe__matches(const struct probe *p, const char *path);

/* The row of a function that a file imports from whichever other; the catalog's where no probe
 * names it. `set` may be NULL. */
const struct catalog_row *probe_set__find(const struct probe_set *set, const char *symbol);

/* Of a row of a layer above 0; else NULL. */
static inline const struct probe *probe__of(const struct catalog_row *row)
{
	return row->layer ? (const struct probe *)row : NULL;
}

/* What to tell the user about a preset's function of this size, or NULL. */
const char *probe__advice(const struct catalog_row *row, u64 func_size);

/* A file has the function of this row. */
void probe__count_site(const struct catalog_row *row);

/* The file was read: notes which functions it has, and near misses of those it hasn't. */
struct elf_image;
int probe_set__note(struct probe_set *set, const char *path, const struct elf_image *img);

/* The first text from *at on of which nothing was found, with the reason in `why`; NULL none. */
const char *probe_set__missed(const struct probe_set *set, size_t *at, char *why, size_t why_size);

#endif
