/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_notes.h. */
#include "cli/top_notes.h"

#include <stdlib.h>
#include <string.h>

void top_notes__init(struct top_notes *n, int verbosity)
{
	*n = (struct top_notes){ .verbosity = verbosity };
	pthread_mutex_init(&n->lock, NULL);
}

void top_notes__fini(struct top_notes *n)
{
	for (size_t i = 0; i < TOP_NOTES_MAX; i++)
		free(n->lines[i]);
	pthread_mutex_destroy(&n->lock);
}

void top_notes__log(void *arg, enum allocsnoop_log_level level, const char *line)
{
	struct top_notes *n = arg;
	char *copy;

	if (!(n->verbosity > 0 || (!n->verbosity && level == ALLOCSNOOP_WARN)))
		return;
	copy = strdup(line);
	if (!copy)
		return;
	pthread_mutex_lock(&n->lock);
	free(n->lines[n->cnt % TOP_NOTES_MAX]);
	n->lines[n->cnt++ % TOP_NOTES_MAX] = copy;
	n->unread++;
	pthread_mutex_unlock(&n->lock);
}

char *top_notes__get(struct top_notes *n, size_t i)
{
	char *copy = NULL;

	pthread_mutex_lock(&n->lock);
	if (n->cnt > TOP_NOTES_MAX)
		i += n->cnt - TOP_NOTES_MAX;
	if (i < n->cnt)
		copy = strdup(n->lines[i % TOP_NOTES_MAX]);
	pthread_mutex_unlock(&n->lock);
	return copy;
}

char *top_notes__take_news(struct top_notes *n)
{
	char *copy = NULL;

	pthread_mutex_lock(&n->lock);
	if (n->unread)
		copy = strdup(n->lines[(n->cnt - 1) % TOP_NOTES_MAX]);
	n->unread = 0;
	pthread_mutex_unlock(&n->lock);
	return copy;
}
