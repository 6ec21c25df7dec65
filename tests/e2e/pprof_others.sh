#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Heap profiles that others have made: the Go runtime's, exact and sampled, and a legacy text that pprof
# has converted. What they hold comes out of every report.
. "$(dirname "$0")/../harness/lib.sh"
. "$(dirname "$0")/../harness/pprof.sh"
need go
export GO111MODULE=off GOFLAGS= GOCACHE=$MADE/cache

read_json() { # FILE
	"$PROFILES" write "$1" json >"${1%.pb.gz}.json"
	sound "${1%.pb.gz}.json"
}

# Counts and bytes, allocated and live, as pprof adds them up.
sums_are() { # NAME
	is_same "the sums of $1" "$(total "$TMP/$1.json") $(total "$TMP/$1.json" live)" "$(raw_sums "$TMP/$1.pb.gz")"
}

# ---- Go ----

[ "$MADE/heap_profile" -nt "$SOURCE/heap_profile.go" ] || go build -o "$MADE/heap_profile" "$SOURCE/heap_profile.go"
"$MADE/heap_profile" 1 "$TMP/exact.pb.gz" "$TMP/cpu.pb.gz" >"$TMP/truth"
read_json "$TMP/exact.pb.gz"
[ "$(ask "$TMP/exact.json" '.exact')" = true ] || fail "at rate 1 Go's profile is exact"
is_same "main.leak" "$(site_sum "$TMP/exact.json" main.leak)" "$(sed -n 's/^expect main.leak //p' "$TMP/truth")"
is_same "main.churn" "$(site_sum "$TMP/exact.json" main.churn)" "$(sed -n 's/^expect main.churn //p' "$TMP/truth")"
is_same "live in main.leak" "$(ask "$TMP/exact.json" 'at_site("main.leak") | sums("live")')" \
	"$(sed -n 's/^live main.leak //p' "$TMP/truth")"
is_same "freed in main.leak" "$(ask "$TMP/exact.json" 'at_site("main.leak") | sums("freed")')" "0 0"
sums_are exact
is_same "where main.leak is" "$(ask "$TMP/exact.json" '[.stacks[].frames[] | select(.function == "main.leak") |
	"\(.file | split("/")[-1]) \(.line > 0)"] | unique[]')" "heap_profile.go true"

"$MADE/heap_profile" 65536 "$TMP/sampled.pb.gz" "$TMP/cpu.pb.gz" >/dev/null
read_json "$TMP/sampled.pb.gz"
is_same "how Go samples" "$(ask "$TMP/sampled.json" '"\(.exact) \(.sampling.kind) \(.sampling.value)"')" "false bytes 65536"
sums_are sampled
# 15 MB: one in 64 KiB makes 234 samples, and an error of 1/sqrt(234).
[ "$(ask "$TMP/sampled.json" '.totals | .alloc_bytes_se / .alloc_bytes | . > 0.05 and . < 0.09')" = true ] ||
	fail "the standard error of Go's samples: $(ask "$TMP/sampled.json" '.totals | .alloc_bytes_se / .alloc_bytes')"
for format in text folded; do
	"$PROFILES" write "$TMP/sampled.pb.gz" "$format" >"$TMP/report"
	grep -q main.leak "$TMP/report" || fail "$format has no main.leak"
done
! "$PROFILES" write "$TMP/cpu.pb.gz" text >"$TMP/report" 2>&1 || fail "a CPU profile was read"
is_same "what is said of a CPU profile" "$(cat "$TMP/report")" \
	"profiles: not a heap profile: its values are samples/count, cpu/nanoseconds"

# Written by us, it is still what it was.
"$PROFILES" write "$TMP/exact.pb.gz" pprof >"$TMP/again.pb.gz"
read_json "$TMP/again.pb.gz"
cmp "$TMP/again.json" "$TMP/exact.json" || fail "written again, Go's profile is another"
sums_are again

# ---- jemalloc's own profile of a real program, as a legacy text that pprof converts ----

jemalloc=$(echo /usr/lib/*/libjemalloc.so.2)
[ -e "$jemalloc" ] || skip "no libjemalloc.so.2 here"
cat >"$TMP/leaky.c" <<-C
	#include <stdlib.h>

	void *kept[2000];

	__attribute__((noinline)) void leaky(int i)
	{
		kept[i] = malloc(1024);
	}

	int main(void)
	{
		for (int i = 0; i < 2000; i++)
			leaky(i);
		for (int i = 0; i < 700; i++)
			free(kept[i]);
		return 0;
	}
C
cc "${WORK_FLAGS[@]}" -o "$TMP/leaky" "$TMP/leaky.c"
MALLOC_CONF=prof:true,lg_prof_sample:0,prof_accum:true,prof_final:true,prof_prefix:$TMP/je \
	LD_PRELOAD=$jemalloc "$TMP/leaky"
awk '/^heap_v2/ { kind = $0; next }
	/^  t\*:/ && !total { sub(/^  t\*: /, ""); print "heap profile: " $0 " @ " kind; total = 1; next }
	/^@ / { stack = $0; next }
	/^  t\*:/ { sub(/^  t\*: /, ""); print $0 " " stack; next }
	/^MAPPED_LIBRARIES/ { maps = 1; print "" }
	maps' "$TMP"/je.*.heap >"$TMP/je.txt"
go tool pprof -proto "$TMP/je.txt" >"$TMP/je.pb.gz" 2>/dev/null
read_json "$TMP/je.pb.gz"
sums_are je
is_same "leaky, by jemalloc" "$(ask "$TMP/je.json" 'at_site("leaky") | sums("alloc", "live", "freed")' | paste -sd' ')" \
	"2000 2048000 1300 1331200 700 716800"

# ---- tcmalloc's and jemalloc's text, converted by pprof ----

legacy() { # KIND
	cat <<-TEXT
		heap profile: 3: 3000 [7: 7000] @ $1
		     2: 2000 [     6: 6000] @ 0x0000000000401010 0x0000000000402020
		     1: 1000 [     1: 1000] @ 0x0000000000403030 0x0000000000402020

		MAPPED_LIBRARIES:
		00400000-00500000 r-xp 00000000 08:01 1234 /opt/none/server
	TEXT
}
legacy heapprofile >"$TMP/legacy.txt"
pprof -proto "$TMP/legacy.txt" >"$TMP/legacy.pb.gz"
read_json "$TMP/legacy.pb.gz"
is_same "a legacy profile" "$(total "$TMP/legacy.json"), $(total "$TMP/legacy.json" live)" "7 7000, 3 3000"
is_same "its places" "$(ask "$TMP/legacy.json" '[.stacks[].frames[1].function] | sort | join(" ")')" \
	"server+0x100f server+0x302f"
legacy heap_v2/524288 >"$TMP/heap_v2.txt"
pprof -proto "$TMP/heap_v2.txt" >"$TMP/heap_v2.pb.gz"
read_json "$TMP/heap_v2.pb.gz"
sums_are heap_v2
is_same "how heap_v2 samples" "$(ask "$TMP/heap_v2.json" '"\(.exact) \(.sampling.value)"')" "false 524288"
