/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of what was tried in the kernel, and of what it takes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "doctor/doctor.h"

#define SITES_USUAL   16	     /* probe places of a libc, where none could be tried */
#define FDS_USUAL     80	     /* of the loaded object, likewise */
#define FDS_OTHER     32	     /* of whoever embeds us, files, terminals */
#define FEW_PROCESSES 100	     /* a hint at the limit is due below */
#define UNWIND_BYTES  (256ull << 20) /* the default of --max-table-memory */
#define SLOW_HIT_NS   4000

/* Was there anything to try? */
static bool tried(const struct doctor *d)
{
	return d->root && !d->features.bpf.err;
}

static void add_feature(struct doctor *d, const char *name, enum doctor_need need,
			const char *option, const struct feature *f, const char *ok)
{
	struct doctor_row row = { .name = name, .need = need, .option = option };

	if (!tried(d)) {
		doctor__add_unknown(d, &row);
		return;
	}
	if (f->err)
		row.state = DOCTOR_MISSING;
	doctor__add(d, &row, f->remedy, "%s", f->err ? f->why : ok);
}

static bool has_seccomp(void)
{
	CLEANUP(file__closep) FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	int mode = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	}
	return mode != 0;
}

static void check_bpf(struct doctor *d)
{
	struct doctor_row row = { .name = "bpf(2)", .need = DOCTOR_MAIN };
	int err = d->features.bpf.err;
	const char *remedy = "CAP_BPF and CAP_PERFMON are needed";

	if (!d->root) {
		doctor__add_unknown(d, &row);
		return;
	}
	row.state = err ? DOCTOR_MISSING : DOCTOR_OK;
	if (err == -ENOSYS)
		remedy = "a kernel with CONFIG_BPF_SYSCALL=y is needed";
	else if (has_seccomp())
		remedy = "run it outside the container, or with --security-opt seccomp=unconfined";
	doctor__add(d, &row, remedy, "%s%s", err ? "refused: " : "may be used",
		    err ? strerror(-err) : "");
}

/* ---- what was tried ---- */

static void check_uprobes(struct doctor *d)
{
	struct doctor_row row = { .name = "uprobes", .need = DOCTOR_MAIN };

	if (!tried(d)) {
		doctor__add_unknown(d, &row);
		return;
	}
	row.state = d->features.perf_pid ? DOCTOR_OK : DOCTOR_MISSING;
	doctor__add(d, &row,
		    "a kernel with CONFIG_UPROBE_EVENTS=y and CONFIG_PERF_EVENTS=y is needed",
		    row.state ? "don't fire in all threads of a process, and only there"
			      : "fire in all threads of a process, and only there");
}

static void check_mappings(struct doctor *d)
{
	struct doctor_row row = { .name = "new mappings", .need = DOCTOR_NICE };

	if (!tried(d) || d->plain.opened.err || d->plain.counted.err) {
		doctor__add_unknown(d, &row);
	} else if (d->features.kprobes) {
		doctor__add(d, &row, "", "seen by a kprobe");
	} else {
		row.state = DOCTOR_SLOWER;
		doctor__add(d, &row, "a kernel with CONFIG_KPROBE_EVENTS=y spares this",
			    "seen by tracepoints: while tracing, a system call takes %llu ns more",
			    (unsigned long long)d->plain.syscall_ns);
	}
}

static void check_multi(struct doctor *d)
{
	struct doctor_row row = { .name = "uprobe_multi", .need = DOCTOR_NICE };
	const struct features *f = &d->features;

	if (!tried(d)) {
		doctor__add_unknown(d, &row);
	} else if (!f->multi) {
		row.state = DOCTOR_SLOWER;
		doctor__add(d, &row, "Linux 6.6 or newer has them",
			    "no such links: each place is probed by itself, slower to begin and to "
			    "end");
	} else if (!f->multi_pid) {
		row.state = DOCTOR_SLOWER;
		doctor__add(d, &row, "a newer kernel limits them rightly",
			    "one link for a file's places, but only for the whole machine");
	} else {
		doctor__add(d, &row, "", "one link for a file's places, also limited to a process");
	}
}

