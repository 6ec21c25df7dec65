/* SPDX-License-Identifier: BSD-2-Clause */
/* What the doctor writes, and when it lets the main job run. */
#include "doctor/doctor.h"

#include <allocsnoop.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "check.h"

static void patient__add(struct doctor *d, const char *name, enum doctor_need need,
			 enum doctor_state state)
{
	struct doctor_row row = {
		.name = name,
		.need = need,
		.state = state,
		.option = need == DOCTOR_OPTION ? "--live" : NULL,
	};

	doctor__add(d, &row, "press \"here\"", "is %d of %s", 7, name);
}

static void patient__init(struct doctor *d)
{
	*d = (struct doctor){ .root = true, .features = { .hit_ns = 941 } };
	patient__add(d, "first", DOCTOR_MAIN, DOCTOR_OK);
	patient__add(d, "a nicety", DOCTOR_NICE, DOCTOR_SLOWER);
	patient__add(d, "part", DOCTOR_MAIN, DOCTOR_LIMITED);
	patient__add(d, "an option", DOCTOR_OPTION, DOCTOR_MISSING);
	patient__add(d, "riddle", DOCTOR_NICE, DOCTOR_UNKNOWN);
}

static char *written(const struct doctor *d, int (*write)(const struct doctor *d, FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK_EQ(write(d, out), 0);
	fclose(out);
	return text;
}

static void text__test(void)
{
	struct doctor d;
	char *text;

	patient__init(&d);
	text = written(&d, doctor__text);
	CHECK_STR(text, "needed to trace at all:\n"
			"  ok       first      is 7 of first\n"
			"  limited  part       is 7 of part\n"
			"                      remedy: press \"here\"\n"
			"\n"
			"needed by an option:\n"
			"  missing  an option  --live: is 7 of an option\n"
			"                      remedy: press \"here\"\n"
			"\n"
			"cheaper or better with it:\n"
			"  slower   a nicety   is 7 of a nicety\n"
			"                      remedy: press \"here\"\n"
			"  unknown  riddle     is 7 of riddle\n"
			"                      remedy: press \"here\"\n"
			"\n"
			"tracing works here\n");
	free(text);
	patient__add(&d, "last", DOCTOR_MAIN, DOCTOR_MISSING);
	text = written(&d, doctor__text);
	CHECK(strstr(text, "\ntracing can't work here: see `missing`\n"));
	free(text);
	vec__free(&d.rows);
}

static void json__test(void)
{
	struct doctor d;
	char *text;

	patient__init(&d);
	d.rows.cnt = 2;
	text = written(&d, doctor__json);
	CHECK_STR(text,
		  "{\"allocsnoop_doctor\": 1, \"version\": \"" ALLOCSNOOP_VERSION
		  "\", \"able\": true, \"hit_ns\": 941,\n\"features\": [\n"
		  "{\"name\": \"first\", \"state\": \"ok\", \"need\": \"main\", "
		  "\"text\": \"is 7 of first\"},\n"
		  "{\"name\": \"a nicety\", \"state\": \"slower\", \"need\": \"nice\", "
		  "\"text\": \"is 7 of a nicety\", \"remedy\": \"press \\\"here\\\"\"}\n]}\n");
	free(text);
	vec__free(&d.rows);
}

/* Only what the main job needs can stop it. */
static void able__test(void)
{
	for (int need = DOCTOR_MAIN; need <= DOCTOR_NICE; need++) {
		for (int state = DOCTOR_OK; state <= DOCTOR_UNKNOWN; state++) {
			struct doctor d = {};

			patient__add(&d, "row", need, state);
			CHECK_EQ(doctor__able(&d),
				 need != DOCTOR_MAIN ||
					 (state != DOCTOR_MISSING && state != DOCTOR_UNKNOWN));
			vec__free(&d.rows);
		}
	}
}

static void refusals__test(void)
{
	struct allocsnoop_doctor_opts opts = { .sz = sizeof(opts), .format = "folded" };
	struct {
		struct allocsnoop_doctor_opts opts;
		char newer;
	} wide = { .opts = { .sz = sizeof(wide) } };

	CHECK_EQ(allocsnoop__doctor(&opts, NULL), -EINVAL);
	CHECK(strstr(err__msg(), "folded"));
	CHECK_EQ(allocsnoop__doctor(&wide.opts, NULL), -EINVAL);
}

int main(void)
{
	text__test();
	json__test();
	able__test();
	refusals__test();
	return check__done();
}
