/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of report formats: to add one is to add a row. */
#include <errno.h>
#include <locale.h>
#include <string.h>

#include "base/err.h"
#include "report/writer.h"

/* clang-format off */
const struct writer *const writers[] = {
	&writer_text,
	&writer_folded,
	&writer_json,
	&writer_speedscope,
	&writer_svg,
	&writer_csv,
	&writer_jeprof,
	NULL,
};
/* clang-format on */

const struct writer *writer__find(const char *name)
{
	for (size_t i = 0; writers[i]; i++) {
		if (!strcmp(writers[i]->name, name))
			return writers[i];
	}
	return NULL;
}

int writer__done(FILE *out)
{
	int err;

	if (!ferror(out)) {
		errno = 0;
		if (!fflush(out))
			return 0;
	}
	/* An error of an earlier write may have lost its number. */
	err = errno ? -errno : -EIO;
	return err__fail(err, "cannot write the report: %s", strerror(-err));
}

int writer__in_c_locale(writer_fn write, const struct allocsnoop_profile *p,
			const struct allocsnoop_report_opts *opts, FILE *out)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), old;
	int err;

	if (!c)
		return err__fail(-errno, "cannot write the report: %s", strerror(errno));
	old = uselocale(c);
	err = write(p, opts, out);
	uselocale(old);
	freelocale(c);
	return err;
}