static void check_session(struct doctor *d)
{
	struct doctor_row row = { .name = "session links", .need = DOCTOR_NICE };

	if (!tried(d)) {
		doctor__add_unknown(d, &row);
	} else if (!d->features.session) {
		row.state = DOCTOR_SLOWER;
		doctor__add(d, &row, "Linux 6.13 or newer has them",
			    "none: with --live every call's return is probed, sampled or not");
	} else {
		doctor__add(d, &row, "", "with --live only returns that matter are probed");
	}
}

static void check_returns(struct doctor *d)
{
	struct doctor_row row = { .name = "return probes",
				  .need = DOCTOR_OPTION,
				  .option = "--live" };
	const struct features *f = &d->features;

	if (!tried(d)) {
		doctor__add_unknown(d, &row);
	} else if (!f->seccomp_unsafe) {
		doctor__add(d, &row, "", "safe for processes that have a seccomp filter");
	} else {
		row.state = f->session ? DOCTOR_LIMITED : DOCTOR_MISSING;
		doctor__add(d, &row, "Linux 6.10 and older, and 6.14 and newer, are safe",
			    "kill processes that have a seccomp filter: %s",
			    f->session ? "their blocks aren't followed"
				       : "no block can be followed");
	}
}

static void check_hit(struct doctor *d)
{
	struct doctor_row row = { .name = "cost", .need = DOCTOR_NICE };
	u64 ns = d->features.hit_ns;

	if (!tried(d) || !ns) {
		doctor__add_unknown(d, &row);
		return;
	}
	row.state = ns > SLOW_HIT_NS ? DOCTOR_SLOWER : DOCTOR_OK;
	doctor__add(d, &row,
		    "breakpoints are slow here (a virtual machine?): a short -d spares the targets",
		    "a counted allocation takes about %llu ns longer", (unsigned long long)ns);
}

/* ---- the truth test ---- */

static bool trial__exact(const struct doctor_trial *t)
{
	return t->cnt == t->wanted_cnt && t->bytes == t->wanted_bytes &&
	       t->freed == t->wanted_freed && !t->losses;
}

static void check_trial(struct doctor *d, const struct doctor_trial *t, bool live)
{
	struct doctor_row row = { .name = live ? "following" : "counting",
				  .need = live ? DOCTOR_OPTION : DOCTOR_MAIN,
				  .option = live ? "--live" : NULL };
	char freed[64] = "";

	if (!tried(d) || t->opened.err) {
		doctor__add_unknown(d, &row);
		return;
	}
	if (t->counted.err) {
		row.state = DOCTOR_MISSING;
		doctor__add(d, &row, t->counted.remedy, "%s", t->counted.why);
		return;
	}
	if (live)
		snprintf(freed, sizeof(freed), ", %llu of %llu frees", (unsigned long long)t->freed,
			 (unsigned long long)t->wanted_freed);
	row.state = trial__exact(t) ? DOCTOR_OK : DOCTOR_MISSING;
	doctor__add(d, &row,
		    "allocsnoop -v -p PID says more; a right kernel that counts wrong is a bug",
		    "%llu of %llu allocations of a child, %llu of %llu bytes%s",
		    (unsigned long long)t->cnt, (unsigned long long)t->wanted_cnt,
		    (unsigned long long)t->bytes, (unsigned long long)t->wanted_bytes, freed);
}

static void check_stacks(struct doctor *d)
{
	struct doctor_row row = { .name = "stacks", .need = DOCTOR_NICE };

	if (!tried(d) || !d->plain.cnt) {
		doctor__add_unknown(d, &row);
	} else if (d->plain.whole) {
		doctor__add(d, &row, "", "whole, from the allocator to the program's first frame");
	} else {
		row.state = DOCTOR_LIMITED;
		doctor__add(d, &row, "the report of -p PID says where they end, and why",
			    "those of a child end before its first frame");
	}
}

