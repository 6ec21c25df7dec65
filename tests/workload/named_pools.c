/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that are called as those of PostgreSQL, nginx and APR are, with their signatures and
 * calls of each other, on top of malloc; and users that know what they asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "gate.h"

#define NI __attribute__((noinline, noclone))

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

NI void *MemoryContextAlloc(void *context, size_t size)
{
	(void)context;
	return need(malloc(size + 16));
}

NI void *palloc(size_t size)
{
	return MemoryContextAlloc(NULL, size);
}

NI void *palloc0(size_t size)
{
	return memset(palloc(size), 0, size);
}

NI void *repalloc(void *old, size_t size)
{
	return need(realloc(old, size + 16));
}

NI void *ngx_alloc(size_t size, void *log)
{
	(void)log;
	return need(malloc(size));
}

NI void *ngx_palloc(void *pool, size_t size)
{
	return size > 4000 ? ngx_alloc(size, pool) : need(malloc(size));
}

NI void *ngx_pcalloc(void *pool, size_t size)
{
	return memset(ngx_palloc(pool, size), 0, size);
}

NI void *apr_palloc(void *pool, size_t size)
{
	(void)pool;
	return need(malloc((size + 7) / 8 * 8));
}

/* No row: its size isn't an argument. */
NI char *apr_pstrdup(void *pool, const char *text)
{
	return strcpy(apr_palloc(pool, strlen(text) + 1), text);
}

NI void uses_postgres(void)
{
	void *block = palloc(100);

	palloc0(50);
	MemoryContextAlloc(NULL, 10);
	repalloc(block, 200);
	gate__say("expect uses_postgres 4 360\n");
}

NI void uses_nginx(void)
{
	ngx_palloc(NULL, 100);
	ngx_palloc(NULL, 5000);
	ngx_pcalloc(NULL, 30);
	ngx_alloc(7, NULL);
	gate__say("expect uses_nginx 4 5137\n");
}

NI void uses_apr(void)
{
	apr_palloc(NULL, 33);
	apr_pstrdup(NULL, "twelve bytes");
	gate__say("expect uses_apr 1 33\nexpect apr_pstrdup 1 13\n");
}

int main(void)
{
	gate__start();
	uses_postgres();
	uses_nginx();
	uses_apr();
	gate__say("expect total 10 5543\n");
	gate__end();
	return 0;
}
