/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/top_save.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/output.h"
#include "cli/top_view.h"

/* Formats in which a profile can be read again come first. */
static const char *const best[] = { "pprof", "json", "text" };

static const struct format_row *format__named(const char *name)
{
	for (const struct format_row *f = format_rows; f->name; f++) {
		if (!f->later && !strcmp(f->name, name))
			return f;
	}
	return NULL;
}

void top_save__propose(char name[TOP_INPUT_MAX])
{
	const struct format_row *f = NULL;
	time_t now = time(NULL);
	char date[32] = "";
	struct tm tm;

	for (size_t i = 0; i < ARRAY_SIZE(best) && !f; i++)
		f = format__named(best[i]);
	if (localtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	snprintf(name, TOP_INPUT_MAX, "allocsnoop-%s%s", date, f ? f->extension : ".txt");
}

static int save__check(const struct format_row *f, const char *path, bool replace)
{
	if (!strcmp(path, "-"))
		return err__fail(-EINVAL, "'-': the screen is in use");
	if (f->later)
		return err__fail(-EINVAL, "format %s: not yet in this version", f->name);
	if (!replace && !access(path, F_OK))
		return -EEXIST;
	return 0;
}

int top_save__write(const struct cli_opts *o, const struct allocsnoop_profile *profile,
		    const char *path, enum allocsnoop_value value, bool replace,
		    const char **format)
{
	const struct format_row *f = format__of_output(path);
	struct cli_opts as = *o;
	struct output out;
	int err;

	as.format = f ? f : format_rows;
	as.output = path;
	as.value = (int)value;
	as.by = ALLOCSNOOP_BY_STACK;
	as.top = 0;
	*format = as.format->name;
	err = save__check(as.format, path, replace);
	if (err)
		return err;
	err = output__open(&out, &as);
	if (!err)
		err = output__write(&out, profile, false);
	output__close(&out);
	return err;
}
