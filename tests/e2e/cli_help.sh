#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --help, --help-all, the manual page and -V tell of every option of the documented command line.
. "$(dirname "$0")/../harness/lib.sh"
[ -x "$SNOOP" ] || fail "no $SNOOP: run make"

options='--pid --follow --cgroup --comm --user --event --probe --live --older --sample-rate --sample-bytes
--max-overhead --min-size --max-size --duration --interval --format --output --value --by --top --focus --ignore
--hide --lines --no-inlines --tree --quiet --verbose --help --help-all --version'
letters='p e l d i f o t q v h V'

for way in --help -h --help-all; do
	"$SNOOP" $way >"$TMP/help" 2>"$TMP/err"
	[ ! -s "$TMP/err" ] || fail "$way writes to standard error"
	for option in $options; do
		grep -qE "^  (-[A-Za-z],|   ) $option( |$)" "$TMP/help" || fail "$way does not know $option"
	done
	for letter in $letters; do
		grep -qE "^  -$letter, --" "$TMP/help" || fail "$way does not know -$letter"
	done
done
for option in --max-depth --max-live --max-rows --max-memory; do
	"$SNOOP" --help-all | grep -qe " $option " || fail "--help-all misses the expert option $option"
	if "$SNOOP" --help | grep -qe " $option "; then fail "--help shows the expert option $option"; fi
done

# Long lists of words are wrapped, and none of the words is lost.
values=$("$SNOOP" --help | sed -n '/--value/,/--by/p' | tr -d ',')
for word in alloc-bytes alloc-count live-bytes live-count peak-bytes grown-bytes temporary-count; do
	grep -qwe "$word" <<<"$values" || fail "--help does not know --value $word"
done
formats=$("$SNOOP" --help | sed -n '/--format/,/--output/p' | tr -d ',')
for word in text folded json pprof html speedscope svg csv jeprof dhat heaptrack massif; do
	grep -qwe "$word" <<<"$formats" || fail "--help does not know --format $word"
done
"$SNOOP" --help-all >"$TMP/help"
if grep -E '.{81}| $' "$TMP/help"; then fail "lines of --help are too long, or end in a blank"; fi

# -h wins wherever it stands among good options, and needs no root.
"$SNOOP" -d 5s -p 1 -h >/dev/null
"$SNOOP" list -h >/dev/null

version=$(sed -n 's/.*ALLOCSNOOP_VERSION "\(.*\)".*/\1/p' include/allocsnoop.h)
is_same "-V" "$("$SNOOP" -V)" "allocsnoop $version"
is_same "--version" "$("$SNOOP" --version)" "allocsnoop $version"

status=0
"$SNOOP" --help >/dev/full 2>"$TMP/err" || status=$?
is_same "status of --help on a full disk" "$status" 1
grep -q '^allocsnoop: .*No space left' "$TMP/err" || fail "a full disk goes unsaid"

page=$BUILD/allocsnoop.1
[ -f "$page" ] || fail "no $page: run make"
for option in $options; do
	grep -qF "\\fB${option//-/\\-}\\fR" "$page" || fail "the manual page does not know $option"
done
for section in NAME SYNOPSIS DESCRIPTION COMMANDS OPTIONS FORMATS SIGNALS EXIT ENVIRONMENT FILES EXAMPLES NOTES SEE; do
	grep -qE "^\.SH \"?$section" "$page" || fail "the manual page has no section $section"
done
if command -v mandoc >/dev/null; then
	mandoc -T lint "$page" >"$TMP/err" || { show "$TMP/err"; fail "mandoc complains about the manual page"; }
fi
if command -v groff >/dev/null; then
	groff -man -Tutf8 -ww "$page" 2>"$TMP/err" >/dev/null
	[ ! -s "$TMP/err" ] || { show "$TMP/err"; fail "groff complains about the manual page"; }
fi
