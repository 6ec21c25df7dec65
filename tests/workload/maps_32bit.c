/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps argv[1], which it makes a 32-bit ELF file, as code; then allocates once. */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static __attribute__((noinline, noclone)) void only_site(void)
{
	void *p = malloc(77);

	__asm__ volatile("" : "+r"(p)::"memory");
}

int main(int argc, char **argv)
{
	Elf32_Ehdr ehdr = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32 } };
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0755) : -1;

	if (fd < 0 || write(fd, &ehdr, sizeof(ehdr)) != sizeof(ehdr))
		return 2;
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 3;
	only_site();
	return 0;
}
