#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `allocsnoop top` in a real terminal (tmux): what it shows is what the program says of itself, keys,
# sizes, colours, saving, and the terminal as it was when it ends, however it ends.
. "$(dirname "$0")/../harness/lib.sh"
. "$TREE/tests/harness/term.sh"
need_root
need jq

# ---- what it shows is what the program did ----

# Two functions, one four times as often; the totals of all are known at the end.
mkfifo "$TMP/hold"
HOLD_FIFO=$TMP/hold gated "$WORK/steady" 1
# The size is the terminal's, whatever a shell has exported.
begin tmux-256color 80x24 COLUMNS=132 LINES=50 -- -i 200ms -p "$TARGET"
sees 'exact .*total 0 bytes in 0'
sees 'nothing was allocated'
release
until_true 20 grep -q '^done' "$TARGET_OUT" || fail "the workload does not end"
read -r _ _ small_count small_bytes <<<"$(grep steady_small "$TARGET_OUT")"
read -r _ _ large_count large_bytes <<<"$(grep steady_large "$TARGET_OUT")"
sees "exact .* total $((small_bytes + large_bytes)) bytes in $((small_count + large_count))"
sees 'no losses'

keys Enter
sees "^2 stacks of steady \(pid $TARGET\): $((small_bytes + large_bytes)) bytes in $((small_count + large_count))"
keys t
sees '^>.* steady_large +steady'
keys c
sees '^>.* steady_small +steady'
keys Enter
sees "^allocated +$small_bytes bytes in $small_count allocations"
sees '^ +1 +steady_small +steady'
sees '^ +2 +main'
keys q
sees '^2 stacks'

# A filter applies at once, and goes with esc.
keys f large
sees 'filter: large'
sees '^1 stack of'
keys Enter
sees 'with large'
keys Escape
sees '^2 stacks'

# Saved: what is shown, in the format of the name, and not over what is there.
keys s
sees 'save to: allocsnoop-2[0-9-]*\.'
keys C-u saved.json Enter
sees 'saved as json: saved.json'
sound "$TMP/saved.json"
site_is "$TMP/saved.json" steady_small "$small_count" "$small_bytes"
site_is "$TMP/saved.json" steady_large "$large_count" "$large_bytes"
echo mine >"$TMP/saved.folded"
keys s C-u saved.folded Enter
sees 'replace it'
keys n
is_same 'a file that may not be replaced' "$(cat "$TMP/saved.folded")" mine
keys s C-u saved.folded Enter
sees 'replace it'
keys y
sees 'saved as folded'
# The one value of this format is what rows are sorted by.
is_same "folded" "$(awk '{ n += $NF } END { print n }' "$TMP/saved.folded")" $((small_count + large_count))
keys s C-u /nowhere/x.json Enter
sees "cannot write '/nowhere/x.json': No such file"

# All stacks, help, warnings.
keys a
sees '^2 stacks of all processes'
keys h
sees 'enter +open a process'
keys Escape w
sees '^no losses'
keys Escape Escape Escape
sees '^1 process'

# Sizes: less is said, nothing breaks; and it grows again.
term resize-window -t top -x 40 -y 10
sees "^> +$TARGET .*steady\$"
sees "^top  process $TARGET"
term resize-window -t top -x 3 -y 2
sees '^>'
term resize-window -t top -x 200 -y 50
sees 'RATE/s.*ALLOCS/s.*SHARE.*TREND.*PROCESS'

# The target ends; the screen stays.
release "$TMP/hold"
finish "$TARGET"
sees 'ENDED'
keys q
ended 0

# ---- rates ----

# One function allocates four times as often as the other, for a minute; no colours are wanted.
gated "$WORK/steady" 60
begin tmux-256color 80x24 NO_COLOR=1 -- -i 500ms -p "$TARGET" --value alloc-count
release
sees "^> +$TARGET"
keys Enter
sees '^> .* steady_small'
four_to_one() {
	pane | tr '>' ' ' | awk '/steady_small/ { small = $2 } /steady_large/ { large = $2 }
		END { exit !(large > 100 && small > 3.5 * large && small < 4.5 * large) }'
}
until_true 15 four_to_one || fail "the rates are not four to one: $(pane)"
if has_colours; then fail "colours in spite of NO_COLOR"; fi
keys p
sees 'PAUSED'
keys p
until_true 10 pane_lacks PAUSED || fail "does not go on"

