/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `top` shows: which screen, which row is chosen, how rows are sorted and filtered, what the
 * user is typing. Drawing is a function of this and the model, and keys change nothing else:
 * neither needs a terminal. What they ask for (save, quit) top.c does.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "cli/options.h"
#include "cli/top_canvas.h"
#include "cli/top_model.h"
#include "cli/top_notes.h"

#define TOP_INPUT_MAX 200 /* bytes of what is typed */
#define TOP_LEVELS    6	  /* processes, stacks, stack, notes, help; and one to spare */

/* Keys that are no character. */
enum {
	TOP_KEY_UP = 0x110000, /* above every code point */
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
};
#define TOP_KEY_ENTER	  '\r'
#define TOP_KEY_ESCAPE	  27
#define TOP_KEY_BACKSPACE 127
#define TOP_CTRL(letter)  ((letter) - 'a' + 1)

enum top_kind {
	TOP_PROCESSES,
	TOP_STACKS, /* of a process */
	TOP_NAMES,  /* stacks of all processes */
	/* Those before have rows, the others are pages of text. */
	TOP_STACK,
	TOP_NOTES,
	TOP_HELP,
};

/* One of the screens that lie on each other. */
struct top_level {
	enum top_kind kind;
	u64 about;     /* key of the process or stack that it shows */
	bool of_names; /* TOP_STACK: of a row of model.names */
	char name[64]; /* of the process: its row may go */
	u64 chosen;    /* key of a row; 0: the first, whichever it is */
	size_t at;     /* where it was when it was drawn */
	size_t offset; /* the first row or line that is shown */
	char filter[TOP_INPUT_MAX];
	u32 filter_at; /* each filter that is typed has a number of its own */
};

struct top_view;

/* Where a column is, and what it needs. */
enum {
	TOP_OF_PROCESSES = 1 << TOP_PROCESSES,
	TOP_OF_STACKS = 1 << TOP_STACKS,
	TOP_OF_NAMES = 1 << TOP_NAMES,
	TOP_OF_ANY = TOP_OF_PROCESSES | TOP_OF_STACKS | TOP_OF_NAMES,
	TOP_IF_LIVE = 8,
	TOP_IF_ESTIMATE = 16,
	TOP_IF_CONTAINERS = 32,
};

struct top_column {
	const char *head; /* NULL ends the table */
	u32 key;	  /* sorts by it; 0: one can't */
	const char *help; /* of the key */
	int width;	  /* at least */
	int most;	  /* where there is room; 0: `width` */
	u8 rank;	  /* 0: always there; the higher, the sooner it goes where it's narrow */
	u8 where;	  /* TOP_OF_*, one of them, and TOP_IF_*, all of them */
	bool left;
	bool totals; /* processes that ended long ago keep their rank by it */
	enum role role;
	void (*cell)(const struct top_view *v, const struct top_row *r, int width, struct str *s);
	u64 (*value)(const struct top_row *r); /* the greatest comes first; NULL: by name */
	enum allocsnoop_value saves;	       /* for formats that hold one value */
};
extern const struct top_column top_columns[];

/* A row of the list. The value stands beside it: sorting a hundred thousand rows must not visit
 * them. */
struct top_item {
	u64 value; /* the greater comes first; 0: by name */
	const struct top_row *row;
};

/* Where it is the same as before, so is the list. */
struct top_made {
	u64 about;
	const struct top_column *sort;
	u32 update, filter_at;
	enum top_kind kind;
	bool backwards, ended;
};

enum top_input { TOP_INPUT_NONE, TOP_INPUT_FILTER, TOP_INPUT_SAVE, TOP_INPUT_REPLACE };

struct top_view {
	struct top_model *model;
	struct top_notes *notes;
	int rows, cols;
	bool utf8;
	bool live;	 /* --live */
	u64 interval_ns; /* between updates, as it is */
	bool paused;
	bool ended; /* all targets have */

	struct top_level levels[TOP_LEVELS];
	int depth; /* the level that is shown */
	const struct top_column *sort;
	bool backwards;
	u32 filter_cnt; /* filters typed so far */

