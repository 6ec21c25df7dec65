#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Saved profiles: read again they say the same, a difference shows the leak that was put in, and sums
# are sums to the unit. None of it needs root.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need jq

runs=5 inputs=50
save() { # FILE BLOCKS
	"$SNOOP" -q --live -o "$1" -- "$WORK/leak" "$2" >"$1.truth"
}
for i in $(seq $runs); do
	save "$TMP/$i.pb.gz" $((i * 10))
done
save "$TMP/leaky.pb.gz" 5000

# From here on as somebody who may not trace.
chmod 644 "$TMP"/*.pb.gz
mkdir "$TMP/out"
chmod 777 "$TMP/out"
as_nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
cp "$SNOOP" "$TMP/snoop" # the tree may be closed to others
SNOOP=$TMP/snoop
json() { # OUT COMMAND FILE...
	as_nobody "$SNOOP" "${@:2}" -f json >"$1"
}

# What was counted comes back, and once more when it is saved again.
for i in 1 leaky; do
	json "$TMP/$i.json" report "$TMP/$i.pb.gz"
	sound "$TMP/$i.json"
	while read -r _ function count bytes; do
		is_same "live of $function" "$(ask "$TMP/$i.json" 'at_site($f) | sums("live")' --arg f "$function")" \
			"$count $bytes"
	done <"$TMP/$i.pb.gz.truth"
done
as_nobody "$SNOOP" report -o "$TMP/out/again.pb.gz" "$TMP/leaky.pb.gz"
json "$TMP/again.json" report "$TMP/out/again.pb.gz"
cmp "$TMP/leaky.json" "$TMP/again.json" || fail "saved twice isn't saved once"
json "$TMP/lines.json" report "$TMP/leaky.pb.gz" --lines
is_same "totals with lines" "$(jq -c .totals "$TMP/lines.json")" "$(jq -c .totals "$TMP/leaky.json")"

# The leak comes first; what isn't in the program's hands hasn't changed.
as_nobody "$SNOOP" diff "$TMP/1.pb.gz" "$TMP/leaky.pb.gz" --by function >"$TMP/diff.txt"
grep -A2 '^functions by change of live bytes:' "$TMP/diff.txt" | tail -1 | grep -q '+4990 blocks  leak_here$' || {
	show "$TMP/diff.txt"
	fail "the leak isn't on top"
}
grep -qF '(+319360), from ' "$TMP/diff.txt" || fail "the total's change isn't 4990 * 64"
as_nobody "$SNOOP" diff --tree "$TMP/1.pb.gz" "$TMP/leaky.pb.gz" >"$TMP/diff.txt"
grep -q '^tree by change of live bytes, ' "$TMP/diff.txt" || fail "no tree of a difference"
if grep '^processes by' "$TMP/diff.txt"; then fail "a difference tells of the later processes as if they were both"; fi
json "$TMP/diff.json" diff "$TMP/1.pb.gz" "$TMP/leaky.pb.gz"
is_same "what changed" "$(jq -c '[.stacks[] | select(.live_bytes != .base_live_bytes) |
	[.live_count - .base_live_count, .live_bytes - .base_live_bytes]]' "$TMP/diff.json")" '[[4990,319360]]'
is_same "before" "$(jq -c '[.totals.base_live_bytes, .totals.base_alloc_count]' "$TMP/diff.json")" \
	"$(jq -c '[.totals.live_bytes, .totals.alloc_count]' "$TMP/1.json")"
as_nobody "$SNOOP" diff "$TMP/1.pb.gz" "$TMP/leaky.pb.gz" -f folded >"$TMP/diff.folded"
grep -qE '^leak;.*;leak_here;malloc 640 320000$' "$TMP/diff.folded" || fail "the leak isn't in folded"
! grep -vqE '^[^;]+(;[^;]+)* [0-9]+ [0-9]+$' "$TMP/diff.folded" || fail "not two values a line"
as_nobody "$SNOOP" diff -o "$TMP/out/diff.pb.gz" "$TMP/1.pb.gz" "$TMP/leaky.pb.gz"
as_nobody "$SNOOP" report "$TMP/out/diff.pb.gz" --by function | grep -q '+4990 blocks  leak_here$' ||
	fail "a saved difference isn't one any more"
is_same "a difference, saved" "$(as_nobody "$SNOOP" report "$TMP/out/diff.pb.gz")" \
	"$(as_nobody "$SNOOP" diff "$TMP/1.pb.gz" "$TMP/leaky.pb.gz")"

# Views of what was saved.
json "$TMP/focus.json" report --focus 'leak_here' "$TMP/leaky.pb.gz"
is_same "focus" "$(jq -c '[.totals.live_bytes, .filter.all_live_bytes]' "$TMP/focus.json")" \
	"[320000,$(jq .totals.live_bytes "$TMP/leaky.json")]"
json "$TMP/ignore.json" report --ignore 'leak_here' "$TMP/leaky.pb.gz"
is_same "ignore" "$(jq .totals.live_bytes "$TMP/ignore.json")" \
	$(($(jq .totals.live_bytes "$TMP/leaky.json") - 320000))
json "$TMP/hide.json" report --hide '/libc\.' "$TMP/leaky.pb.gz"
is_same "hide" "$(jq -c '[.totals.live_bytes, ([.stacks[].frames[] | select(.module | test("/libc\\."))] | length)]' \
	"$TMP/hide.json")" "[$(jq .totals.live_bytes "$TMP/leaky.json"),0]"
is_same "the allocator's caller when it is hidden" "$(as_nobody "$SNOOP" report --hide '/libc\.' --by function \
	-f json "$TMP/leaky.pb.gz" | jq -r '.stacks[0].frames[1].function')" leak_here
"$SNOOP" -q --live --focus 'leak_here' --hide main -f json -- "$WORK/leak" 7 >"$TMP/now" 2>&1
grep -v '^live ' "$TMP/now" >"$TMP/now.json"
as_nobody "$SNOOP" report --focus 'leak_here' -o "$TMP/out/chosen.pb.gz" "$TMP/leaky.pb.gz"
json "$TMP/chosen.json" report "$TMP/out/chosen.pb.gz"
is_same "a part, saved" "$(jq -c '[.totals.live_bytes, .filter.all_live_bytes]' "$TMP/chosen.json")" \
	"$(jq -c '[.totals.live_bytes, .filter.all_live_bytes]' "$TMP/focus.json")"
refused 1 "cannot compare profiles: one holds chosen rows" "$SNOOP" diff "$TMP/out/chosen.pb.gz" "$TMP/leaky.pb.gz"
rm "$TMP/out/chosen.pb.gz"
is_same "focus when recording" "$(jq -c '[.totals.live_bytes, ([.stacks[].frames[].function] | index("main"))]' \
	"$TMP/now.json")" "[448,null]"

# Fifty profiles of some programs are their sum.
files=()
for i in $(seq $inputs); do
	files+=("$TMP/$(((i - 1) % runs + 1)).pb.gz")
done
for i in $(seq $runs); do
	json "$TMP/$i.json" report "$TMP/$i.pb.gz"
done
as_nobody "$SNOOP" merge "${files[@]}" >"$TMP/sum.pb.gz"
json "$TMP/sum.json" report "$TMP/sum.pb.gz"
sound "$TMP/sum.json"
sums='def sums: map(to_entries[]) | group_by(.key) | map({ (.[0].key): (map(.value) | add) }) | add'
numbers='del(.grown, .older_ns, .old_ns, .alloc_count_se, .alloc_bytes_se, .live_count_se, .live_bytes_se)'
for file in "${files[@]}"; do
	cat "${file%.pb.gz}.json"
done >"$TMP/all.json"
is_same "totals of the sum" "$(jq -cS ".totals | $numbers" "$TMP/sum.json")" \
	"$(jq -scS "$sums; map(.totals | $numbers) | sums" "$TMP/all.json")"
is_same "losses of the sum" "$(jq -cS .losses "$TMP/sum.json")" "$(jq -scS "$sums; [.[].losses] | sums // {}" "$TMP/all.json")"
for function in leak_here fill_cache work; do
	is_same "$function in the sum" "$(site_sum "$TMP/sum.json" $function)" \
		"$(ask "$TMP/all.json" '[.[] | at_site($f)[]] | count_bytes' -s --arg f $function)"
done
is_same "events of the sum" "$(jq .events "$TMP/sum.json")" "$(jq -s 'map(.events) | add' "$TMP/all.json")"
is_same "processes of the sum" "$(jq '.processes | length' "$TMP/sum.json")" $inputs
as_nobody "$SNOOP" report -f json "${files[@]}" | cmp - "$TMP/sum.json" || fail "report of all isn't that of their sum"
as_nobody "$SNOOP" report -f json - <"$TMP/sum.pb.gz" | cmp - "$TMP/sum.json" || fail "standard input"

# What can't be read, in one line that names it.
head -c 200 "$TMP/1.pb.gz" >"$TMP/short.pb.gz"
refused 1 "cannot read '$TMP/short.pb.gz': " "$SNOOP" report "$TMP/short.pb.gz"
refused 1 "cannot read '/dev/null': " "$SNOOP" report /dev/null
refused 1 "cannot read '$TMP/none': No such file" "$SNOOP" diff "$TMP/1.pb.gz" "$TMP/none"
refused 1 "cannot read '$TMP': Is a directory" "$SNOOP" merge "$TMP" -o "$TMP/out/x"
chmod 600 "$TMP/2.pb.gz"
refused 1 "cannot read '.*2.pb.gz': Permission denied" as_nobody "$SNOOP" report "$TMP/1.pb.gz" "$TMP/2.pb.gz"
refused 1 "cannot read '.*profile.jq': " "$SNOOP" report "$TREE/tests/harness/profile.jq"
"$SNOOP" -q -o "$TMP/alloc.pb.gz" -- "$WORK/leak" 1 >"$TMP/stdout"
refused 1 "cannot compare profiles: one has mode 'alloc'" "$SNOOP" diff "$TMP/alloc.pb.gz" "$TMP/1.pb.gz"
refused 1 "'$TMP/3.pb.gz' and '$TMP/alloc.pb.gz': cannot add up profiles: one has mode 'live', the other 'alloc'" \
	"$SNOOP" merge "$TMP/1.pb.gz" "$TMP/1.pb.gz" "$TMP/3.pb.gz" "$TMP/alloc.pb.gz" -o "$TMP/out/x"
refused 1 "cannot add up profiles: one is a difference" "$SNOOP" merge "$TMP/out/diff.pb.gz" "$TMP/1.pb.gz" -o "$TMP/out/x"
refused 2 "--value: recorded without --live" "$SNOOP" report --value live-bytes "$TMP/alloc.pb.gz"
refused 2 "--value: a difference has" "$SNOOP" diff --value peak-bytes "$TMP/1.pb.gz" "$TMP/leaky.pb.gz"
refused 2 "--value grown-bytes: there was no report before" "$SNOOP" report --value grown-bytes "$TMP/1.pb.gz"
refused 1 "cannot read '.*json': not a pprof profile" "$SNOOP" report "$TMP/1.json"
grep -q '^hint: .*-o FILE.pb.gz$' "$TMP/refused.err" || fail "no hint at the form to save"
refused 2 "--by thread: the profile doesn't tell threads apart" "$SNOOP" report --by thread "$TMP/1.pb.gz"
grep -q '^hint: .*--by thread' "$TMP/refused.err" || fail "no hint at how threads are told apart"
refused 2 "--by type: the profile doesn't tell types apart" "$SNOOP" report --by type "$TMP/1.pb.gz"
[ ! -e "$TMP/out/x" ] || fail "a report was left by a merge that failed"

# What can't be written: a whole report or none, and a reader that has gone is no error.
refused 1 "cannot write '/dev/full': No space left" "$SNOOP" merge "${files[@]}" -o /dev/full
status=0
"$SNOOP" report -f json "$TMP/leaky.pb.gz" >/dev/full 2>"$TMP/err" || status=$?
is_same "on a full disk" "$status $(cat "$TMP/err")" "1 allocsnoop: cannot write 'standard output': No space left on device"
status=0
{ "$SNOOP" report -f json "${files[@]}" 2>"$TMP/err" || echo $? >"$TMP/status"; } | true
is_same "a closed pipe" "$(cat "$TMP/status" 2>/dev/null) $(cat "$TMP/err")" "141 "
status=0
script -qec "'$SNOOP' merge '$TMP/1.pb.gz' '$TMP/2.pb.gz'" "$TMP/typed" >"$TMP/screen" </dev/null || status=$?
is_same "to a terminal" "$status" 2
grep -q 'format pprof: not for a terminal' "$TMP/screen" || fail "no word about the terminal"

# What is open already is written to, not replaced.
for out in /dev/stdout /dev/fd/1 /dev/fd/7; do
	{ echo before; "$SNOOP" report -f json -o $out "$TMP/leaky.pb.gz"; echo after; } >"$TMP/open" 7>&1
	is_same "what $out had and gets" "$(sed -n '1p;$p' "$TMP/open" | tr '\n' ' ')" "before after "
	sed '1d;$d' "$TMP/open" | cmp - "$TMP/leaky.json" || fail "$out has another report"
done

# Nothing is to be finished: the first Ctrl-C ends it.
mkfifo "$TMP/fifo"
background "$SNOOP" report -o "$TMP/out/x" "$TMP/fifo"
until_true 20 grep -qE '^SigCgt:.*[2367abef]$' "/proc/$BG/status" || fail "report doesn't begin" # SIGINT is bit 1
kill -INT "$BG"
finish "$BG" 130
is_same "files left" "$(ls -A "$TMP/out" | sort | tr '\n' ' ')" "again.pb.gz diff.pb.gz "
