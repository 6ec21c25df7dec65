#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Blocks one by one, through the library: what comes and goes is what the profile sums, stack by stack and
# process by process, and what the traced programs' own books say.
. "$(dirname "$0")/../harness/lib.sh"
need_root
libs=$(sed -n 's/^Libs.private: //p' "$BUILD/allocsnoop.pc")
sanitize=()
[ "$(nm "$BUILD/liballocsnoop.a" 2>/dev/null | grep -c __asan_)" = 0 ] || sanitize=(-fsanitize=address,undefined)
# shellcheck disable=SC2086
gcc -Wall -Wextra -Werror "${sanitize[@]}" -I"$TREE/include" -pthread -o "$MADE/events" "$SOURCE/embed/events.c" \
	"$BUILD/liballocsnoop.a" $libs

watch() { # COMMAND...: its output and `events ...` are in $TMP/out, the latter's numbers in EVENTS
	"$MADE/events" "$@" </dev/null >"$TMP/out" 2>"$TMP/err" || {
		show "$TMP/err"
		fail "events of $1: status $?"
	}
	read -ra EVENTS < <(sed -n 's/^events //p' "$TMP/out")
}

truth() { # WORD: "COUNT BYTES", the sum over the workload's functions
	awk -v word="$1" '$1 == word && $2 != "total" { n += $3; b += $4 } END { print n + 0, b + 0 }' "$TMP/out"
}

at_least() { # "COUNT BYTES" "COUNT BYTES": libc and the loader may have a few more
	[ "${1% *}" -ge "${2% *}" ] && [ "${1% *}" -le $((${2% *} + 100)) ] && [ "${1#* }" -ge "${2#* }" ]
}

watch "$WORK/churn" 4 1000 5000 0 0
at_least "${EVENTS[0]} ${EVENTS[1]}" "$(truth expect)" || fail "allocated: ${EVENTS[*]}, not $(truth expect)"
at_least "${EVENTS[2]} ${EVENTS[3]}" "$(truth freed)" || fail "freed: ${EVENTS[*]}, not $(truth freed)"
is_same "lost" "${EVENTS[4]}" 0
watch "$WORK/live_edges" "$WORK/blink"
at_least "${EVENTS[0]} ${EVENTS[1]}" "$(truth expect)" || fail "of children: ${EVENTS[*]}, not $(truth expect)"
watch "$WORK/live_full" 10000 3000
RATE=0.1 watch "$WORK/churn" 2 10 20000 0 0
[ "${EVENTS[0]}" -gt 1000 ] && [ "${EVENTS[0]}" -lt 9000 ] || fail "a tenth of 40000: ${EVENTS[*]}"

# A callback that stands still: what didn't fit is counted, and stacks that are new still come through.
SLOW=1 watch "$WORK/threads8"
[ "${EVENTS[4]}" -gt 0 ] || fail "800000 events in two seconds and none was lost"
