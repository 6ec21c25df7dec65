/* SPDX-License-Identifier: BSD-2-Clause */
/* What cgroups' paths say, as runtimes and systemd make them; and this process's own. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "proc/cgroup.h"
#include "proc/container.h"
#include "check.h"

#define ID    "4f2a9c0b1d3e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
#define SHORT "4f2a9c0b1d3e"
#define UID   "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
#define UID_  "0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9"

static const struct {
	const char *path;
	const char *name; /* "" none */
} rows[] = {
	{ "", "" },
	{ "/", "" },
	{ "//", "" },
	{ "/init.scope", "" },
	{ "/user.slice/user-1000.slice/session-3.scope", "" },
	{ "/docker/" ID, SHORT },
	{ "/docker/" ID "/", SHORT },
	{ "/system.slice/docker-" ID ".scope", SHORT },
	{ "/system.slice/docker.service", "docker.service" },
	{ "/docker/" ID "/system.slice/nginx.service", SHORT },
	{ "/docker/" ID "/docker/deadbeef" SHORT SHORT SHORT SHORT "01234567", "deadbeef4f2a" },
	{ "/machine.slice/libpod-" ID ".scope", SHORT },
	{ "/machine.slice/libpod-" ID ".scope/container", SHORT },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "" },
	{ "/libpod_parent/libpod-" ID, SHORT },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", SHORT },
	{ "/kubepods/burstable/pod" UID "/" ID, SHORT },
	{ "/kubepods/burstable/pod" UID, "pod" UID },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  SHORT },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice",
	  "pod" UID_ },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", SHORT },
	{ "/kubepods.slice/kubepods-besteffort.slice", "" },
	{ "/kubepods.slice", "" },
	{ "/system.slice/kubelet.service", "kubelet.service" },
	{ "/lxc.payload.web01/system.slice/ssh.service", "web01" },
	{ "/lxc.monitor.web01", "" },
	{ "/machine.slice/machine-db\\x2d1.scope", "db-1" },
	{ "/machine.slice/systemd-nspawn@deb12.service/payload/init.scope", "deb12" },
	{ "/system.slice/nginx.service", "nginx.service" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service",
	  "app-x.service" },
	{ "/system.slice/docker-zz2a9c0b1d3e.scope", "" }, /* no id */
	{ "/system.slice/docker-4f2a9c0b1d3.scope", "" },  /* too short for one */
	{ "/docker/" ID "0", "" },			   /* too long */
	{ "/.service", "" },				   /* a service without a name */
	{ "/lxc.payload.", "" },
	{ "/system.slice/bad\\xzz.service", "bad\\xzz.service" },
	{ "/system.slice/cut\\x2.service", "cut\\x2.service" },
	{ "/lxc.payload.\\x00\\x1b[31m", "\x1b[31m" }, /* hostile, but a string: writers clean it */
	{ "/pod", "" },
	{ "/kubepods-", "" },
	{ "/podpodpodpodpodpodpodpodpodpodpodpodpod", "podpodpodpodpodpodpodpodpodpodpodpodpod" },
};

static void container__test(void)
{
	char name[CGROUP_NAME_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool any = cgroup__container(rows[i].path, name);

		CHECK_STR(name, rows[i].name);
		CHECK_EQ(any, *rows[i].name != '\0');
	}
}

/* A name of more than there is room for is cut, not overrun. */
static void long_name__test(void)
{
	char name[CGROUP_NAME_MAX], path[2000] = "/lxc.payload.";

	memset(path + strlen(path), 'n', 1000);
	CHECK(cgroup__container(path, name));
	CHECK_EQ(strlen(name), CGROUP_NAME_MAX - 1);
	memset(path, '/', sizeof(path) - 1);
	CHECK(!cgroup__container(path, name));
}

static void is__test(void)
{
	CHECK(container__is("/system.slice/nginx.service", "nginx"));
	CHECK(container__is("/system.slice/nginx.service", "nginx.service"));
	CHECK(!container__is("/system.slice/nginx.service", "ngin"));
	CHECK(!container__is("/system.slice/nginx.service/x", "nginx"));
	CHECK(container__is("/docker/" ID, "4f2a"));
	CHECK(container__is("/docker/" ID, ID));
	CHECK(!container__is("/docker/" ID, "4f2")); /* a word of three letters is no id */
	CHECK(!container__is("/docker/" ID, "4f2b"));
	CHECK(container__is("/lxc.payload.web01", "web01"));
	CHECK(container__is("/machine.slice/machine-db\\x2d1.scope", "db-1"));
	CHECK(!container__is("/", ""));
}

/* The path of this process, by the number that the kernel has for its directory. */
static void path__test(void)
{
	char self[PATH_MAX] = "", path[PATH_MAX], full[PATH_MAX * 2];
	FILE *f = fopen("/proc/self/cgroup", "r");
	struct cgroups c = {};
	struct stat st;
	int fd;

	while (f && fgets(path, sizeof(path), f)) {
		if (!strncmp(path, "0::", 3))
			snprintf(self, sizeof(self), "%.*s", (int)strcspn(path + 3, "\n"),
				 path + 3);
	}
	if (f)
		fclose(f);
	CHECK_STR(cgroups__path(&c, ~0ull, 0), ""); /* finds the mount */
	if (!self[0] || !c.mount[0] || geteuid())
		return; /* no unified hierarchy here, or no right to ask by handle */
	snprintf(full, sizeof(full), "%s%s", c.mount, self);
	CHECK_EQ(stat(full, &st), 0);
	c.unified_only = true;
	CHECK_STR(cgroups__path(&c, st.st_ino, getpid()), self);
	CHECK_STR(cgroups__path(&c, st.st_ino, getpid()), self); /* as remembered */
	CHECK_EQ(cgroup__open(full, &fd, path, sizeof(path)), 0);
	CHECK_STR(path, self);
	close(fd);
	CHECK_EQ(cgroup__open(self, &fd, path, sizeof(path)), 0);
	CHECK_STR(path, self);
	close(fd);
	CHECK(cgroup__has(self, getpid()));
	CHECK(cgroup__has("/", getpid()));
	CHECK(!cgroup__has("/nobody-has-this", getpid()));
	CHECK_EQ(cgroup__open("nobody-has-this", &fd, path, sizeof(path)), -ENOENT);
	CHECK_EQ(cgroup__open("/proc", &fd, path, sizeof(path)), -ENOENT);
	CHECK_EQ(cgroup__open("../../../../proc", &fd, path, sizeof(path)), -ENOENT);
	cgroups__fini(&c);
}

/* Version 1, which this machine may have: the longest of this process's paths there. */
static void older__test(void)
{
	char line[PATH_MAX], want[PATH_MAX] = "";
	FILE *f = fopen("/proc/self/cgroup", "r");
	struct cgroups c = {};
	bool any = false;

	while (f && fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (!path || !strncmp(line, "0::", 3))
			continue;
		any = true;
		if (strlen(path) > strlen(want))
			strcpy(want, path);
	}
	if (f)
		fclose(f);
	CHECK_STR(cgroups__path(&c, 0, getpid()), want);
	CHECK_EQ(c.unified_only, !any);
	CHECK_STR(cgroups__path(&c, 0, 0), ""); /* gone */
	CHECK_EQ(c.unified_only, !any);
	cgroups__fini(&c);
}

int main(void)
{
	container__test();
	long_name__test();
	is__test();
	path__test();
	older__test();
	return check__done();
}
