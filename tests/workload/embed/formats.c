/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces a command with frees and writes the same profile in several formats: what readers of one
 * say must agree with what readers of another say. A report is also taken every INTERVAL_MS (0:
 * none), so that there is a course.
 *
 *   formats PATH,FORMAT,... INTERVAL_MS COMMAND...     writes PATH.FORMAT, says `points COUNT`
 */
#include <allocsnoop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int complain(void)
{
	fprintf(stderr, "%s\n%s\n", allocsnoop__error(), allocsnoop__hint());
	return 1;
}

static int write_one(const struct allocsnoop_profile *profile, const char *path, const char *format)
{
	struct allocsnoop_report_opts opts = { .sz = sizeof(opts), .format = format };
	char name[4096];
	FILE *out;
	int err;

	snprintf(name, sizeof(name), "%s.%s", path, format);
	out = fopen(name, "w");
	if (!out)
		return -1;
	err = allocsnoop_profile__write(profile, &opts, out);
	return fclose(out) || err ? -1 : 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A profile that was taken stays in the course of the next ones. */
static void take(struct allocsnoop *session)
{
	struct allocsnoop_profile *profile;

	if (!allocsnoop__profile(session, &profile))
		allocsnoop_profile__free(profile);
}

static int record(struct allocsnoop *session, int interval_ms)
{
	double next = now_ms() + interval_ms;
	int more = 1;

	while (more > 0) {
		more = allocsnoop__poll(session, interval_ms ? interval_ms : 100);
		if (!interval_ms || now_ms() < next)
			continue;
		take(session);
		next += interval_ms;
	}
	return more ? more : allocsnoop__stop(session);
}

int main(int argc, char **argv)
{
	struct allocsnoop_opts opts = { .sz = sizeof(opts), .argv = argv + 3, .live = true };
	const char *path = argc > 3 ? strtok(argv[1], ",") : NULL, *format;
	struct allocsnoop_profile *profile;
	struct allocsnoop *session;

	if (!path)
		return 2;
	if (allocsnoop__open(&opts, &session))
		return complain();
	if (allocsnoop__start(session) || record(session, atoi(argv[2])) ||
	    allocsnoop__profile(session, &profile))
		return complain();
	while ((format = strtok(NULL, ","))) {
		if (write_one(profile, path, format))
			return complain();
	}
	printf("points %zu\n", allocsnoop_profile__point_cnt(profile));
	allocsnoop_profile__free(profile);
	allocsnoop__free(session);
	return 0;
}
