/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BPF maps on the host. The BPF text's map objects are ordinary variables here; the first word of
 * each (which a map definition never uses as data) is made to point at its storage. Every element
 * is an allocation of its own, so the sanitizer sees an access beyond one.
 */
#ifndef TESTS_BPF_HOST_MAP_H
#define TESTS_BPF_HOST_MAP_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bpf.h>

#define HOST_BUCKETS  4096
#define HOST_MAPS_MAX 64

struct host_node {
	struct host_node *next;
	__u64 order; /* of insertion */
	void *key;
	void *value;
};

struct host_map {
	const char *name;
	__u32 type;
	__u32 key_size;
	__u32 value_size;
	__u32 max;
	__u32 declared_max;
	__u32 cnt;
	__u64 order;
	void **elem; /* arrays */
	struct host_node **bucket;
	/* What a test may make go wrong. */
	int fail; /* the next update fails with this, then it is 0 again */
	void (*before_update)(struct host_map *m, const void *key,
			      const void *value); /* called once */
};

static struct host_map host_maps[HOST_MAPS_MAX];
static __u32 host_map_cnt;
static __u32 host_map_text_cnt; /* the first ones are the BPF text's; the others a test made */

static inline struct host_map *host_map__of(const void *handle)
{
	struct host_map *m;

	memcpy(&m, handle, sizeof(m));
	if (m)
		return m;
	fprintf(stderr, "a map that host.h doesn't know: add it to host__add_maps()\n");
	abort();
}

static inline bool host_map__is_array(const struct host_map *m)
{
	return m->type == BPF_MAP_TYPE_ARRAY || m->type == BPF_MAP_TYPE_ARRAY_OF_MAPS;
}

static inline struct host_map *host_map__add(void *handle, const char *name, __u32 type,
					     __u32 key_size, __u32 value_size, __u32 max)
{
	struct host_map *m = &host_maps[host_map_cnt++];

	if (host_map_cnt == HOST_MAPS_MAX)
		abort();
	*m = (struct host_map){
		.name = name, .type = type, .key_size = key_size, .value_size = value_size
	};
	m->max = m->declared_max = max;
	memcpy(handle, &m, sizeof(m));
	return m;
}

#define HOST_NUM(field) (sizeof(*(field)) / sizeof(int)) /* back from __uint() */
#define HOST_MAP(m)                                                                       \
	host_map__add(&(m), #m, HOST_NUM((m).type), sizeof(*(m).key), sizeof(*(m).value), \
		      HOST_NUM((m).max_entries))
#define HOST_MAP_OF_MAPS(m)                                                           \
	host_map__add(&(m), #m, HOST_NUM((m).type), sizeof(*(m).key), sizeof(void *), \
		      HOST_NUM((m).max_entries))

#define HOST_QUEUE(m)                                                      \
	host_map__add(&(m), #m, HOST_NUM((m).type), 0, sizeof(*(m).value), \
		      HOST_NUM((m).max_entries))

static inline struct host_node **host_map__place(struct host_map *m, const void *key)
{
	__u64 h = 0xcbf29ce484222325ull; /* FNV-1a */
	struct host_node **at;

	for (__u32 i = 0; i < m->key_size; i++)
		h = (h ^ ((const __u8 *)key)[i]) * 0x100000001b3ull;
	if (!m->bucket)
		m->bucket = calloc(HOST_BUCKETS, sizeof(*m->bucket));
	at = &m->bucket[(h ^ h >> 32) % HOST_BUCKETS];
	while (*at && memcmp((*at)->key, key, m->key_size))
		at = &(*at)->next;
	return at;
}

static inline void *host_map__elem(struct host_map *m, __u32 at)
{
	if (at >= m->max)
		return NULL;
	if (!m->elem)
		m->elem = calloc(m->max, sizeof(*m->elem));
	if (m->type == BPF_MAP_TYPE_ARRAY && !m->elem[at])
		m->elem[at] = calloc(1, m->value_size);
	return m->elem[at];
}

static inline void *host_map__lookup(struct host_map *m, const void *key)
{
	struct host_node *n;
	__u32 at;

	if (host_map__is_array(m)) {
		memcpy(&at, key, sizeof(at));
		return host_map__elem(m, at);
	}
	n = *host_map__place(m, key);
	return n ? n->value : NULL;
}

