#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Completions: every option that --help tells of, and what isn't there yet isn't offered. bash's functions are
# run as bash runs them; fish and zsh are asked where they are installed.
. "$(dirname "$0")/../harness/lib.sh"
[ -x "$SNOOP" ] || fail "no $SNOOP: run make"

bash -n "$BUILD/allocsnoop.bash"

# complete WORDS...: what bash offers for the last of them.
complete_word() {
	bash --norc -c '. "$0"
		COMP_WORDS=(allocsnoop "$@") COMP_CWORD=$#
		_allocsnoop 2>/dev/null
		printf "%s\n" "${COMPREPLY[@]}"' "$BUILD/allocsnoop.bash" "$@"
}

offers() { # "EXPECTED WORDS" WORDS...
	local want=$1
	shift
	is_same "completion of '$*'" "$(complete_word "$@" | sort | paste -sd' ')" "$(tr ' ' '\n' <<<"$want" | sort | paste -sd' ')"
}

has() { # WORD WORDS...
	local want=$1
	shift
	complete_word "$@" | grep -xFe "$want" >/dev/null || fail "completion of '$*' does not offer '$want': $(complete_word "$@" | head -c 300)"
}

"$SNOOP" --help | grep -E '^  (-.,|   ) --' >"$TMP/help"
sed -nE '/not yet\)$/!s/^  (-.,|   ) (--[a-z-]+).*/\2/p' "$TMP/help" | sort >"$TMP/options"
[ "$(wc -l <"$TMP/options")" -gt 20 ] || fail "--help has few options"
complete_word -- | grep -vx -- -- | sort >"$TMP/offered"
diff "$TMP/options" "$TMP/offered" >&2 || fail "options of --help and of bash's completion differ"

"$SNOOP" --help | sed -n 's/^ *allocsnoop \([a-z]*\) .*/\1 &/p' | grep -v 'not yet)$' | cut -d' ' -f1 | sort >"$TMP/verbs"
complete_word '' | sort >"$TMP/offered"
diff "$TMP/verbs" "$TMP/offered" >&2 || fail "commands of --help and of bash's completion differ"

offers '--value' --valu
offers 'alloc-bytes alloc-count' --value alloc
offers 'live-bytes live-count' --value = live
offers 'malloc mmap brk fault' -e ''
offers 'malloc,mmap malloc,malloc' -e malloc,m
offers 'function file' --by f
offers 'json' -f js
offers 'text json' doctor -f ''
has folded --format ''
has "$$" -p ''
has "1,$$" -p 1,
has root --user ro
has bash --comm ba
offers 'preset:' --probe ''
offers 'cpython' --probe preset : cp
offers '/etc/hostname' -o /etc/hostna
offers '/etc/hostname' list /etc/hostna
offers '/etc/hostname' diff --lines /etc/hostname /etc/hostna
offers '--hide' report --hi
has sqlite3 -l -- sqlite
has sqlite3 top -l -- sqlite
offers '/etc/hostname' -p 1 -- cat /etc/hostna
offers '/etc/hostname' top -- cat /etc/hostna
offers '/etc/hostname' report -- /etc/hostna
offers 'thread type' report --by t
has --pid list -
if complete_word list - | grep -x -- --live >/dev/null; then fail "'list' is offered --live"; fi
offers '' --duration ''

if command -v fish >/dev/null; then
	export HOME=$TMP
	fish -n "$BUILD/allocsnoop.fish"
	# "LINE|EXPECTED WORDS", all asked in one fish.
	cat >"$TMP/fish" <<-FISH
		allocsnoop |$(paste -sd' ' "$TMP/verbs")
		allocsnoop --|$(paste -sd' ' "$TMP/options")
		allocsnoop --value alloc-|alloc-bytes alloc-count
		allocsnoop doctor -f |json text
		allocsnoop -e malloc,m|malloc,malloc malloc,mmap
		allocsnoop list /etc/hostna|/etc/hostname
		allocsnoop -l -- cat /etc/hostna|/etc/hostname
		allocsnoop top -l -- cat /etc/hostna|/etc/hostname
		allocsnoop report --by t|thread type
		allocsnoop top --valu|--value
	FISH
	fish -c 'source $argv[1]
		while read line
			set parts (string split -- "|" $line)
			echo "$parts[1]|"(complete -C $parts[1] | string replace -r "\t.*" "" | sort | string join " ")
		end' "$BUILD/allocsnoop.fish" <"$TMP/fish" >"$TMP/fish.is"
	diff "$TMP/fish" "$TMP/fish.is" >&2 || fail "fish's completions aren't what they should be"
else
	echo "fish is not installed: its completion is not tested"
fi

if command -v zsh >/dev/null; then
	zsh -n "$BUILD/allocsnoop.zsh"
	mkdir "$TMP/zsh"
	cp "$BUILD/allocsnoop.zsh" "$TMP/zsh/_allocsnoop"
	# A zsh at a terminal, and what it lists when the tabulator key is pressed, once for each LINE|WORD.
	cat >"$TMP/ask.zsh" <<'ZSH'
zmodload zsh/zpty
zpty z "PS1= TERM=dumb zsh -f -i"
zpty -w z "fpath=($1/zsh \$fpath); autoload -U compinit; compinit -u -D; bindkey '^I' list-choices; LISTMAX=0; stty columns 200 rows 200; echo be'gin'"
zpty -r -m z seen '*begin*'
while IFS='|' read -r line word; do
	zpty -w -n z "$line"$'\t'
	zpty -r -m z seen "*$word*" && echo "$line|$word"
	zpty -w -n z $'\x15'
done
zpty -d z
ZSH
	cat >"$TMP/zsh.should" <<'ZSH'
allocsnoop |doctor
allocsnoop --value |alloc-count
allocsnoop -e malloc,|fault
allocsnoop doctor -f |json
allocsnoop list -|--probe
allocsnoop report --by |thread
allocsnoop top -- cat /etc/hostna|hostname
ZSH
	timeout 30 zsh -f "$TMP/ask.zsh" "$TMP" <"$TMP/zsh.should" >"$TMP/zsh.is" || fail "zsh: $(cat "$TMP/zsh.is")"
	diff "$TMP/zsh.should" "$TMP/zsh.is" >&2 || fail "zsh's completions aren't what they should be"
else
	echo "zsh is not installed: its completion is not tested"
fi

# They go where shells look for them, and away again.
make -n install BUILD="$BUILD" DESTDIR=/nowhere PREFIX=/usr >"$TMP/install"
make -n uninstall BUILD="$BUILD" DESTDIR=/nowhere PREFIX=/usr >"$TMP/uninstall"
for want in share/bash-completion/completions/allocsnoop share/zsh/site-functions/_allocsnoop \
	share/fish/vendor_completions.d/allocsnoop.fish share/man/man1/allocsnoop.1; do
	grep -q "/nowhere/usr/${want%/*}" "$TMP/install" || fail "make install forgets $want"
	grep -q "/nowhere/usr/$want" "$TMP/uninstall" || fail "make uninstall forgets $want"
done
