/* SPDX-License-Identifier: BSD-2-Clause */
/* What was found, for people and for programs. */
#include <allocsnoop.h>
#include <errno.h>
#include <string.h>

#include "doctor/doctor.h"
#include "report/json.h"

static const char *const state_names[] = {
	[DOCTOR_OK] = "ok",	      [DOCTOR_SLOWER] = "slower",   [DOCTOR_LIMITED] = "limited",
	[DOCTOR_MISSING] = "missing", [DOCTOR_UNKNOWN] = "unknown",
};

static const char *const need_names[] = {
	[DOCTOR_MAIN] = "main",
	[DOCTOR_OPTION] = "option",
	[DOCTOR_NICE] = "nice",
};

static const char *const headings[] = {
	[DOCTOR_MAIN] = "needed to trace at all",
	[DOCTOR_OPTION] = "needed by an option",
	[DOCTOR_NICE] = "cheaper or better with it",
};

static int name__width(const struct doctor *d)
{
	size_t width = 0;

	for (size_t i = 0; i < d->rows.cnt; i++)
		width = MAX(width, strlen(d->rows.v[i].name));
	return (int)width;
}

static void row__text(const struct doctor_row *row, int width, FILE *out)
{
	fprintf(out, "  %-7s  %-*s  %s%s%s\n", state_names[row->state], width, row->name,
		row->option ? row->option : "", row->option ? ": " : "", row->text);
	if (row->remedy[0])
		fprintf(out, "  %-7s  %-*s  remedy: %s\n", "", width, "", row->remedy);
}

int doctor__text(const struct doctor *d, FILE *out)
{
	int width = name__width(d);

	for (size_t need = 0; need < ARRAY_SIZE(headings); need++) {
		fprintf(out, "%s%s:\n", need ? "\n" : "", headings[need]);
		for (size_t i = 0; i < d->rows.cnt; i++) {
			if (d->rows.v[i].need == need)
				row__text(&d->rows.v[i], width, out);
		}
	}
	fprintf(out, "\n%s\n",
		doctor__able(d) ? "tracing works here" : "tracing can't work here: see `missing`");
	return ferror(out) ? -EIO : 0;
}

static void row__json(struct json *j, const struct doctor_row *row)
{
	str__add(&j->buf, "{");
	json__str(j, "name", row->name);
	json__str(j, "state", state_names[row->state]);
	json__str(j, "need", need_names[row->need]);
	if (row->option)
		json__str(j, "option", row->option);
	json__str(j, "text", row->text);
	if (row->remedy[0])
		json__str(j, "remedy", row->remedy);
	str__add(&j->buf, "}");
}

int doctor__json(const struct doctor *d, FILE *out)
{
	struct json j = { .out = out };
	int err = -ENOMEM;

	str__add(&j.buf, "{");
	json__u64(&j, "allocsnoop_doctor", 1);
	json__str(&j, "version", ALLOCSNOOP_VERSION);
	json__bool(&j, "able", doctor__able(d));
	json__u64(&j, "hit_ns", d->features.hit_ns);
	str__add(&j.buf, ",\n\"features\": [");
	for (size_t i = 0; i < d->rows.cnt; i++) {
		str__add(&j.buf, i ? ",\n" : "\n");
		row__json(&j, &d->rows.v[i]);
	}
	str__add(&j.buf, "\n]}\n");
	if (!j.buf.oom) {
		fwrite(j.buf.s, 1, j.buf.len, out);
		err = ferror(out) ? -EIO : 0;
	}
	str__free(&j.buf);
	str__free(&j.clean);
	return err;
}