static inline int host_map__remove(struct host_map *m, const void *key)
{
	struct host_node **at = host_map__place(m, key), *n = *at;

	if (!n)
		return -ENOENT;
	*at = n->next;
	free(n->key);
	free(n->value);
	free(n);
	m->cnt--;
	return 0;
}

/* The kernel's LRU evicts what hasn't been used for long; the first in, first out is one of its
 * possible orders. */
static inline void host_map__evict(struct host_map *m)
{
	struct host_node *oldest = NULL;

	for (__u32 i = 0; i < HOST_BUCKETS; i++) {
		for (struct host_node *n = m->bucket[i]; n; n = n->next)
			oldest = !oldest || n->order < oldest->order ? n : oldest;
	}
	host_map__remove(m, oldest->key);
}

static inline int host_map__insert(struct host_map *m, const void *key, const void *value)
{
	struct host_node *n;

	if (m->cnt >= m->max) {
		if (m->type != BPF_MAP_TYPE_LRU_HASH)
			return -E2BIG;
		host_map__evict(m);
	}
	n = calloc(1, sizeof(*n));
	n->key = malloc(m->key_size);
	n->value = calloc(1, m->value_size);
	n->order = m->order++;
	memcpy(n->key, key, m->key_size);
	if (value)
		memcpy(n->value, value, m->value_size);
	*host_map__place(m, key) = n;
	m->cnt++;
	return 0;
}

static inline int host_map__update(struct host_map *m, const void *key, const void *value,
				   __u64 flags)
{
	void (*hook)(struct host_map *, const void *, const void *) = m->before_update;
	int fail = m->fail;
	void *old;

	m->before_update = NULL;
	m->fail = 0;
	if (hook)
		hook(m, key, value);
	if (fail)
		return fail;
	if (m->type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
		host_map__elem(m, *(const __u32 *)key);
		memcpy(&m->elem[*(const __u32 *)key], value, sizeof(void *));
		return 0;
	}
	old = host_map__lookup(m, key);
	if (old && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!old && host_map__is_array(m))
		return -E2BIG;
	if (!old)
		return flags == BPF_EXIST ? -ENOENT : host_map__insert(m, key, value);
	memcpy(old, value, m->value_size);
	return 0;
}

/* A queue: one bucket's list, the first in first. */
static inline int host_map__push(struct host_map *m, const void *value)
{
	struct host_node **at, *n;

	if (m->cnt >= m->max)
		return -E2BIG;
	if (!m->bucket)
		m->bucket = calloc(HOST_BUCKETS, sizeof(*m->bucket));
	for (at = &m->bucket[0]; *at;)
		at = &(*at)->next;
	n = calloc(1, sizeof(*n));
	n->value = malloc(m->value_size);
	memcpy(n->value, value, m->value_size);
	*at = n;
	m->cnt++;
	return 0;
}

static inline int host_map__pop(struct host_map *m, void *value)
{
	struct host_node *n = m->bucket ? m->bucket[0] : NULL;

	if (!n)
		return -ENOENT;
	memcpy(value, n->value, m->value_size);
	m->bucket[0] = n->next;
	free(n->value);
	free(n);
	m->cnt--;
	return 0;
}

/* Walks a hash; at is 0 for the first one. NULL: that was the last. */
static inline struct host_node *host_map__next(struct host_map *m, __u32 *at, struct host_node *n)
{
	n = n ? n->next : NULL;
	while (!n && m->bucket && *at < HOST_BUCKETS)
		n = m->bucket[(*at)++];
	return n;
}

static inline void host_map__clear(struct host_map *m)
{
	for (__u32 i = 0; m->bucket && i < HOST_BUCKETS; i++) {
		while (m->bucket[i] && m->type == BPF_MAP_TYPE_QUEUE)
			host_map__pop(m, m->bucket[i]->value);
		while (m->bucket[i])
			host_map__remove(m, m->bucket[i]->key);
	}
	for (__u32 i = 0; m->elem && m->type == BPF_MAP_TYPE_ARRAY && i < m->max; i++)
		free(m->elem[i]);
	free(m->bucket);
	free(m->elem);
	m->bucket = NULL;
	m->elem = NULL;
	m->cnt = 0;
}

#endif
