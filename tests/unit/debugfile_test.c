/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files as distributions and objcopy make them; and those that must not be used. */
#include "elf/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "check.h"
#include "elf/image.h"
#include "elf/symtab.h"
#include "elf_fixture.h"

/* The inode that is found for the stripped file, 0 when none is. */
static u64 found_for(const char *name)
{
	CLEANUP(fd__closep) int fd = -1;
	char path[256], root[256];
	struct elf_image img;
	struct stat st = { 0 };
	int debug_fd, err;

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
	snprintf(root, sizeof(root), "%s/root", fixture_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd), 0);
	err = elf_debugfile__open(&img, path, root, &debug_fd);
	CHECK(err == 0 || err == -ENOENT);
	if (!err) {
		CHECK_EQ(fstat(debug_fd, &st), 0);
		CHECK(fcntl(debug_fd, F_GETFD) & FD_CLOEXEC);
		close(debug_fd);
	}
	elf_image__close(&img);
	return st.st_ino;
}

static u64 inode(const char *name)
{
	char path[512];
	struct stat st = { 0 };

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
	CHECK_EQ(stat(path, &st), 0);
	return st.st_ino;
}

static void run(const char *cmd)
{
	if (fixture__run("%s", cmd)) {
		fprintf(stderr, "failed: %s\n", cmd);
		CHECK(!"command");
	}
}

/* Without a build id: only the name and the checksum in .gnu_debuglink. */
static void by_link(void)
{
	run("gcc -O1 -fPIC -shared -Wl,--build-id=none -o link.so lib.c && "
	    "objcopy --only-keep-debug link.so link.debug && "
	    "strip -s link.so && objcopy --add-gnu-debuglink=link.debug link.so");
	CHECK_EQ(found_for("link.so"), inode("link.debug"));
	run("mkdir .debug && mv link.debug .debug/");
	CHECK_EQ(found_for("link.so"), inode(".debug/link.debug"));
	run("mkdir -p root$PWD && mv .debug/link.debug root$PWD/");
	CHECK(found_for("link.so") != 0);
	run("mv root$PWD/link.debug .");
	run("cp link.debug good && printf x >> link.debug");
	CHECK_EQ(found_for("link.so"), 0); /* the checksum differs */
	run("rm link.debug && mkfifo link.debug");
	CHECK_EQ(found_for("link.so"), 0); /* must not block */
	run("rm link.debug && mkdir link.debug");
	CHECK_EQ(found_for("link.so"), 0);
	run("rmdir link.debug && ln -s good link.debug");
	CHECK_EQ(found_for("link.so"), inode("good"));
	if (getuid() == 0) {
		run("chown 12345 good");
		CHECK_EQ(found_for("link.so"), 0); /* somebody else's file */
		run("chown 12345 link.so");
		CHECK_EQ(found_for("link.so"), inode("good"));
	}
	/* the name is the file's own name */
	run("cp good own.so && gcc -O1 -fPIC -shared -Wl,--build-id=none -o self.so lib.c && "
	    "cp self.so own.so && strip -s self.so && objcopy --add-gnu-debuglink=own.so self.so "
	    "&& "
	    "mv self.so own.so");
	CHECK_EQ(found_for("own.so"), 0);
}

static void bad_links(void)
{
	static const char *const contents[] = {
		"../x\\0\\0\\0\\0\\1\\2\\3\\4",
		"..\\0\\0\\1\\2\\3\\4",
		"\\0\\0\\0\\0\\1\\2\\3\\4",
		"abc",
		"abc\\0\\1\\2\\3",
		"/etc/passwd\\0\\1\\2\\3\\4",
	};
	char cmd[512];

	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		snprintf(cmd, sizeof(cmd),
			 "cp lib.so bad.so && strip -s bad.so && printf '%s' > section && "
			 "objcopy --add-section .gnu_debuglink=section bad.so",
			 contents[i]);
		run(cmd);
		CHECK_EQ(found_for("bad.so"), 0);
	}
}

static void by_build_id(void)
{
	run("cp lib.so id.so && objcopy --only-keep-debug id.so id.debug && strip -s id.so && "
	    "id=$(readelf -n id.so | sed -n 's/.*Build ID: //p') && "
	    "dir=root/.build-id/$(echo $id | cut -c1-2) && mkdir -p $dir && "
	    "echo $dir/$(echo $id | cut -c3-).debug > where && cp id.debug $(cat where)");
	CHECK(found_for("id.so") != 0);
	/* the debug file of another build under this id */
	run("gcc -O0 -fPIC -shared -o other.so lib.c && "
	    "objcopy --only-keep-debug other.so $(cat where)");
	CHECK_EQ(found_for("id.so"), 0);
	/* a debuglink with the right checksum, but the wrong build id */
	run("objcopy --only-keep-debug other.so id.debug && "
	    "objcopy --add-gnu-debuglink=id.debug id.so");
	CHECK_EQ(found_for("id.so"), 0);
}

/* Stripped file and debug file together have the names that the file had before. */
static void same_symbols(void)
{
	struct elf_symtab whole, both;
	struct elf_image img, debug;
	char path[3][128];
	int fd[3];

	run("cp lib.so s.so && objcopy --only-keep-debug s.so s.debug && strip -s s.so");
	snprintf(path[0], sizeof(path[0]), "%s/lib.so", fixture_dir);
	snprintf(path[1], sizeof(path[1]), "%s/s.so", fixture_dir);
	snprintf(path[2], sizeof(path[2]), "%s/s.debug", fixture_dir);
	for (int i = 0; i < 3; i++)
		fd[i] = open(path[i], O_RDONLY | O_CLOEXEC);
	CHECK_EQ(elf_image__open(&img, fd[0]), 0);
	CHECK_EQ(elf_symtab__read(&whole, &img), 0);
	elf_image__close(&img);
	CHECK_EQ(elf_image__open(&img, fd[1]), 0);
	CHECK_EQ(elf_image__open(&debug, fd[2]), 0);
	CHECK_EQ(elf_symtab__read_with_debug(&both, &img, &debug), 0);
	CHECK_EQ(both.sym_cnt, whole.sym_cnt);
	for (size_t i = 0; i < both.sym_cnt && i < whole.sym_cnt; i++) {
		CHECK_EQ(both.syms[i].off, whole.syms[i].off);
		CHECK_EQ(both.syms[i].size, whole.syms[i].size);
		CHECK_STR(elf_symtab__name(&both, &both.syms[i]),
			  elf_symtab__name(&whole, &whole.syms[i]));
	}
	elf_symtab__free(&both);
	elf_symtab__free(&whole);
	elf_image__close(&img);
	elf_image__close(&debug);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}

int main(void)
{
	alarm(120);
	fixture__make("");
	by_link();
	bad_links();
	by_build_id();
	same_symbols();
	fixture__remove();
	return check__done();
}
