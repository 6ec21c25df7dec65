#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# DHAT's file in DHAT's own viewer, in a browser: it takes the file, and its root has the totals, the peak and the end
# that the same recording has in JSON, to the byte. Names that are HTML stay text.
. "$(dirname "$0")/../harness/lib.sh"
. "$(dirname "$0")/../harness/formats.sh"
need_root
view=/usr/libexec/valgrind/dh_view
[ -e $view.html ] || skip "no dh_view.html here"
need chromium
formats_build

# The viewer's page with files in it, which a script opens one after the other and leaves as text.
page() { # FILE...
	local file
	cp $view.js $view.css "$TMP/"
	sed -e 's|</body>.*||' -e '/<\/html>/d' $view.html
	for file; do
		printf '<script type="application/json" class="data" title="%s">' "${file##*/}"
		sed 's/</\\u003c/g' "$file"
		echo '</script>'
	done
	cat <<-'END'
		<script>
		window.addEventListener("load", async () => {
			const told = document.createElement("pre");
			for (const data of document.querySelectorAll(".data")) {
				const files = new DataTransfer();
				files.items.add(new File([data.textContent], data.title));
				gInput.files = files.files;
				loadFile();
				while (gMainDiv.textContent === "Loading...")
					await new Promise(done => setTimeout(done, 5));
				told.append(`file ${data.title}\n`, gMainDiv.textContent, "\n");
			}
			document.body.replaceChildren(told, "all told");
		});
		</script></body></html>
	END
}

# What the viewer says of the root of a file: bytes and blocks of a line.
root() { # FILE LINE
	sed -n "/file ${1##*/}\$/,/\[root\]/s/^ *$2: *\([0-9,]*\) bytes ([^)]*) in \([0-9,]*\) blocks.*/\1 \2/p" \
		"$TMP/told" | tr -d ,
}

agrees() { # NAME
	is_same "total, peak and end of $1" \
		"$(root "$1.dhat" Total) $(root "$1.dhat" At.t-gmax) $(root "$1.dhat" At.t-end)" \
		"$(json_sums "$TMP/$1.json" alloc_bytes alloc_count peak_bytes peak_count live_bytes live_count)"
}

formats "$TMP/times" dhat 0 "$WORK/live_times"
formats "$TMP/edges" dhat 0 "$WORK/live_edges" "$WORK/blink"
formats "$TMP/sqlite3" dhat 0 sqlite3 :memory: "create table t(a); insert into t values(hex(randomblob(100000)))"
sed 's/</\\u003c/g' tests/golden/hostile.dhat.json >"$TMP/hostile.dhat"
"$SNOOP" -q -l --sample-rate 0.5 -o "$TMP/dhat.out.12" -- "$WORK/live_times" >/dev/null
page "$TMP"/{times,edges,sqlite3,hostile}.dhat "$TMP/dhat.out.12" >"$TMP/view.html"
timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$TMP/profile" --virtual-time-budget=60000 \
	--dump-dom "file://$TMP/view.html" >"$TMP/dom" 2>"$TMP/chromium.err" || fail "chromium: $(tail -3 "$TMP/chromium.err")"
sed 's/<[^>]*>//g' "$TMP/dom" >"$TMP/told"
grep -q 'all told' "$TMP/told" || fail "the viewer stopped: $(grep -i error "$TMP/told" | head -3)"
! grep 'Error:' "$TMP/told" >&2 || fail "the viewer refuses a file"
for name in times edges sqlite3; do
	agrees "$name"
done
is_same "total that live_times says" "$(root times.dhat Total)" \
	"$(awk '$1 == "expect" && $2 != "total" { cnt += $3; bytes += $4 } END { print bytes, cnt }' "$TMP/times.stdout")"
grep -qF 'f&lt;"a\b"&gt;;g' "$TMP/told" || fail "a hostile name isn't text"
is_same "peak of a sampled file" "$(root dhat.out.12 At.t-gmax)" "0 0"

refused 2 "--format dhat: needs --live" "$SNOOP" -f dhat -- touch "$TMP/ran"
refused 2 "--format dhat: needs --live" "$SNOOP" -o "$TMP/x.dhat.json" -- touch "$TMP/ran"
refused 2 "--top: means nothing to --format dhat" "$SNOOP" -l -t 5 -f dhat -- touch "$TMP/ran"
[ ! -e "$TMP/ran" ] || fail "a refused run ran"
