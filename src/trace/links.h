/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Placing and removing probes. A probe set is one file's sites for one process (or for all). Two
 * kinds: a uprobe_multi link (one system call for all sites; follows neither vfork children nor
 * children, which the launcher therefore attaches to itself) and perf uprobes (one event a site;
 * they fire for whatever runs in the process's address space, a vfork child too). Removing waits
 * for grace periods in the kernel, 25 ms to 0.1 s each, so it's done by threads of its own.
 */
#ifndef TRACE_LINKS_H
#define TRACE_LINKS_H

#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"

struct bpf_program;

enum probe_kind {
	PROBE_ENTRY,	    /* a call */
	PROBE_ENTRY_RETURN, /* a call, and its return */
	PROBE_EXIT,	    /* an instruction by which calls return */
	PROBE_FREE,	    /* a call that frees */
};

struct probe_place {
	u64 off; /* in the file */
	u64 cookie;
	enum probe_kind kind;
};

/* How a multi link hooks its places. */
enum multi_kind { MULTI_ENTRY, MULTI_RETURN, MULTI_SESSION };

/* Descriptors kept free for reports, and for looking at processes. */
#define SPARE_FDS 16

/* The descriptor, or -EMFILE (it's closed then) where only the spare ones are left. */
int fd__unless_spare(int fd);

struct links {
	VEC(int) fds; /* of BPF links and of perf events */
};

#define LINKS_ALL_PROCESSES (-1)

/* pid: a process (or a thread of it), or LINKS_ALL_PROCESSES. path: of the file, may be
 * /proc/self/fd/N. 0 or -errno; on failure nothing of this call stays attached. */
int links__add_multi(struct links *l, int prog_fd, enum multi_kind kind, const char *path,
		     const struct probe_place *places, size_t cnt, pid_t pid);
int links__add_perf(struct links *l, int prog_fd, bool on_return, const char *path,
		    const struct probe_place *places, size_t cnt, pid_t pid);

/* The attach types that the programs of multi links must be loaded with. */
#define UPROBE_MULTI_ATTACH   48 /* BPF_TRACE_UPROBE_MULTI (6.6) */
#define UPROBE_SESSION_ATTACH 57 /* BPF_TRACE_UPROBE_SESSION (6.13) */

/* Removes the probes now; takes as long as it takes. */
void links__close(struct links *l);

/* ---- removing, in the background ---- */

struct closer;

int closer__new(struct closer **c);
/* Takes the descriptors over; l is empty then. tag: says whose they are. */
void closer__give(struct closer *c, struct links *l, u64 tag);
/* Waits until all with this tag are closed: probes at the same places don't count twice then. */
void closer__await(struct closer *c, u64 tag);
/* Waits until all is closed, ends the threads, frees. */
void closer__free(struct closer *c);

#endif
