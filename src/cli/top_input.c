/* SPDX-License-Identifier: BSD-2-Clause */
/* What the user types: a filter, which applies at once; the name of a file to save to. */
#include <string.h>

#include "cli/top_view.h"

/* Encodes it as UTF-8; 0: no character for a line of text. */
static size_t encode(u32 code, char out[5])
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	if (code < 0x80)
		return (size_t)snprintf(out, 5, "%c", (int)code);
	if (code < 0x800)
		return (size_t)snprintf(out, 5, "%c%c", (int)(0xc0 | code >> 6),
					(int)(0x80 | (code & 0x3f)));
	if (code < 0x10000)
		return (size_t)snprintf(out, 5, "%c%c%c", (int)(0xe0 | code >> 12),
					(int)(0x80 | (code >> 6 & 0x3f)),
					(int)(0x80 | (code & 0x3f)));
	return (size_t)snprintf(out, 5, "%c%c%c%c", (int)(0xf0 | code >> 18),
				(int)(0x80 | (code >> 12 & 0x3f)), (int)(0x80 | (code >> 6 & 0x3f)),
				(int)(0x80 | (code & 0x3f)));
}

/* True: the text is another one now. */
static bool typed__edit(char typed[TOP_INPUT_MAX], u32 key)
{
	size_t len = strlen(typed), add;
	char bytes[5];

	if (key == TOP_KEY_BACKSPACE || key == '\b') {
		while (len && ((u8)typed[--len] & 0xc0) == 0x80)
			;
		typed[len] = '\0';
		return true;
	}
	if (key == TOP_CTRL('u')) {
		typed[0] = '\0';
		return true;
	}
	add = encode(key, bytes);
	if (!add || len + add >= TOP_INPUT_MAX)
		return false;
	memcpy(typed + len, bytes, add + 1);
	return true;
}

static void filter__apply(struct top_view *v)
{
	struct top_level *l = top_view__level(v);

	memcpy(l->filter, v->typed, sizeof(l->filter));
	l->filter_at = ++v->filter_cnt;
}

void top_input__begin(struct top_view *v, enum top_input input, const char *text)
{
	v->input = input;
	snprintf(v->typed, sizeof(v->typed), "%s", text);
}

static void press_in_filter(struct top_view *v, u32 key)
{
	if (key == TOP_KEY_ENTER || key == '\n') {
		v->input = TOP_INPUT_NONE;
		return;
	}
	if (key == TOP_KEY_ESCAPE) {
		v->typed[0] = '\0';
		v->input = TOP_INPUT_NONE;
		filter__apply(v);
	} else if (typed__edit(v->typed, key)) {
		filter__apply(v);
	}
}

static void press_in_save(struct top_view *v, u32 key)
{
	if (key == TOP_KEY_ESCAPE) {
		v->input = TOP_INPUT_NONE;
	} else if (key == TOP_KEY_ENTER || key == '\n') {
		v->input = TOP_INPUT_NONE;
		v->save = *v->typed != '\0';
	} else {
		typed__edit(v->typed, key);
	}
}

static void press_in_replace(struct top_view *v, u32 key)
{
	v->input = TOP_INPUT_NONE;
	v->save = v->replace = key == 'y' || key == 'Y';
}

void top_input__press(struct top_view *v, u32 key)
{
	switch (v->input) {
	case TOP_INPUT_FILTER:
		press_in_filter(v, key);
		break;
	case TOP_INPUT_SAVE:
		press_in_save(v, key);
		break;
	default:
		press_in_replace(v, key);
		break;
	}
}
