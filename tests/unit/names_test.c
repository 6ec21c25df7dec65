/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that outlive their file: made once, however often it comes and goes, and given up with it.
 */
#include "names.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "check.h"
#include "elf/image.h"

/* The file offset of a function of this program. */
static u64 offset_of(int fd, const void *function)
{
	struct elf_image img;
	u64 off = 0, base;

	CHECK_EQ(elf_image__open(&img, fd), 0);
	base = getauxval(AT_ENTRY) - img.ehdr.e_entry;
	CHECK(elf_image__vaddr_to_off(&img, (uintptr_t)function - base, &off));
	elf_image__close(&img);
	return off;
}

/* Source lines are found before the file is let go, once, and given up with it. */
static void lines(void)
{
	struct traced_file f = { .hash = 7, .path = (char *)"/proc/self/exe" };
	const struct line_frames *frames;
	struct names n;
	u64 off;

	f.fd = open(f.path, O_RDONLY | O_CLOEXEC);
	off = offset_of(f.fd, lines) | AS_FRAME_EXACT;
	CHECK_EQ(names__init(&n), 0);
	names__keep(&n, &f, &off, 1);
	CHECK(!lines__at(&n.lines, 7, off));
	n.lines.on = true;
	names__keep(&n, &f, &off, 1);
	close(f.fd);
	f.fd = -1;
	names__keep(&n, &f, &off, 1);
	frames = lines__at(&n.lines, 7, off);
	CHECK(frames && frames->cnt == 1 && !frames->v[0].function);
	CHECK(frames && strstr(frames->v[0].file, "names_test.c") && frames->v[0].line > 20);
	CHECK_STR(names__kept_name(&n, 7, off), "lines");
	names__forget(&n, 7);
	CHECK(!lines__at(&n.lines, 7, off));
	CHECK_EQ(n.lines.files.cnt, 0);
	CHECK_EQ(n.lines.cut_cnt, 0);
	names__fini(&n);
}

/* Time grows, the first and the last stay, and there are never too many. */
static void points(void)
{
	struct points p = {};

	for (u64 i = 1; i <= 5 * POINTS_MAX; i++) {
		struct allocsnoop_point now = { .time_ns = i, .alloc_count = 2 * i };

		CHECK_EQ(points__add(&p, &now), 0);
		now.alloc_count++;
		CHECK_EQ(points__add(&p, &now), 0);
		if (i <= POINTS_MAX)
			CHECK_EQ(p.v.cnt, i);
	}
	CHECK(p.v.cnt > POINTS_MAX / 2 && p.v.cnt <= POINTS_MAX);
	CHECK_EQ(p.v.v[0].time_ns, 1);
	CHECK_EQ(p.v.v[p.v.cnt - 1].time_ns, 5 * POINTS_MAX);
	for (size_t i = 1; i < p.v.cnt; i++)
		CHECK(p.v.v[i].time_ns > p.v.v[i - 1].time_ns);
	for (size_t i = 0; i < p.v.cnt; i++)
		CHECK_EQ(p.v.v[i].alloc_count, 2 * p.v.v[i].time_ns + 1);
	vec__free(&p.v);
}

int main(void)
{
	u64 offs[] = { 0x12340, 0x12341 };
	struct traced_file f = { .hash = 7, .path = (char *)"/lib/gone.so" };
	struct names n;

	CHECK_EQ(names__init(&n), 0);
	f.fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	names__keep(&n, &f, offs, 0);
	CHECK_EQ(n.kept.cnt, 0);
	names__keep(&n, &f, offs, 1);
	CHECK_EQ(n.kept.cnt, 1);
	CHECK_EQ(n.files.cnt, 0);
	close(f.fd);

	/* What is known isn't asked for again... */
	f.fd = -1;
	for (int i = 0; i < 1000; i++)
		names__keep(&n, &f, offs, 1);
	CHECK_EQ(resolver__file_cnt(n.resolver), 0);
	CHECK(!names__kept_name(&n, 7, offs[1]));
	/* ... but what is new is. */
	f.fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	names__keep(&n, &f, offs, 2);
	CHECK_STR(names__kept_name(&n, 7, offs[0]), "gone.so+0x12340");
	CHECK_STR(names__kept_name(&n, 7, offs[1]), "gone.so+0x12341");
	CHECK_EQ(resolver__file_cnt(n.resolver), 0);
	close(f.fd);

	names__forget(&n, 8);
	CHECK_EQ(n.kept.cnt, 1);
	names__forget(&n, 7);
	CHECK_EQ(n.kept.cnt, 0);
	names__keep(&n, &(struct traced_file){ .hash = 9, .fd = -1, .path = (char *)"x" }, offs, 1);
	names__fini(&n);
	lines();
	points();
	return check__done();
}
