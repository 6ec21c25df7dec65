/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sections of DWARF. Small ones are read whole; of large ones (a browser's .debug_info has
 * gigabytes) only the parts that are asked for, unless they are compressed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "dwarf/dwarf.h"

#define WHOLE_MAX (32u << 20) /* of sections that are read in parts where they are larger */

/* zlib can't make more of a byte than 1032. */
#define RATIO_MAX 1040

/* What a file may take in memory, by its size. Inflated four times, and with the tables of each of
 * its units, it's half of that. */
#define SIZE_RATIO 24

static const char *const names[DWARF_SECTION_CNT] = {
	[DWARF_INFO] = "info",	       [DWARF_ABBREV] = "abbrev",
	[DWARF_LINE] = "line",	       [DWARF_LINE_STR] = "line_str",
	[DWARF_STR] = "str",	       [DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_ADDR] = "addr",	       [DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists", [DWARF_CU_INDEX] = "cu_index",
};

int budget__steps(struct dwarf_budget *b, u64 cnt)
{
	b->spent |= cnt > b->steps;
	if (b->spent)
		return -E2BIG;
	b->steps -= cnt;
	return 0;
}

int budget__bytes(struct dwarf_budget *b, u64 size)
{
	b->spent |= size > b->bytes;
	if (b->spent)
		return -E2BIG;
	b->bytes -= size;
	return 0;
}

/* ".debug_info", or ".zdebug_info" as old linkers compress it; dwo: ".debug_info.dwo". */
static bool is_called(const char *name, const char *what, bool dwo, bool *zdebug)
{
	size_t len = strlen(what);

	*zdebug = !strncmp(name, ".zdebug_", 8);
	if (!*zdebug && strncmp(name, ".debug_", 7))
		return false;
	name += *zdebug ? 8 : 7;
	/* An index has no such name, as there is but one. */
	if (!strcmp(what, names[DWARF_CU_INDEX]))
		dwo = false;
	return !strncmp(name, what, len) && !strcmp(name + len, dwo ? ".dwo" : "");
}

static void file__find_sections(struct dwarf_file *f, bool dwo)
{
	for (u32 i = 0; i < f->img.shdr_cnt; i++) {
		const Elf64_Shdr *sh = &f->img.shdrs[i];
		const char *name = elf_image__section_name(&f->img, sh);
		bool zdebug;

		if (sh->sh_type == SHT_NOBITS || !strstr(name, "debug_"))
			continue;
		for (u32 k = 0; k < DWARF_SECTION_CNT; k++) {
			struct dwarf_bytes *b = &f->sections[k];

			if (b->sh || !is_called(name, names[k], dwo, &zdebug))
				continue;
			b->sh = sh;
			b->compressed = zdebug || sh->sh_flags & SHF_COMPRESSED;
		}
	}
}

/* ---- reading ---- */

/* Where the stream begins and what it becomes; of either way to compress. */
static bool parse_compressed(const Elf64_Shdr *sh, const u8 *raw, u64 raw_size, u64 *begin,
			     u64 *size)
{
	Elf64_Chdr ch;
	u64 be;

	if (sh->sh_flags & SHF_COMPRESSED) {
		if (raw_size < sizeof(ch))
			return false;
		memcpy(&ch, raw, sizeof(ch));
		*begin = sizeof(ch);
		*size = ch.ch_size;
		return ch.ch_type == ELFCOMPRESS_ZLIB;
	}
	if (raw_size < 12 || memcmp(raw, "ZLIB", 4))
		return false;
	memcpy(&be, raw + 4, sizeof(be));
	*begin = 12;
	*size = __builtin_bswap64(be);
	return true;
}

static int inflate_all(const u8 *from, u64 from_size, u8 *to, u64 to_size)
{
	z_stream z = { .next_in = (u8 *)from, .next_out = to };
	int ret = inflateInit(&z);

	if (ret != Z_OK)
		return -ENOMEM;
	/* zlib counts in 32 bits. */
	while (ret == Z_OK) {
		u64 in_left = from_size - (u64)(z.next_in - from);
		u64 out_left = to_size - (u64)(z.next_out - to);

		z.avail_in = (uInt)MIN(in_left, 1u << 30);
		z.avail_out = (uInt)MIN(out_left, 1u << 30);
		ret = inflate(&z, Z_NO_FLUSH);
	}
	inflateEnd(&z);
	if (ret == Z_MEM_ERROR)
		return -ENOMEM;
	return ret == Z_STREAM_END && z.next_out == to + to_size ? 0 : -EINVAL;
}

static int section__inflate(struct dwarf_file *f, struct dwarf_bytes *b)
{
	CLEANUP(free__p) u8 *raw = NULL;
	u64 begin, size;
	u8 *data;
	int err = budget__steps(f->budget, b->sh->sh_size);

	if (!err)
		err = elf_image__read(&f->img, b->sh->sh_offset, b->sh->sh_size, &raw);
	if (err)
		return err;
	if (!parse_compressed(b->sh, raw, b->sh->sh_size, &begin, &size) ||
	    size / RATIO_MAX > b->sh->sh_size)
		return -EINVAL;
	err = budget__bytes(f->budget, size);
	if (err)
		return err;
	data = malloc(size + 1);
	if (!data)
		return -ENOMEM;
	err = inflate_all(raw + begin, b->sh->sh_size - begin, data, size);
	if (err) {
		free(data);
		return err;
	}
	data[size] = '\0';
	b->data = data;
	b->size = size;
	return 0;
}

static int section__read(struct dwarf_file *f, struct dwarf_bytes *b)
{
	int err;

	if (!b->sh || f->img.fd < 0)
		return -EINVAL;
	if (b->compressed)
		return section__inflate(f, b);
	err = budget__bytes(f->budget, b->sh->sh_size);
	if (!err)
		err = elf_image__read(&f->img, b->sh->sh_offset, b->sh->sh_size, &b->data);
	if (!err)
		b->size = b->sh->sh_size;
	return err;
}

int dwarf_file__section(struct dwarf_file *f, enum dwarf_section sec, const u8 **data, u64 *size)
{
	struct dwarf_bytes *b = &f->sections[sec];

	if (!b->data && !b->err)
		b->err = section__read(f, b);
	*data = b->data;
	*size = b->size;
	return b->err;
}

int dwarf_file__part(struct dwarf_file *f, enum dwarf_section sec, u64 off, u64 size,
		     const u8 **data, u64 *got, u8 **own)
{
	struct dwarf_bytes *b = &f->sections[sec];
	u64 all;
	int err;

	*own = NULL;
	if (!b->sh)
		return -EINVAL;
	all = b->data ? b->size : b->sh->sh_size;
	if (!b->data && (b->compressed || all <= WHOLE_MAX)) {
		err = dwarf_file__section(f, sec, data, &all);
		if (err)
			return err;
	}
	if (off >= all)
		return -EINVAL;
	*got = MIN(size, all - off);
	if (b->data) {
		*data = b->data + off;
		return 0;
	}
	if (b->sh->sh_offset + off < off)
		return -EINVAL;
	err = elf_image__read(&f->img, b->sh->sh_offset + off, *got, own);
	*data = *own;
	return err;
}

bool dwarf_file__has(const struct dwarf_file *f, enum dwarf_section sec)
{
	return f->sections[sec].sh;
}

/* ---- open and close ---- */

/* What a file that doesn't keep its descriptor may be asked for. */
static int file__read_all(struct dwarf_file *f)
{
	const u8 *data;
	u64 size;
	int err = 0;

	for (u32 i = 0; i < DWARF_SECTION_CNT && !err; i++) {
		if (f->sections[i].sh)
			err = dwarf_file__section(f, i, &data, &size);
	}
	close(f->img.fd);
	f->img.fd = -1;
	return err;
}

/* Little files get little. */
static void budget__grant(struct dwarf_budget *b, u64 file_size)
{
	u64 more = MIN(b->bytes_more,
		       file_size > UINT64_MAX / SIZE_RATIO ? UINT64_MAX : file_size * SIZE_RATIO);

	b->bytes += more;
	b->bytes_more -= more;
}

int dwarf_file__open(struct dwarf_file **out, int fd, bool dwo, struct dwarf_budget *budget)
{
	struct dwarf_file *f = calloc(1, sizeof(*f));
	int err = f ? elf_image__open(&f->img, fd) : -ENOMEM;

	if (err) {
		close(fd);
		free(f);
		return err;
	}
	f->budget = budget;
	budget__grant(budget, f->img.size);
	file__find_sections(f, dwo);
	if (!dwarf_file__has(f, DWARF_INFO) || !dwarf_file__has(f, DWARF_ABBREV))
		err = -EINVAL;
	if (!err && dwo)
		err = file__read_all(f);
	if (err) {
		dwarf_file__close(f);
		return err;
	}
	*out = f;
	return 0;
}

static void unit__free(struct dwarf_unit *u)
{
	dwarf_lines__free(u->lines);
	dwarf_functions__free(u->functions);
	free(u->own_data);
	free(u);
}

void dwarf_file__close(struct dwarf_file *f)
{
	u64 key, val;
	int fd;

	if (!f)
		return;
	fd = f->img.fd;
	for (size_t i = 0; i < f->units.cnt; i++)
		unit__free(f->units.v[i]);
	vec__free(&f->units);
	vec__free(&f->ranges);
	for (size_t i = 0; map__next(&f->abbrevs, &i, &key, &val);)
		abbrevs__free((void *)(uintptr_t)val);
	map__free(&f->abbrevs);
	for (u32 i = 0; i < DWARF_SECTION_CNT; i++)
		free(f->sections[i].data);
	elf_image__close(&f->img);
	if (fd >= 0)
		close(fd);
	free(f);
}
