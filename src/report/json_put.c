/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON's keys and values. jansson does what is hard to get right: the escapes of strings, and
 * numbers with a point in every locale. Its integers are signed, so the 64-bit unsigned ones are
 * printed here.
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "report/json.h"

/*
 * jansson escapes what JSON asks for. DEL and the C1 controls (U+0080..9f, two bytes c2 80..9f) may
 * stand in JSON, but a terminal obeys them.
 */
static int add_chunk(const char *text, size_t size, void *arg)
{
	struct str *s = arg;
	size_t from = 0;

	for (size_t i = 0; i < size; i++) {
		u8 c = (u8)text[i], next = i + 1 < size ? (u8)text[i + 1] : 0;
		bool c1 = c == 0xc2 && next >= 0x80 && next <= 0x9f;

		if (c != 0x7f && !c1)
			continue;
		str__addn(s, text + from, i - from);
		str__addf(s, "\\u%04x", c1 ? next : c);
		i += c1;
		from = i + 1;
	}
	str__addn(s, text + from, size - from);
	return s->oom ? -1 : 0;
}

/* Takes over the value. */
static void json__value(struct json *j, json_t *value)
{
	const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15);

	if (!value || json_dump_callback(value, add_chunk, &j->buf, flags))
		j->buf.oom = true;
	json_decref(value);
}

/* Most names need neither cleaning nor escapes. */
static size_t plain_len(const char *text)
{
	size_t len = 0;

	while (text[len] >= 0x20 && text[len] < 0x7f && text[len] != '"' && text[len] != '\\')
		len++;
	return len;
}

void json__string(struct json *j, const char *text)
{
	size_t plain = plain_len(text);

	if (!text[plain]) {
		str__add(&j->buf, "\"");
		str__addn(&j->buf, text, plain);
		str__add(&j->buf, "\"");
		return;
	}
	str__clear(&j->clean);
	str__add_utf8(&j->clean, text, strlen(text), false);
	if (j->clean.oom)
		j->buf.oom = true;
	else
		json__value(j, json_stringn_nocheck(j->clean.s, j->clean.len));
}

void json__key(struct json *j, const char *key)
{
	char before = j->buf.len ? j->buf.s[j->buf.len - 1] : '\0';

	str__addf(&j->buf, "%s\"%s\": ", before && before != '{' ? ", " : "", key);
}

void json__str(struct json *j, const char *key, const char *text)
{
	json__key(j, key);
	json__string(j, text);
}

void json__u64(struct json *j, const char *key, u64 val)
{
	json__key(j, key);
	str__addf(&j->buf, "%" PRIu64, val);
}

void json__s64(struct json *j, const char *key, s64 val)
{
	json__key(j, key);
	str__addf(&j->buf, "%" PRId64, val);
}

void json__bool(struct json *j, const char *key, bool val)
{
	json__key(j, key);
	str__add(&j->buf, val ? "true" : "false");
}

void json__real(struct json *j, const char *key, double val)
{
	json__key(j, key);
	json__value(j, isfinite(val) ? json_real(val) : json_null());
}

void json__number(struct json *j, const char *key, double val)
{
	if (val >= 0 && val < 0x1p53 && val == floor(val))
		json__u64(j, key, (u64)val);
	else
		json__real(j, key, val);
}