	/* As it was drawn: what keys mean. */
	VEC(struct top_item) list; /* of a table */
	struct top_made made;	   /* what the list was made of */
	u64 list_sum;		   /* of all its rows' amounts, filtered or not */
	size_t unlisted;	   /* ended processes that are not in it */
	size_t line_cnt;	   /* of a page */
	size_t room;		   /* rows or lines that can be seen */

	enum top_input input;
	char typed[TOP_INPUT_MAX];
	char message[300];
	bool message_warns;

	/* For top.c. */
	bool quit;
	bool redraw;  /* the whole screen: somebody wrote on it */
	bool save;    /* to what is typed */
	bool replace; /* ... which exists, and may go */
};

void top_view__init(struct top_view *v, struct top_model *m, const struct cli_opts *o);
void top_view__fini(struct top_view *v);

/* Draws it all; 0 or -ENOMEM. */
int top_view__draw(struct top_view *v, struct canvas *c);

/* A key was pressed: a code point, or TOP_KEY_*. */
void top_view__press(struct top_view *v, u32 key);

/* A line at the bottom, until the next key. */
void top_view__say(struct top_view *v, bool warns, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- between the files of the view ---- */

struct top_level *top_view__level(struct top_view *v);

/* top_list.c: fills v->list: filtered, sorted, with the chosen row's place. 0 or -ENOMEM. */
int top_list__fill(struct top_view *v);
const struct top_row *top_list__chosen(struct top_view *v); /* NULL: there is none */
void top_list__choose(struct top_view *v, size_t at);

/* top_columns.c */
bool top_column__is_there(const struct top_view *v, const struct top_column *col);
const struct top_column *top_column__next(const struct top_view *v, int step); /* to sort by */
const struct top_column *top_column__by_key(const struct top_view *v, u32 key);
const struct top_column *top_column__of_value(enum allocsnoop_value value);
/* The frame that called the allocator; NULL unknown. */
const struct allocsnoop_frame *top_row__caller(const struct top_row *r);
/* What shares are of: what rows are sorted by, where that adds up, else bytes. */
u64 top_row__amount(const struct top_view *v, const struct top_row *r);

/* top_look.c: "12.3M" of 1024, "12.3M" of 1000 (up to 7 digits in full), "±12%", and pictures. */
void top_look__bytes(struct str *s, double bytes);
void top_look__count(struct str *s, double count);
void top_look__interval(struct str *s, bool utf8, double se, double value, u64 hits,
			const char *few);
/* " ±12%" of what is live; nothing where that is exact. */
void top_look__live_interval(struct str *s, bool utf8, const struct top_numbers *n);
void top_look__seconds(struct str *s, u64 ns);
void top_look__bar(struct str *s, bool utf8, double part, int width);
void top_look__trend(struct str *s, const struct top_view *v, const struct top_row *r, int width);
/* "  libc.so.6", unless the function is called by a place in it: "libc.so.6+0x2724a". */
void top_look__module(struct str *s, const struct allocsnoop_frame *f);
/* "nginx (pid 12, ended)" */
void top_look__process(struct str *s, const struct top_row *r);

/* top_header.c, top_table.c, top_page.c: these lines of the canvas */
int top_header__draw(const struct top_view *v, struct canvas *c, int most);
void top_table__draw(struct top_view *v, struct canvas *c, int rows);
void top_page__draw(struct top_view *v, struct canvas *c, int rows);

/* top_keys.c */
void top_keys__press(struct top_view *v, u32 key);
const char *top_keys__help(size_t i, const char **names);	/* NULL past the last */
const char *top_keys__hint(const struct top_view *v, size_t i); /* "" none; NULL past the last */

/* top_input.c: a key while something is typed */
void top_input__begin(struct top_view *v, enum top_input input, const char *text);
void top_input__press(struct top_view *v, u32 key);

/* top_save.c: "allocsnoop-20261130-101500.pb.gz", or another format that there is. */
void top_save__propose(char name[TOP_INPUT_MAX]);

#endif
