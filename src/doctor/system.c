/* SPDX-License-Identifier: BSD-2-Clause */
/* Rights, limits and surroundings: what /proc and a few harmless calls tell. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "doctor/doctor.h"
#include "proc/maps.h"

/* The inodes of the first namespaces (include/linux/proc_ns.h). */
#define FIRST_USER_NS 0xEFFFFFFDu
#define FIRST_PID_NS  0xEFFFFFFCu

static bool is_first_ns(const char *path, u32 inode)
{
	struct stat st;

	return stat(path, &st) || st.st_ino == inode; /* without namespaces there is one only */
}

/* The first word of a file below /proc or /sys; false: not there. `format` has its size. */
static bool word__read(const char *path, const char *format, char *word)
{
	CLEANUP(file__closep) FILE *f = fopen(path, "re");

	return f && fscanf(f, format, word) == 1;
}

static void check_root(struct doctor *d)
{
	struct doctor_row row = { .name = "root", .need = DOCTOR_MAIN };

	if (!d->root) {
		row.state = DOCTOR_MISSING;
		doctor__add(d, &row, "run it with sudo",
			    "user %d runs this; probes and BPF programs are root's",
			    (int)geteuid());
	} else if (!is_first_ns("/proc/self/ns/user", FIRST_USER_NS)) {
		row.state = DOCTOR_MISSING;
		doctor__add(d, &row, "run it as the host's root, not in a rootless container",
			    "root of a user namespace only, not of the machine");
	} else {
		doctor__add(d, &row, "", "the machine's administrator runs this");
	}
}

/* ---- capabilities ---- */

struct cap {
	const char *name;
	u32 bit;
	bool needed; /* for the main job */
};

static const struct cap caps[] = {
	{ "CAP_BPF", 39, true },
	{ "CAP_PERFMON", 38, true },
	{ "CAP_SYS_ADMIN", CAP_SYS_ADMIN, true },
	{ "CAP_SYS_PTRACE", CAP_SYS_PTRACE, false },
};

static u64 caps__effective(void)
{
	CLEANUP(file__closep) FILE *f = fopen("/proc/self/status", "re");
	unsigned long long held = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "CapEff: %llx", &held) == 1)
			break;
	}
	if (held >> CAP_SYS_ADMIN & 1) /* includes the two newer ones */
		held |= 1ull << 38 | 1ull << 39;
	return held;
}

static void check_caps(struct doctor *d)
{
	struct doctor_row row = { .name = "capabilities", .need = DOCTOR_MAIN };
	u64 held = caps__effective();
	struct str names = {};

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		if (held >> caps[i].bit & 1)
			continue;
		str__addf(&names, "%s%s", names.len ? ", " : "", caps[i].name);
		if (caps[i].needed)
			row.state = DOCTOR_MISSING;
		else if (row.state == DOCTOR_OK)
			row.state = DOCTOR_LIMITED;
	}
	if (row.state == DOCTOR_OK)
		doctor__add(d, &row, "", "CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_PTRACE");
	else
		doctor__add(d, &row, "run it with sudo; containers: --privileged", "without %s%s",
			    names.s ? names.s : "",
			    row.state == DOCTOR_LIMITED ? ": not every process can be looked into"
							: "");
	str__free(&names);
}

/* ---- kernel ---- */

static void check_version(struct doctor *d)
{
	struct doctor_row row = { .name = "kernel", .need = DOCTOR_NICE };
	struct utsname u = {};
	int major = 0, minor = 0;

	uname(&u);
	if (sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	    (major < 6 || (major == 6 && minor < 1)))
		row.state = DOCTOR_LIMITED;
	doctor__add(d, &row, "Linux 6.1 or newer", "Linux %.64s on %.64s%s", u.release, u.machine,
		    row.state ? ", older than 6.1, the oldest that is tested" : "");
}

static void check_btf(struct doctor *d)
{
	struct doctor_row row = { .name = "btf", .need = DOCTOR_MAIN };

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		row.state = DOCTOR_MISSING;
		doctor__add(d, &row,
			    "a kernel with CONFIG_DEBUG_INFO_BTF=y, and /sys mounted, is needed",
			    "the kernel's types, /sys/kernel/btf/vmlinux: %s", strerror(errno));
	} else {
		doctor__add(d, &row, "", "the kernel's types can be read");
	}
}

