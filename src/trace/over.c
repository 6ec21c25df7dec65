/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells images that are over from those that run. */
#include "trace/over.h"

#include "proc/task.h"

#define TICKS_NS                                                                         \
	10000000ull /* of /proc/PID/stat: USER_HZ is 100 on every architecture we run on \
		     */

bool proc__exited(const struct recorded_proc *proc)
{
	struct proc_task t;

	if (proc_task__read(proc->pid, &t) || t.start_ticks != proc->start_boottime / TICKS_NS)
		return true;
	return t.state == 'Z' && t.threads <= 1; /* else only its first thread has ended */
}

static u64 proc__key(const struct recorded_proc *proc)
{
	return map__mix(proc->pid, proc->start_boottime);
}

int over__init(struct over *o, const struct session *s)
{
	u64 key, val, known;
	int err = 0;

	*o = (struct over){ .s = s };
	for (size_t i = 0; !err && map__next(&s->record.procs, &i, &key, &val);) {
		const struct recorded_proc *proc = (void *)(uintptr_t)val;

		if (map__get(&o->newest, proc__key(proc), &known))
			known = MAX(known, proc->exec_id);
		else
			known = proc->exec_id;
		err = map__put(&o->newest, proc__key(proc), known);
	}
	return err;
}

void over__fini(struct over *o)
{
	map__free(&o->newest);
}

bool over__has(const struct over *o, const struct recorded_proc *proc)
{
	u64 newest;

	if (map__get(&o->newest, proc__key(proc), &newest) && proc->exec_id != newest)
		return true;
	return !session__names(o->s, proc->pid) && proc__exited(proc);
}
