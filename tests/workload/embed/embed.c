/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library in a program of one's own: traces a command and prints the functions that allocated
 * most, straight from samples in memory. Builds as C and as C++.
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

int main(int argc, char **argv)
{
	struct allocsnoop_opts opts;
	struct allocsnoop *session = NULL;
	struct allocsnoop_profile *profile;
	int more = 1;

	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.argv = argv + 1;
	if (argc < 2 || allocsnoop__open(&opts, &session) || allocsnoop__start(session))
		return complain(session);
	while (more > 0)
		more = allocsnoop__poll(session, 100);
	if (more < 0 || allocsnoop__stop(session) || allocsnoop__profile(session, &profile))
		return complain(session);
	for (size_t i = 0; i < allocsnoop_profile__sample_cnt(profile); i++) {
		const struct allocsnoop_sample *s = allocsnoop_profile__sample(profile, i);

		if (s->frame_cnt > 1)
			printf("%s %llu %llu\n", s->frames[1]->function,
			       (unsigned long long)s->alloc_count,
			       (unsigned long long)s->alloc_bytes);
	}
	allocsnoop_profile__free(profile);
	allocsnoop__free(session);
	return 0;
}
