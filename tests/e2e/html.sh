#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The page in a browser: what it shows, what it does, and what it must not do. And a build without npm:
# everything else works, and -f html says what is missing before anything is traced.
# alone: it measures how fast a page is there
. "$(dirname "$0")/../harness/lib.sh"
. "$(dirname "$0")/../harness/formats.sh"
need_root
need node npm

# ---- without npm: the same objects, all but the page ----
mkdir -p "$MADE/build"
cp -a "$BUILD/obj" "$BUILD/gen" "$MADE/build/"
make -s BUILD="$MADE/build" NO_HTML=1 "$MADE/build/allocsnoop" >"$TMP/note" 2>&1 || { show "$TMP/note"; fail "no build without npm"; }
grep -q 'this build has no -f html' "$TMP/note" || fail "a build without npm doesn't say so"
refused 1 'html: this allocsnoop was built without npm' "$MADE/build/allocsnoop" -f html -o "$TMP/no.html" -- touch "$TMP/ran"
grep -q '^hint: .*make deps-html html' "$TMP/refused.err" || fail "no remedy: $(cat "$TMP/refused.err")"
[ ! -e "$TMP/ran" ] && [ ! -e "$TMP/no.html" ] || fail "traced, although the report could not be written"
"$MADE/build/allocsnoop" -q -f json -o "$TMP/other.json" -- true
sound "$TMP/other.json"
rm -rf "$MADE/build"

# ---- pages ----
[ -s "$BUILD/gen/html_page.inc" ] || skip "this build has no -f html: make html"
need_browser
mkdir "$TMP/pages"
"$BUILD/tests/unit/html_test" "$TMP/pages"
[ "$(stat -c %s "$TMP/pages/many.html")" -lt 5000000 ] || fail "100,000 stacks make too large a page"

# A program that does the same each time, for two formats.
sql="create table t(a); with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
	insert into t select printf('customer %d', i % 500) from n; create index x on t(a);"
"$SNOOP" -q --live -o "$TMP/real.html" -- sqlite3 :memory: "$sql"
trace "$TMP/real.json" --live -- sqlite3 :memory: "$sql"
node tests/browser/page_test.js "$TMP/pages" "$TMP/real.html" "$TMP/real.json"