# Interrupted: as quiet an end.
keys C-c
ended 0

# An old terminal.
begin vt100 80x24 -- -i 200ms -p "$TARGET"
sees "^> +$TARGET"
keys Down Enter
sees '^2 stacks'
if has_colours; then fail "colours on a vt100"; fi
keys q q
ended 0

# ---- signals ----

for signal in TERM HUP; do
	begin tmux-256color 80x24 -- -i 200ms -p "$TARGET"
	sees "^> +$TARGET"
	until_true 10 has_colours || fail "no colours"
	kill -"$signal" "$(top_pid)"
	ended 0
done

# Stopped by Ctrl-Z, and brought back.
begin tmux-256color 80x24 -- -i 200ms -p "$TARGET"
sees "^> +$TARGET"
pid=$(top_pid)
keys C-z
sees '^stopped here$'
is_same 'state' "$(process_state "$pid")" T
if pane_has 'allocations/s'; then fail "the terminal is not given back while it is stopped"; fi
keys Enter
sees 'allocations/s'

# A second signal quits at once, here out of an open that nobody answers, and gives the terminal back.
mkfifo "$TMP/stuck"
keys s C-u stuck Enter
sees 'replace it'
keys y
in_open() { # __NR_openat
	[[ $(cat "/proc/$pid/syscall") == '257 '* ]]
}
until_true 20 in_open || fail "does not come to the open"
kill -TERM "$pid"
sleep 0.2 # two signals within 100 ms are one wish
kill -TERM "$pid"
ended 143

# And where the terminal takes nothing, so that the first one isn't looked at.
begin tmux-256color 80x24 -- -i 100ms -p "$TARGET"
sees "^> +$TARGET"
pid=$(top_pid)
keys C-s
in_write() { # __NR_write
	[[ $(cat "/proc/$pid/syscall") == '1 0x1 '* ]]
}
until_true 20 in_write || fail "a terminal that was stopped takes all"
kill -TERM "$pid"
sleep 0.2 # two signals within 100 ms are one wish
kill -TERM "$pid"
ended 143

# A terminal that goes takes it with it, even where nobody is told.
begin tmux-256color 80x24 env --ignore-signal=HUP -- -i 200ms -p "$TARGET"
sees "^> +$TARGET"
pid=$(top_pid)
term kill-session -t top
until_true 20 gone_or_zombie "$pid" || fail "it outlives its terminal"
kill "$TARGET"

# ---- a COMMAND; a locale without UTF-8 ----

begin xterm 80x24 LC_ALL=C -- --live -i 200ms -- bash -c "printf 'ove%s\n' 'r the screen'; exec '$WORK/steady' 0.3"
sees 'ENDED'
sees ' live [0-9]+ bytes in [0-9]+'
if pane_has 'over the screen'; then fail "COMMAND writes on the screen"; fi
if pane | LC_ALL=C grep -q '[^ -~]'; then fail "more than ASCII: $(pane)"; fi
keys Enter
sees 'steady_large'
keys Q
ended 0
begin xterm 80x24 -- -i 200ms -- bash -c 'exit 7'
sees 'ENDED'
keys q
ended 7

# ---- refused ----

refused 2 'standard input is not a terminal' "$SNOOP" top
grep -q '^hint: .*allocsnoop -i' "$TMP/refused.err" || fail "no hint at what needs no terminal"
begin nonsense 80x24 -- -p 1
ended 2 "terminal type 'nonsense': unknown"
begin dumb 80x24 -- -p 1
ended 2 "terminal type 'dumb': can't move"
begin xterm 80x24 -- -p 2147483647
ended 1 'no such process'
begin xterm 80x24 -- -- /nowhere/program
ended 1 "/nowhere/program"
cp "$SNOOP" "$TMP/allocsnoop"
chmod 777 "$TMP"
if setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/allocsnoop" -V >/dev/null 2>&1; then
	SNOOP="setpriv --reuid=65534 --regid=65534 --clear-groups $TMP/allocsnoop"
	begin xterm 80x24 -- -p $$
	ended 1 'root'
	grep -q '^hint: .*sudo' "$TMP/messages" || fail "no hint at sudo"
fi