/* ---- what it takes ---- */

/* With -p each place is a descriptor, and the process one. */
static void check_files(struct doctor *d)
{
	struct doctor_row row = { .name = "descriptors", .need = DOCTOR_MAIN };
	u64 own = (d->plain.fd_cnt ? d->plain.fd_cnt : FDS_USUAL) + FDS_OTHER;
	u64 each = (d->plain.site_cnt ? d->plain.site_cnt : SITES_USUAL) + 1, room;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	room = r.rlim_max > own ? (r.rlim_max - own) / each : 0;
	if (room < FEW_PROCESSES)
		row.state = room ? DOCTOR_LIMITED : DOCTOR_MISSING;
	doctor__add(d, &row, "raise the hard limit: ulimit -Hn 65536; services: LimitNOFILE=65536",
		    "%llu open files at most: %llu processes of -p, about %llu each",
		    (unsigned long long)r.rlim_max, (unsigned long long)room,
		    (unsigned long long)each);
}

static u64 file__bytes(const char *path)
{
	CLEANUP(file__closep) FILE *f = fopen(path, "re");
	unsigned long long bytes;

	return f && fscanf(f, "%llu", &bytes) == 1 ? bytes : ~0ull; /* "max" */
}

/* The least room of our control group and those above it: the kernel charges maps to them. */
static u64 cgroup__room(void)
{
	CLEANUP(file__closep) FILE *f = fopen("/proc/self/cgroup", "re");
	char line[1024], path[1200];
	u64 room = ~0ull;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::/", 4))
			continue;
		line[strcspn(line, "\n")] = '\0';
		for (char *end; (end = strrchr(line, '/')) && end > line + 3; *end = '\0') {
			u64 max, used;

			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", line + 3);
			max = file__bytes(path);
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", line + 3);
			used = file__bytes(path);
			if (max != ~0ull && used != ~0ull)
				room = MIN(room, max - MIN(max, used));
		}
	}
	return room;
}

static u64 memory__room(void)
{
	CLEANUP(file__closep) FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
			break;
	}
	return MIN((u64)kib << 10, cgroup__room());
}

static void check_memory(struct doctor *d)
{
	struct doctor_row row = { .name = "memory", .need = DOCTOR_NICE };
	u64 room = memory__room(), plain = d->plain.table_bytes, live = d->live.table_bytes;

	if (!tried(d) || d->plain.opened.err) {
		doctor__add_unknown(d, &row);
		return;
	}
	if (room < MAX(plain, live) + UNWIND_BYTES)
		row.state = DOCTOR_LIMITED;
	doctor__add(d, &row, "--max-table-memory and, with --live, --max-live take less",
		    "%llu MiB free; tables take %llu MiB, with --live %llu, unwind rows up to 256",
		    (unsigned long long)(room >> 20), (unsigned long long)(plain >> 20),
		    (unsigned long long)(live >> 20));
}

void doctor__kernel(struct doctor *d)
{
	const struct features *f = &d->features;

	check_bpf(d);
	add_feature(d, "programs", DOCTOR_MAIN, NULL, &d->plain.opened,
		    "the kernel takes our programs");
	check_uprobes(d);
	check_files(d);
	check_trial(d, &d->plain, false);
	add_feature(d, "live tables", DOCTOR_OPTION, "--live", &d->live.opened,
		    "the kernel has memory for 1,048,576 blocks");
	check_returns(d);
	check_trial(d, &d->live, true);
	add_feature(d, "page faults", DOCTOR_OPTION, "-e fault", &f->faults, "can be hooked");
	add_feature(d, "system calls", DOCTOR_OPTION, "-e mmap, -e brk", &f->syscalls,
		    "can be hooked");
	check_stacks(d);
	check_mappings(d);
	check_multi(d);
	check_session(d);
	check_memory(d);
	check_hit(d);
}
