# SPDX-License-Identifier: BSD-2-Clause
# Sourced after lib.sh by tests of `allocsnoop top`: a real terminal (tmux), keys, and what it shows. Nothing
# sleeps: what should be on the screen is waited for.

need tmux

# A server of our own, which ends with us.
export TMUX_TMPDIR=$TMP
unset TMUX
term() {
	tmux -L top -f /dev/null "$@"
}
end() {
	local status=$?
	trap - ERR
	set +e
	term kill-server 2>/dev/null
	(exit "$status")
	cleanup
}
trap end EXIT

term start-server \; set-option -g exit-empty off \; set-option -g status off

pane() {
	term capture-pane -p -t top
}

keys() {
	term send-keys -t top "$@"
}

# sees WORDS [SECONDS]: waits until an extended regular expression is somewhere on the screen.
sees() {
	until_true "${2:-15}" pane_has "$1" || {
		pane | sed 's/^/  screen: /' >&2
		fail "the screen has no '$1'"
	}
}

pane_has() {
	pane | grep -qE -- "$1"
}

pane_lacks() {
	! pane_has "$1"
}

has_colours() {
	term capture-pane -p -e -t top | grep -qP '\x1b\[[0-9;]*(3[0-7]|9[0-7])m'
}

top_pid() {
	pgrep -f "^$SNOOP top .*-p $TARGET"
}

# begin TERM COLUMNSxROWS ENVIRONMENT... -- OPTIONS...: a shell that starts it, and says how it ended. The
# shell's settings of the terminal are in stty.before, and are those that must be found again.
begin() {
	local cols=${2%x*} rows=${2#*x} env=()
	type=$1
	shift 2
	while [ "$1" != -- ]; do
		env+=("$1")
		shift
	done
	shift
	term kill-session -t top 2>/dev/null || :
	rm -f "$TMP"/status "$TMP"/stty.*
	cat >"$TMP/session.sh" <<-END
		set -m # with jobs, as a shell for people
		cd '$TMP'
		stty -g >stty.before
		printf 'before\n'
		env TERM=$type ${env[*]@Q} $SNOOP top ${*@Q} 2>messages
		status=\$?
		while [ "\$status" = 148 ]; do
			printf 'stopped here\n'
			read -r line
			fg >/dev/null
			status=\$?
		done
		stty -g >stty.after
		echo "\$status" >status.new
		mv status.new status
		printf 'ended here\n'
		read -r line
	END
	term new-session -d -s top -x "$cols" -y "$rows" "bash --norc '$TMP/session.sh'"
}

# ended STATUS [MESSAGES]: it ended so, left the terminal as it was, and said nothing else.
ended() {
	until_true 20 test -e "$TMP/status" || {
		pane | sed 's/^/  screen: /' >&2
		fail "does not end"
	}
	[ "$(cat "$TMP/status")" = "$1" ] || show "$TMP/messages"
	is_same "status" "$(cat "$TMP/status")" "$1"
	cmp -s "$TMP/stty.before" "$TMP/stty.after" || fail "the terminal is not as it was"
	sees '^ended here$'
	term capture-pane -p -S - -t top | grep -q before || fail "what was on the screen before is gone"
	# A vt100 has one screen only.
	[ "$type" = vt100 ] || pane_lacks 'allocations/s' || fail "the screen is not given back: $(pane)"
	if [ -n "${2:-}" ]; then
		grep -qE -- "$2" "$TMP/messages" || { show "$TMP/messages"; fail "no message with '$2'"; }
	else
		[ ! -s "$TMP/messages" ] || { show "$TMP/messages"; fail "says something at the end"; }
	fi
}
