/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that outlive their file: made once, however often it comes and goes, and given up with it.
 */
#include "names.h"

#include <fcntl.h>
#include <unistd.h>

#include "check.h"

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
	return check__done();
}
