/* SPDX-License-Identifier: BSD-2-Clause */
/* From the trials to the verdict. */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"

void doctor__add(struct doctor *d, const struct doctor_row *row, const char *remedy,
		 const char *fmt, ...)
{
	struct doctor_row add = *row;
	va_list args;

	va_start(args, fmt);
	vsnprintf(add.text, sizeof(add.text), fmt, args);
	va_end(args);
	if (row->state != DOCTOR_OK)
		snprintf(add.remedy, sizeof(add.remedy), "%s", remedy);
	if (vec__push(&d->rows, add))
		d->oom = true;
}

void doctor__add_unknown(struct doctor *d, const struct doctor_row *row)
{
	struct doctor_row unknown = *row;

	unknown.state = DOCTOR_UNKNOWN;
	doctor__add(d, &unknown, "", "%s",
		    d->root ? "can't be told without what is missing" : "only root can tell");
}

static bool row__stops(const struct doctor_row *row)
{
	return row->need == DOCTOR_MAIN &&
	       (row->state == DOCTOR_MISSING || row->state == DOCTOR_UNKNOWN);
}

bool doctor__able(const struct doctor *d)
{
	for (size_t i = 0; i < d->rows.cnt; i++) {
		if (row__stops(&d->rows.v[i]))
			return false;
	}
	return true;
}

/* What is unknown is so because of what is missing. */
static int doctor__verdict(const struct doctor *d)
{
	struct str names = {};
	int err;

	if (doctor__able(d))
		return 0;
	for (size_t i = 0; i < d->rows.cnt; i++) {
		const struct doctor_row *row = &d->rows.v[i];

		if (row__stops(row) && row->state == DOCTOR_MISSING)
			str__addf(&names, "%s%s", names.len ? ", " : "", row->name);
	}
	err = err__fail(d->root ? -ENOTSUP : -EPERM, "tracing can't work here: missing are %s",
			names.s ? names.s : "things that can't be told");
	err__hint("`allocsnoop doctor` says what helps");
	str__free(&names);
	return err;
}

static int doctor__write(const struct doctor *d, bool json, FILE *out)
{
	int err;

	errno = 0;
	err = json ? doctor__json(d, out) : doctor__text(d, out);
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	return err ? err__fail(err, "cannot write what was found: %s", strerror(-err)) : 0;
}

int doctor__examine(const char *format, FILE *out)
{
	bool json = format && !strcmp(format, "json");
	struct doctor d = { .root = geteuid() == 0 };
	int err;

	if (format && !json && strcmp(format, "text"))
		return err__fail(-EINVAL, "format '%s': text or json", format);
	if (d.root) {
		features__try(&d.features);
		doctor_trial__run(&d.plain, false);
		doctor_trial__run(&d.live, true);
	}
	doctor__system(&d);
	doctor__kernel(&d);
	err = d.oom ? err__fail(-ENOMEM, "out of memory") : doctor__write(&d, json, out);
	if (!err)
		err = doctor__verdict(&d);
	vec__free(&d.rows);
	return err;
}
