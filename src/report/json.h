/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the JSON report share: the object (json.c), its keys and values (json_put.c)
 * and the members of mode live (json_live.c). */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stdio.h>

#include "base/map.h"
#include "base/str.h"
#include "profile/profile.h"

struct json {
	FILE *out;
	const struct allocsnoop_profile *p;
	bool live;	    /* frees were followed: there are members to tell of it */
	struct str buf;	    /* the row being made */
	struct str clean;   /* a name as valid UTF-8 */
	struct arena arena; /* rendered frames */
	struct map frames;  /* frame -> its text */
};

/* `"key":`, with a comma before it unless it is the object's first. Keys are ours: plain ASCII. */
void json__key(struct json *j, const char *key);
void json__string(struct json *j, const char *text);

/* A key and its value. */
void json__str(struct json *j, const char *key, const char *text);
void json__u64(struct json *j, const char *key, u64 val);
void json__s64(struct json *j, const char *key, s64 val);
void json__bool(struct json *j, const char *key, bool val);
void json__real(struct json *j, const char *key, double val);	/* null for infinity and NaN */
void json__number(struct json *j, const char *key, double val); /* whole ones without ".0" */

/* Members of mode live, for the object that is open. */
void json_live__totals(struct json *j);
void json_live__process(struct json *j, const struct allocsnoop_process *proc);
void json_live__stack(struct json *j, const struct allocsnoop_sample *s);

/* Members of a difference, likewise. */
void json_diff__head(struct json *j);
void json_diff__totals(struct json *j);
void json_diff__stack(struct json *j, const struct allocsnoop_sample *s);

#endif
