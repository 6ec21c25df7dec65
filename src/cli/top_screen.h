/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal: the only file that knows ncurses. Keeps its promise to leave the terminal as it was
 * found, also when a second signal quits at once (see signals.h).
 */
#ifndef CLI_TOP_SCREEN_H
#define CLI_TOP_SCREEN_H

#include "cli/top_canvas.h"

/* Can standard input and output be used for it? 0 or -EINVAL, worded. Sets the locale of
 * characters.
 */
int screen__check(void);

/* Takes the terminal. `signals__init()` comes first: ncurses leaves handlers that are set alone.
 * 0 or -errno, worded. */
int screen__open(void);

/* Gives it back; once is enough, twice is fine. */
void screen__close(void);

void screen__size(int *rows, int *cols);
bool screen__is_utf8(void);

/* anew: nothing on the screen is what we wrote. */
void screen__show(const struct canvas *c, bool anew);

/* The next key: a code point or TOP_KEY_*. False: there is none now. The size may have changed. */
bool screen__key(u32 *key);

/* Until a key is pressed, or the time is over. */
void screen__wait(int ms);

/* Has the terminal gone? */
bool screen__is_gone(void);

/* Gives the terminal back for as long as the program is stopped. */
void screen__suspend(void);

#endif
