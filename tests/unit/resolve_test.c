/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for file offsets: against nm, after the file is gone, and with more files than descriptors.
 */
#include "symbol/resolve.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "check.h"
#include "elf/debugfile.h"
#include "elf/image.h"
#include "elf_fixture.h"

static struct resolver *resolver;

static struct symbol_file *add(const char *path, const char *shown)
{
	struct symbol_file *file = NULL;

	CHECK_EQ(resolver__add_file(resolver, open(path, O_RDONLY | O_CLOEXEC), shown, &file), 0);
	return file;
}

static const char *name_at(struct symbol_file *file, u64 off, bool is_return)
{
	struct symbol_name name = { 0 };

	CHECK_EQ(resolver__name(resolver, file, off, is_return, &name), 0);
	CHECK((name.raw != NULL) == !strstr(name.function, "+0x"));
	CHECK(!name.raw || (name.start && name.start <= off));
	return name.function;
}

/* Address and size of one of lib.so's symbols, from nm. */
static void nm_sym(const char *name, u64 *addr, u64 *size)
{
	char cmd[256];
	FILE *f;

	*addr = *size = 0;
	snprintf(cmd, sizeof(cmd), "nm -S %s/whole.so | sed -n 's/ . %s$//p'", fixture_dir, name);
	f = popen(cmd, "r");
	CHECK(f && fscanf(f, "%" SCNx64 " %" SCNx64, addr, size) == 2);
	if (f)
		pclose(f);
}

static void check_names(struct symbol_file *file, const char *gone)
{
	u64 addr, size;

	nm_sym("hidden_leaf", &addr, &size);
	CHECK_STR(name_at(file, addr, false), "hidden_leaf");
	CHECK_STR(name_at(file, addr + size - 1, false), "hidden_leaf");
	CHECK_STR(name_at(file, addr + size, true), "hidden_leaf");
	nm_sym("last_call", &addr, &size);
	/* the return address of a call that ends its function belongs to the next one */
	CHECK_STR(name_at(file, addr + size, true), "last_call");
	CHECK(strcmp(name_at(file, addr + size, false), "last_call") != 0);
	nm_sym("outer_asm", &addr, &size);
	CHECK_STR(name_at(file, addr + size + 3, false), gone);
	CHECK(name_at(file, addr + size + 3, false) == name_at(file, addr + size + 3, false));
}

/* Behind the 64 bytes that follow outer_asm: a return address to a function's first byte that no
 * call can have left. */
static void check_first_byte(struct symbol_file *file)
{
	u64 addr, size;

	nm_sym("outer_asm", &addr, &size);
	CHECK_STR(name_at(file, addr + size + 64, true), "unsized_asm");
	CHECK(strstr(name_at(file, addr + size + 63, true), "+0x"));
}

/* The debug file beside it names static functions; the path may be gone by then. */
static void stripped(void)
{
	struct symbol_file *file;
	char path[256], shown[300], gone[64];
	u64 addr, size;

	CHECK_EQ(fixture__run("cp lib.so whole.so && objcopy --only-keep-debug lib.so lib.debug && "
			      "strip -s lib.so && objcopy --add-gnu-debuglink=lib.debug lib.so"),
		 0);
	snprintf(path, sizeof(path), "%s/lib.so", fixture_dir);
	snprintf(shown, sizeof(shown), "%s (deleted)", path);
	nm_sym("outer_asm", &addr, &size);
	snprintf(gone, sizeof(gone), "lib.so+0x%" PRIx64, addr + size + 3);
	file = add(path, shown);
	CHECK_EQ(unlink(path), 0);
	check_names(file, gone);
	check_first_byte(file);
	CHECK_EQ(fixture__run("cp whole.so none.so && strip -s none.so"), 0);
	snprintf(path, sizeof(path), "%s/none.so", fixture_dir);
	file = add(path, path);
	nm_sym("hidden_leaf", &addr, &size);
	snprintf(gone, sizeof(gone), "none.so+0x%" PRIx64, addr);
	CHECK_STR(name_at(file, addr, false), gone);
	nm_sym("visible", &addr, &size);
	CHECK_STR(name_at(file, addr, false), "visible");
}