/* "none integrity [confidentiality]" */
static void check_lockdown(struct doctor *d)
{
	struct doctor_row row = { .name = "lockdown", .need = DOCTOR_MAIN };
	char line[128];

	if (!word__read("/sys/kernel/security/lockdown", "%127[^\n]", line)) {
		doctor__add(d, &row, "", "the kernel has none, or doesn't tell");
	} else if (strstr(line, "[confidentiality]")) {
		row.state = DOCTOR_MISSING;
		doctor__add(d, &row, "boot without lockdown=confidentiality",
			    "confidentiality: BPF programs may not read memory");
	} else {
		doctor__add(d, &row, "", "doesn't forbid BPF programs to read memory");
	}
}

static void check_tracefs(struct doctor *d)
{
	struct doctor_row row = { .name = "tracefs", .need = DOCTOR_NICE };

	if (!d->root) { /* the directory is closed to others */
		doctor__add_unknown(d, &row);
		return;
	}
	/* The hook on mappings needs it where there are no kprobes, and was tried by itself. */
	if (access("/sys/kernel/tracing/events", X_OK) &&
	    access("/sys/kernel/debug/tracing/events", X_OK)) {
		row.state = DOCTOR_MISSING;
		doctor__add(d, &row, "mount -t tracefs tracefs /sys/kernel/tracing",
			    "/sys/kernel/tracing: %s", strerror(errno));
	} else {
		doctor__add(d, &row, "", "mounted");
	}
}

/* ---- processes ---- */

static void check_pid_ns(struct doctor *d)
{
	struct doctor_row row = { .name = "pid namespace", .need = DOCTOR_MAIN };

	if (is_first_ns("/proc/self/ns/pid", FIRST_PID_NS)) {
		doctor__add(d, &row, "", "the machine's: every process can be seen");
		return;
	}
	row.state = DOCTOR_MISSING;
	doctor__add(d, &row, "run it on the host; containers: --pid=host",
		    "a container's: the kernel counts processes by other numbers");
}

static int mapping__open(void *arg, const struct proc_map *m)
{
	char path[96];
	int fd;

	if (!m->exec || !m->inode)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/map_files/%llx-%llx", (unsigned long long)m->start,
		 (unsigned long long)m->end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	*(int *)arg = fd < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return 1;
}

static void check_map_files(struct doctor *d)
{
	struct doctor_row row = { .name = "mapped files", .need = DOCTOR_MAIN };
	int err = -ENOENT;

	proc_maps__each(getpid(), mapping__open, &err);
	if (!err) {
		doctor__add(d, &row, "", "open through /proc/PID/map_files, deleted ones too");
		return;
	}
	if (!d->root) {
		doctor__add_unknown(d, &row);
		return;
	}
	row.state = DOCTOR_MISSING;
	doctor__add(d, &row, "CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, and /proc mounted",
		    "/proc/PID/map_files: %s", strerror(-err));
}

/* A child of ours, as COMMAND is. */
static int ptrace__try(void)
{
	pid_t child = fork();
	int err;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	if (child < 0)
		return -errno;
	err = ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_EXITKILL) ? -errno : 0;
	kill(child, SIGKILL);
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	return err;
}

static void check_ptrace(struct doctor *d)
{
	struct doctor_row row = { .name = "ptrace", .need = DOCTOR_OPTION, .option = "COMMAND" };
	char scope[16] = "";
	int err = ptrace__try();

	if (!err) {
		doctor__add(d, &row, "", "a command is stopped while it gets its probes");
		return;
	}
	row.state = DOCTOR_MISSING;
	word__read("/proc/sys/kernel/yama/ptrace_scope", "%15s", scope);
	doctor__add(d, &row,
		    scope[0] == '3'
			    ? "a reboot with kernel.yama.ptrace_scope below 3"
			    : "a seccomp filter or security module forbids it; -p PID works",
		    "refused: %s%s%s", strerror(-err), scope[0] ? "; ptrace_scope is " : "", scope);
}

static void check_cgroup(struct doctor *d)
{
	struct doctor_row row = { .name = "cgroup v2",
				  .need = DOCTOR_OPTION,
				  .option = "--cgroup" };
	static const char *const paths[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (statfs(paths[i], &fs) || fs.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		doctor__add(d, &row, "", "mounted at %s", paths[i]);
		return;
	}
	row.state = DOCTOR_MISSING;
	doctor__add(d, &row, "mount -t cgroup2 none /sys/fs/cgroup", "not mounted");
}

void doctor__system(struct doctor *d)
{
	check_root(d);
	check_caps(d);
	check_lockdown(d);
	check_btf(d);
	check_pid_ns(d);
	check_map_files(d);
	check_ptrace(d);
	check_cgroup(d);
	check_version(d);
	check_tracefs(d);
}
