/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells images that are over from those that run. */
#include "trace/over.h"

#include "proc/task.h"
#include "trace/fold.h"

#define TICKS_NS                                                                         \
	10000000ull /* of /proc/PID/stat: USER_HZ is 100 on every architecture we run on \
		     */

static bool proc__is_gone(const struct recorded_proc *proc)
{
	struct proc_task t;

	if (proc_task__read(proc->pid, &t) || t.start_ticks != proc->start_boottime / TICKS_NS)
		return true;
	return t.state == 'Z' && t.threads <= 1; /* else only its first thread has ended */
}

bool proc__exited(const struct session *s, const struct recorded_proc *proc)
{
	const struct recorded_proc *newest = record__newest(&s->record, proc->pid);

	if (proc->over == AS_OVER_ENDED || (newest && newest->over == AS_OVER_ENDED) ||
	    (newest && newest->start_boottime > proc->start_boottime))
		return true;
	return proc__is_gone(proc);
}

/* With --live the kernel still has its rows: it's retired when they were given back. */
static void over__note(struct session *s, struct recorded_proc *p, u32 how)
{
	record__over(&s->record, p, how);
	if (!s->live && over__has(s, p))
		record__retire(&s->record, p);
}

void over__proc(struct session *s, const struct as_proc_event *ev)
{
	const char *cgroup = cgroups__path(&s->cgroups, ev->cgroup, ev->tgid);
	struct recorded_proc *before, *p = record__proc(&s->record, ev, cgroup, &before);
	const struct recorded_proc *newest;

	if (!p || !before)
		return;
	newest = record__newest(&s->record, ev->tgid);
	over__note(s, before,
		   newest && newest->start_boottime == before->start_boottime ? AS_OVER_REPLACED
									      : AS_OVER_ENDED);
}

void over__event(struct session *s, const struct as_over_event *ev)
{
	struct recorded_proc *p = record__find_proc(&s->record, ev->proc);

	if (p)
		over__note(s, p, ev->how);
}

void over__look(struct session *s, u32 cnt)
{
	u64 key, val;

	for (u32 i = 0; i < cnt; i++) {
		struct recorded_proc *p;

		if (!map__next(&s->record.procs, &s->looked_at, &key, &val)) {
			s->looked_at = 0;
			return;
		}
		p = (void *)(uintptr_t)val;
		if (!p->over && proc__is_gone(p))
			over__note(s, p, AS_OVER_ENDED);
	}
}

bool over__has(const struct session *s, const struct recorded_proc *proc)
{
	return proc->over == AS_OVER_REPLACED ||
	       (proc->over == AS_OVER_ENDED && !session__names(s, proc->pid));
}
