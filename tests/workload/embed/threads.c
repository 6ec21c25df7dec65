/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library tells threads apart: traces a command or, with PID, a process, until it ends or
 * something comes through the pipe STOP. With LIVE it follows blocks. Prints `tracing` and, of each
 * row whose caller is `work`, `row PID TID THREAD COUNT BYTES LIVE`, spaces in names as "_".
 */
#include <allocsnoop.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(struct allocsnoop *session)
{
	fprintf(stderr, "%s\n%s\n", allocsnoop__error(), allocsnoop__hint());
	allocsnoop__free(session);
	return 1;
}

static void print_row(const struct allocsnoop_sample *s)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", s->thread ? s->thread : "-");
	for (char *c = name; *c; c++)
		*c = *c == ' ' ? '_' : *c;
	printf("row %u %u %s %llu %llu %llu\n", s->pid, s->tid, name,
	       (unsigned long long)s->alloc_count, (unsigned long long)s->alloc_bytes,
	       (unsigned long long)s->live_count);
}

int main(int argc, char **argv)
{
	pid_t pid = getenv("PID") ? atoi(getenv("PID")) : 0;
	struct pollfd in = { -1, POLLIN, 0 };
	struct allocsnoop_opts opts;
	struct allocsnoop *session = NULL;
	struct allocsnoop_profile *profile;
	int more = 1;

	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.threads = true;
	opts.live = getenv("LIVE") != NULL;
	opts.pids = &pid;
	opts.pid_cnt = pid != 0;
	opts.argv = pid ? NULL : argv + 1;
	if (pid)
		in.fd = open(getenv("STOP"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if ((argc < 2 && !pid) || allocsnoop__open(&opts, &session) || allocsnoop__start(session))
		return complain(session);
	puts("tracing");
	fflush(stdout);
	while (more > 0 && (!pid || poll(&in, 1, 0) != 1))
		more = allocsnoop__poll(session, 20);
	if (more < 0 || allocsnoop__profile(session, &profile))
		return complain(session);
	for (size_t i = 0; i < allocsnoop_profile__sample_cnt(profile); i++) {
		const struct allocsnoop_sample *s = allocsnoop_profile__sample(profile, i);

		if (s->frame_cnt > 1 && !strcmp(s->frames[1]->function, "work"))
			print_row(s);
	}
	for (size_t i = 0; i < allocsnoop_profile__loss_cnt(profile); i++)
		printf("loss %s\n", allocsnoop_profile__loss(profile, i)->name);
	allocsnoop_profile__free(profile);
	allocsnoop__free(session);
	return 0;
}
