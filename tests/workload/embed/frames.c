/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's frames and points: traces a command, with source lines, and takes three profiles.
 * Prints `started NS`, `point NS COUNT BYTES` of the last profile's points, `sum COUNT BYTES` and,
 * of each stack's first caller, `frame FUNCTION|MANGLED|MODULE|BUILD-ID|FILE|LINE` ("-": none).
 */
#include <allocsnoop.h>
#include <stdio.h>
#include <string.h>

static int complain(struct allocsnoop *session)
{
	fprintf(stderr, "%s\n%s\n", allocsnoop__error(), allocsnoop__hint());
	allocsnoop__free(session);
	return 1;
}

static const char *or_none(const char *text)
{
	return text ? text : "-";
}

static void print_frame(const struct allocsnoop_frame *f)
{
	printf("frame %s|%s|%s|%s|%s|%u\n", f->function, or_none(f->mangled), f->module,
	       or_none(f->build_id), or_none(f->file), f->line);
}

static void print_profile(const struct allocsnoop_profile *p)
{
	const struct allocsnoop_info *info = allocsnoop_profile__info(p);

	printf("started %llu\n", (unsigned long long)info->started_ns);
	for (size_t i = 0; i < allocsnoop_profile__point_cnt(p); i++) {
		const struct allocsnoop_point *at = allocsnoop_profile__point(p, i);

		printf("point %llu %llu %llu\n", (unsigned long long)at->time_ns,
		       (unsigned long long)at->alloc_count, (unsigned long long)at->alloc_bytes);
	}
	printf("sum %llu %llu\n", (unsigned long long)info->alloc_count,
	       (unsigned long long)info->alloc_bytes);
	for (size_t i = 0; i < allocsnoop_profile__sample_cnt(p); i++) {
		const struct allocsnoop_sample *s = allocsnoop_profile__sample(p, i);

		printf("allocator %s|%s|%s\n", s->allocator, or_none(s->frames[0]->mangled),
		       or_none(s->frames[0]->build_id));
		if (s->frame_cnt > 1)
			print_frame(s->frames[1]);
	}
}

int main(int argc, char **argv)
{
	struct allocsnoop_opts opts;
	struct allocsnoop *session = NULL;
	struct allocsnoop_profile *profile = NULL;
	int more = 1;

	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.argv = argv + 1;
	opts.lines = true;
	if (argc < 2 || allocsnoop__open(&opts, &session) || allocsnoop__start(session))
		return complain(session);
	for (int turn = 0; more > 0 || turn < 3; turn++) {
		if (more > 0)
			more = allocsnoop__poll(session, turn < 2 ? 10 : -1);
		allocsnoop_profile__free(profile);
		if (more < 0 || allocsnoop__profile(session, &profile))
			return complain(session);
	}
	if (allocsnoop__stop(session))
		return complain(session);
	print_profile(profile);
	allocsnoop_profile__free(profile);
	allocsnoop__free(session);
	return 0;
}
