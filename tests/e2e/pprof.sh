#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The saved form: pprof's own tool opens it and has our totals to the byte, a profile that it has saved
# again can still be read, and what is read is what was recorded.
. "$(dirname "$0")/../harness/lib.sh"
. "$(dirname "$0")/../harness/pprof.sh"
need_root
need go protoc script
# top_total FILE TYPE: "Showing nodes accounting for 0, 0% of 1B total"
top_total() {
	pprof -top -unit=bytes -sample_index="$2" "$1" | sed -nE 's/.* of ([0-9]+)B? total.*/\1/p'
}

flat_of() { # FILE TYPE FUNCTION
	pprof -top -unit=bytes -nodefraction=0 -sample_index="$2" "$1" |
		awk -v name="$3" '$6 == name { sub("B$", "", $1); print $1 }'
}

# ---- a C++ program, live ----

file=$TMP/a.pb.gz
"$SNOOP" -q --live -o "$file" -- "$WORK/cxx_family" >"$TMP/truth"
"$PROFILES" write "$file" json >"$TMP/a.json"
sound "$TMP/a.json"
as_expected "$TMP/a.json" <(grep -v '^total' "$TMP/truth")
alloc=$(total "$TMP/a.json") live=$(total "$TMP/a.json" live)
is_same "pprof -raw" "$(raw_sums "$file")" "$alloc $live"
is_same "pprof -top of alloc_space" "$(top_total "$file" alloc_space)" "${alloc#* }"
is_same "pprof -top of inuse_space" "$(top_total "$file" inuse_space)" "${live#* }"
is_same "n_realloc in pprof" "$(flat_of "$file" alloc_space 'n_realloc()')" 10000
is_same "n_calloc in pprof" "$(flat_of "$file" alloc_space 'n_calloc()')" 2619
pprof -raw "$file" >"$TMP/raw"
grep -q '^alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes\[dflt\]' "$TMP/raw" ||
	fail "types of values: $(grep -m 1 ^alloc_objects "$TMP/raw")"
grep -q '^Comment: mode live, exact' "$TMP/raw" || fail "no comment says how it was counted"
grep -q '^Comment: no losses' "$TMP/raw" || fail "no comment tells of losses"
grep -q '^PeriodType: space bytes$' "$TMP/raw" || fail "no period type"
pprof -tags -unit=bytes "$file" >"$TMP/tags"
for tag in bytes pid comm allocator size_class; do
	grep -q "^ *$tag: Total" "$TMP/tags" || fail "pprof -tags has no $tag"
done
pprof -traces "$file" >"$TMP/traces"
grep -q 'n_posix_memalign()' "$TMP/traces" || fail "pprof -traces lacks a function"
pprof -top -tagroot comm -sample_index=alloc_space -unit=bytes "$file" >"$TMP/root"
grep -qE "${alloc#* }B? +100% +cxx_family" "$TMP/root" || fail "pprof -tagroot comm has no root for the program"
pprof -top -tagfocus allocator=calloc -sample_index=alloc_space -unit=bytes "$file" >"$TMP/focus"
grep -qE 'accounting for 2619B?, ' "$TMP/focus" || fail "pprof -tagfocus: $(grep Showing "$TMP/focus")"
pprof -top -unit=bytes -diff_base "$file" "$file" >"$TMP/diff"
grep -qE 'accounting for 0B?, 0% of' "$TMP/diff" || fail "a difference to itself: $(grep Showing "$TMP/diff")"

# Saved again by pprof: what pprof has a place for.
pprof -proto "$file" >"$TMP/resaved.pb.gz"
"$PROFILES" write "$TMP/resaved.pb.gz" json >"$TMP/resaved.json"
is_same "alloc after pprof -proto" "$(total "$TMP/resaved.json")" "$alloc"
is_same "live after pprof -proto" "$(total "$TMP/resaved.json" live)" "$live"
as_expected "$TMP/resaved.json" <(grep -v '^total' "$TMP/truth")
sizes='[.stacks[] | "\(.size_low) \(.size_high) \(.allocator) \(.comm) \(.pid)"] | sort | .[]'
is_same "labels after pprof -proto" "$(ask "$TMP/resaved.json" "$sizes")" "$(ask "$TMP/a.json" "$sizes")"
[ "$(ask "$TMP/resaved.json" '.exact')" = true ] || fail "pprof -proto made it inexact"

# Without gzip, and by the other extension.
gzip -dc "$file" >"$TMP/a.pb"
"$PROFILES" write "$TMP/a.pb" json | cmp - "$TMP/a.json" || fail "not gzipped, it is another profile"
is_same "pprof -raw without gzip" "$(raw_sums "$TMP/a.pb")" "$alloc $live"
"$SNOOP" -q --value alloc-count -o "$TMP/b.pprof" -- "$WORK/cxx_family" >/dev/null
pprof -raw "$TMP/b.pprof" | grep '^alloc_objects' >"$TMP/types"
is_same "types of values with --value" "$(cat "$TMP/types")" 'alloc_objects/count[dflt] alloc_space/bytes'
is_same "pprof -raw of mode alloc" "$(raw_sums "$TMP/b.pprof")" "$alloc"

# ---- estimates ----

"$SNOOP" -q --sample-bytes 1K -o "$TMP/s.pb.gz" -- "$WORK/api_matrix" >/dev/null
pprof -raw "$TMP/s.pb.gz" >"$TMP/raw"
grep -q '^Period: 1024$' "$TMP/raw" || fail "the period of a sampled profile: $(grep ^Period "$TMP/raw")"
grep -q '^Comment: standard errors: alloc_objects [0-9]' "$TMP/raw" || fail "no comment has the standard errors"
"$PROFILES" write "$TMP/s.pb.gz" json >"$TMP/s.json"
is_same "pprof -raw of estimates" "$(raw_sums "$TMP/s.pb.gz")" "$(total "$TMP/s.json")"
[ "$(ask "$TMP/s.json" '.totals.alloc_bytes_se > 0')" = true ] || fail "the standard errors are lost"

# ---- refused ----

head -c $(($(stat -c %s "$file") / 2)) "$file" >"$TMP/half.pb.gz"
refused_read() { # WORDS FILE
	! "$PROFILES" write "$2" json >"$TMP/out" 2>"$TMP/err" || fail "${2##*/} was read"
	[ "$(wc -l <"$TMP/err")" = 1 ] && grep -q "$1" "$TMP/err" && [ ! -s "$TMP/out" ] || {
		show "$TMP/err"
		fail "${2##*/} is not refused by one line with '$1'"
	}
}
refused_read 'cut short' "$TMP/half.pb.gz"
refused_read 'not a pprof profile' "$TMP/a.json"
refused_read 'it is empty' /dev/null
refused 1 "cannot write '/dev/full': No space left" "$SNOOP" -q -f pprof -o /dev/full -- true
refused 2 'interval: only one report of --format pprof' "$SNOOP" -f pprof -i 1s -- true
"$SNOOP" -f pprof -- sh -c 'kill -USR1 $PPID; i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' \
	>"$TMP/one.pb.gz" 2>"$TMP/one.err"
grep -q 'no report now: only one' "$TMP/one.err" || fail "a second profile in one stream: $(cat "$TMP/one.err")"
"$PROFILES" write "$TMP/one.pb.gz" json >/dev/null || fail "SIGUSR1 spoils standard output"
script -qec "'$SNOOP' -f pprof -- true" /dev/null </dev/null >"$TMP/tty" || :
grep -q 'not for a terminal' "$TMP/tty" || fail "it is written to a terminal"
