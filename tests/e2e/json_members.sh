#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# docs/json.md and docs/live.md name every member that -f json prints, of every kind of report.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need jq

json() { # NAME WORDS...
	"$SNOOP" -q -f json -o "$TMP/$1.json" "${@:2}" >/dev/null
}

leak=("$WORK/leak" 10)
json exact -i 20ms -- "$WORK/steady" 0.1
json threads --by thread --lines -- "$WORK/inlined"
json budget --max-overhead 1 -- "${leak[@]}"
json sampled --sample-rate 0.5 -l --older 1ms -i 20ms -- "$WORK/steady" 0.1
json growth -e mmap,brk -- "${leak[@]}"
"$SNOOP" -q -l -o "$TMP/a.pb.gz" -- "${leak[@]}" >/dev/null
"$SNOOP" -q -l -o "$TMP/b.pb.gz" -- "$WORK/leak" 20 >/dev/null
json sum report "$TMP/a.pb.gz" "$TMP/b.pb.gz"
json diff diff "$TMP/a.pb.gz" "$TMP/b.pb.gz"
json filter report --focus leak_here --ignore nothing --hide main "$TMP/a.pb.gz"

# Names of losses are docs/limits.md's.
jq -r 'del(.losses) | paths | .[-1] | strings' "$TMP"/*.json | sort -u >"$TMP/members"
[ "$(wc -l <"$TMP/members")" -gt 80 ] || fail "there are few members: $(paste -sd' ' "$TMP/members")"
for member in timeline profiles base_live_bytes filter traced tid mangled build_id budget_pct; do
	grep -qx "$member" "$TMP/members" || fail "no report has '$member'"
done
while read -r member; do
	grep -qF "\`${member%_se}\`" docs/json.md docs/live.md || echo "$member"
done <"$TMP/members" >"$TMP/untold"
[ ! -s "$TMP/untold" ] || fail "members that no document names: $(paste -sd' ' "$TMP/untold")"