/* Each address that nm lists must have one of the names that nm gives it. */
static void compare_with_nm(struct symbol_file *file, const struct elf_image *img, int debug_fd)
{
	struct map right = { 0 }; /* address -> named as one of nm's symbols there */
	u64 addr, size, off, was, cnt = 0;
	char cmd[256], raw[256];
	FILE *f;

	snprintf(cmd, sizeof(cmd),
		 "nm -S --defined-only /proc/%d/fd/%d | awk 'NF==4 && $3~/[tTiW]/'", getpid(),
		 debug_fd);
	f = popen(cmd, "r");
	while (f && fscanf(f, "%" SCNx64 " %" SCNx64 " %*c %255s", &addr, &size, raw) == 3) {
		struct symbol_name name;

		if (!elf_image__vaddr_to_off(img, addr, &off))
			continue;
		CHECK_EQ(resolver__name(resolver, file, off, false, &name), 0);
		CHECK_EQ(name.start, off);
		if (strchr(raw + 1, '@'))
			*strchr(raw + 1, '@') = '\0';
		if (!map__get(&right, addr, &was))
			was = 0;
		CHECK_EQ(map__put(&right, addr, was | (name.raw && !strcmp(name.raw, raw))), 0);
		CHECK(strcmp(raw, "_int_malloc") || !strcmp(name.function, "_int_malloc"));
	}
	if (f)
		pclose(f);
	for (size_t i = 0; map__next(&right, &i, &addr, &was);)
		cnt += was;
	printf("libc.so.6: %zu functions named, %" PRIu64 " as nm names them\n", right.cnt, cnt);
	CHECK(right.cnt > 3000);
	CHECK_EQ(cnt, right.cnt);
	map__free(&right);
}

/* Every function of libc, internal ones too, when its debug file is installed. */
static void libc_with_debug_file(void)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	CLEANUP(fd__closep) int fd = open(libc, O_RDONLY | O_CLOEXEC);
	CLEANUP(fd__closep) int debug_fd = -1;
	struct elf_image img;

	if (fd < 0 || elf_image__open(&img, fd))
		return;
	if (elf_debugfile__open(&img, libc, ELF_DEBUG_ROOT, &debug_fd))
		printf("no debug file for %s here (libc6-dbg), not compared\n", libc);
	else
		compare_with_nm(add(libc, libc), &img, debug_fd);
	elf_image__close(&img);
}

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int cnt = 0;

	while (dir && readdir(dir))
		cnt++;
	if (dir)
		closedir(dir);
	return cnt;
}

static void many_files(void)
{
	int before = open_fds();
	struct symbol_file *files[600];
	char path[256];
	u64 addr, size;

	snprintf(path, sizeof(path), "%s/whole.so", fixture_dir);
	nm_sym("hidden_leaf", &addr, &size);
	for (int i = 0; i < 600; i++) {
		files[i] = add(path, path);
		CHECK(open_fds() - before <= 257);
	}
	for (int i = 0; i < 600; i++)
		CHECK_STR(name_at(files[i], addr, false), "hidden_leaf");
	CHECK(open_fds() <= before);
}

/* No ELF file, no symbols, hostile names: always some name, never a control character. */
static void odd_files(void)
{
	struct symbol_file *file;

	file = add("/etc/passwd", "/etc/pass\x1b[2Jwd\xff");
	CHECK_STR(name_at(file, 0x97360, true), "pass\xef\xbf\xbd[2Jwd\xef\xbf\xbd+0x97360");
	CHECK_STR(name_at(file, 0, true), "pass\xef\xbf\xbd[2Jwd\xef\xbf\xbd+0x0");
	CHECK_EQ(resolver__add_file(resolver, memfd_create("jit", MFD_CLOEXEC),
				    "/memfd:jit (deleted)", &file),
		 0);
	CHECK_STR(name_at(file, UINT64_MAX, false), "memfd:jit+0xffffffffffffffff");
	file = add("/dev/null", "");
	CHECK_STR(name_at(file, 1, false), "+0x1");
}

int main(void)
{
	alarm(120);
	fixture__make("-Wl,--build-id");
	CHECK_EQ(resolver__new(&resolver), 0);
	stripped();
	libc_with_debug_file();
	many_files();
	odd_files();
	resolver__free(resolver);
	resolver__free(NULL);
	fixture__remove();
	return check__done();
}
