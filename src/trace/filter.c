/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the filters' options. */
#include "trace/filter.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "proc/cgroup.h"
#include "proc/task.h"
#include "trace/globs.h"

static int filter__check(const struct allocsnoop_opts *o)
{
	if (o->follow && !o->pid_cnt)
		return err__fail(-EINVAL, "following children needs process ids%s",
				 o->argv ? ": a command's are followed anyway" : "");
	if (o->pid_cnt && (o->comm || o->cgroup))
		return err__fail(-EINVAL, "process ids and a %s exclude each other",
				 o->comm ? "name" : "cgroup");
	if (o->argv && o->cgroup)
		return err__fail(-EINVAL, "a command and a cgroup exclude each other");
	return 0;
}

static int filter__read_comm(struct filter *f, const char *comm)
{
	f->kinds |= AS_FILTER_COMM;
	f->comm = strdup(comm);
	return f->comm ? globs__read(comm, &f->globs) : err__fail(-ENOMEM, "out of memory");
}

static int filter__read_cgroup(struct filter *f, const char *cgroup)
{
	char path[PATH_MAX];
	int err = cgroup__open(cgroup, &f->cgroup_fd, path, sizeof(path));

	if (err)
		return err;
	f->kinds |= AS_FILTER_CGROUP;
	f->cgroup = strdup(path);
	return f->cgroup ? 0 : err__fail(-ENOMEM, "out of memory");
}

int filter__init(struct filter *f, const struct allocsnoop_opts *o)
{
	int err = filter__check(o);

	*f = (struct filter){ .kinds = o->follow ? AS_FILTER_PROCS : 0, .cgroup_fd = -1 };
	if (!err && o->comm)
		err = filter__read_comm(f, o->comm);
	if (!err && o->cgroup)
		err = filter__read_cgroup(f, o->cgroup);
	return err;
}

void filter__fini(struct filter *f)
{
	free(f->comm);
	free(f->cgroup);
	if (f->cgroup)
		close(f->cgroup_fd);
	*f = (struct filter){ .cgroup_fd = -1 };
}

bool filter__has(const struct filter *f, pid_t pid)
{
	struct proc_task t;

	if (f->kinds & AS_FILTER_CGROUP && !cgroup__has(f->cgroup, pid))
		return false;
	return !(f->kinds & AS_FILTER_COMM) ||
	       (!proc_task__read(pid, &t) && as_globs_match(&f->globs, t.comm));
}
