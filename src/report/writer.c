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
	&writer_pprof,
	&writer_dhat,
	&writer_heaptrack,
	&writer_massif,
	&writer_html,
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

int writer__check(const char *name, const struct writer **w)
{
	*w = writer__find(name);
	if (!*w)
		return err__fail(-EINVAL, "format '%s': unknown", name);
	return (*w)->ready ? (*w)->ready() : 0;
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

int writer__needs_live(const struct allocsnoop_profile *p, const char *format)
{
	if (p->info.diff) {
		err__fail(-ENOTSUP, "format %s: has no place for differences", format);
		err__hint("write each of the two profiles, or the difference as text or json");
		return -ENOTSUP;
	}
	if (p->info.mode && !strcmp(p->info.mode, "live"))
		return 0;
	err__fail(-ENOTSUP, "format %s: tells what became of blocks, and frees were not followed",
		  format);
	err__hint("record with --live");
	return -ENOTSUP;
}

const struct allocsnoop_process *writer__highest(const struct allocsnoop_profile *p)
{
	const struct allocsnoop_process *most = NULL;

	for (size_t i = 0; i < p->processes.cnt; i++) {
		const struct allocsnoop_process *proc = &p->processes.v[i];

		if (proc->peak_bytes && (!most || proc->peak_bytes > most->peak_bytes))
			most = proc;
	}
	return most;
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
