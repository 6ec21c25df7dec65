#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Rows by thread, as the library has them: each thread's own number, under the name it had last; threads that have
# ended, before the profile is taken or with the process, and some that live.
. "$(dirname "$0")/../harness/lib.sh"
need_root
libs=$(sed -n 's/^Libs.private: //p' "$BUILD/allocsnoop.pc")
sanitize=()
[ "$(nm "$BUILD/liballocsnoop.a" 2>/dev/null | grep -c __asan_)" = 0 ] || sanitize=(-fsanitize=address,undefined)
# shellcheck disable=SC2086
gcc -Wall -Wextra -Werror -I"$TREE/include" -pthread "${sanitize[@]}" -o "$MADE/threads" "$SOURCE/embed/threads.c" \
	"$BUILD/liballocsnoop.a" $libs

rows_are() { # OUT TRUTH LIVE
	is_same "losses" "$(grep '^loss' "$1" || :)" ""
	# One thread, one id.
	is_same "ids of threads" "$(sed -n 's/^row //p' "$1" | awk '{ print $2 }' | sort -u | wc -l)" 9
	is_same "sums by thread" "$(sed -n 's/^row //p' "$1" | awk -v live="$3" '
		{ n[$3] += $4; b[$3] += $5; l[$3] += $6 }
		END { for (t in n) print t, n[t], b[t], live ? l[t] : "" }' | sort)" \
		"$(sed -n 's/^expect //p' "$2" | awk -v live="$3" '{ print $0, live ? $2 : "" }' | sort)"
}

# COMMAND: all have ended. (Targets of one's own that have ended keep what was live.)
for live in '' 1; do
	env ${live:+LIVE=1} "$MADE/threads" "$WORK/named_threads" </dev/null >"$TMP/command" 2>"$TMP/err" || {
		show "$TMP/err"
		fail "threads: status $?"
	}
	rows_are "$TMP/command" "$TMP/command" "$live"
done

# A process that still runs.
HOLD_FIFO=$TMP/hold
mkfifo "$HOLD_FIFO" "$TMP/stop"
export HOLD_FIFO
gated "$WORK/named_threads"
PID=$TARGET STOP=$TMP/stop background "$MADE/threads" >"$TMP/running" 2>"$TMP/err"
tracer=$BG
until_true 30 grep -q '^tracing' "$TMP/running"
release
until_true 30 grep -q '^done' "$TARGET_OUT"
release "$TMP/stop"
finish "$tracer"
release "$HOLD_FIFO"
finish "$TARGET"
rows_are "$TMP/running" "$TARGET_OUT" ''
