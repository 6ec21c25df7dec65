/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library as a source of raw stacks: `stacks OUT COMMAND...` traces a command and writes, from
 * samples in memory, `calls ALLOCATOR COUNT` and `stack END FILE+OFFSET ...` for each, the latter
 * from the allocator's caller to the outermost frame. Offsets are where the calls return to, as
 * other unwinders have them; reports merge the calls of a function.
 */
#include <allocsnoop.h>
#include <inttypes.h>
#include <stdio.h>

static int complain(struct allocsnoop *session)
{
	fprintf(stderr, "%s\n%s\n", allocsnoop__error(), allocsnoop__hint());
	allocsnoop__free(session);
	return 1;
}

static void write_sample(FILE *out, const struct allocsnoop_sample *s)
{
	fprintf(out, "calls %s %" PRIu64 "\n", s->allocator, s->alloc_count);
	fprintf(out, "stack %s", allocsnoop__end_name(s->end));
	for (size_t i = 1; i < s->frame_cnt; i++)
		if (!s->frames[i]->inlined)
			fprintf(out, " %s+%#" PRIx64, s->frames[i]->module, s->frames[i]->offset);
	putc('\n', out);
}

static int write_profile(FILE *out, const struct allocsnoop_profile *profile)
{
	for (size_t i = 0; i < allocsnoop_profile__sample_cnt(profile); i++)
		write_sample(out, allocsnoop_profile__sample(profile, i));
	for (size_t i = 0; i < allocsnoop_profile__loss_cnt(profile); i++) {
		const struct allocsnoop_loss *l = allocsnoop_profile__loss(profile, i);

		fprintf(out, "loss %s %" PRIu64 "\n", l->name, l->count);
	}
	return fclose(out);
}

int main(int argc, char **argv)
{
	struct allocsnoop_opts opts = { .sz = sizeof(opts), .argv = argv + 2 };
	struct allocsnoop_profile *profile;
	struct allocsnoop *session = NULL;
	FILE *out = argc > 2 ? fopen(argv[1], "we") : NULL;
	int more = 1;

	if (!out) {
		fprintf(stderr, "usage: stacks OUT COMMAND...\n");
		return 2;
	}
	if (allocsnoop__open(&opts, &session) || allocsnoop__start(session))
		return complain(session);
	while (more > 0)
		more = allocsnoop__poll(session, 100);
	if (more < 0 || allocsnoop__stop(session) || allocsnoop__profile(session, &profile))
		return complain(session);
	if (write_profile(out, profile))
		return perror(argv[1]), 1;
	allocsnoop_profile__free(profile);
	allocsnoop__free(session);
	return 0;
}
