#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Estimates against the truth: in at least 15 of 20 runs the true count and the true bytes lie inside
# the printed 95 % interval. An honest sampler fails that once in a thousand times, so a first failure
# gives it twenty more runs, and it must then have 32 of 40: a biased one fails again.
. "$(dirname "$0")/../harness/lib.sh"
need_root

run() { # OUT RATE-OPTION VALUE [large]: appends `COUNT-INSIDE BYTES-INSIDE` to OUT
	local profile=$1.$BASHPID.json
	"$SNOOP" -q -f json -o "$profile" "$2" "$3" -- "$WORK/mixed_size" 30000 ${4:-} </dev/null >"$profile.stdout"
	read -r _ count bytes <"$profile.stdout"
	ask "$profile" 'def inside($x; $se; $true): if ($x - $true | fabs) <= 1.96 * $se then 1 else 0 end;
		if .exact then error("it says exact") else . end | .totals |
		"\(inside(.alloc_count; .alloc_count_se; $count)) \(inside(.alloc_bytes; .alloc_bytes_se; $bytes))"' \
		--argjson count "$count" --argjson bytes "$bytes" >>"$1"
	rm "$profile" "$profile.stdout"
}

runs() { # OUT N OPTION VALUE [large]: two at a time
	local n a b
	for ((n = 0; n < $2; n += 2)); do
		run "$1" "${@:3}" &
		a=$!
		run "$1" "${@:3}" &
		b=$!
		wait "$a"
		wait "$b"
	done
}

inside() { # OUT FIELD
	awk -v f="$2" '{ n += $f } END { print n + 0 }' "$1"
}

good() { # OUT RUNS NEEDED
	is_same "runs in ${1##*/}" "$(wc -l <"$1")" "$2"
	[ "$(inside "$1" 1)" -ge "$3" ] && [ "$(inside "$1" 2)" -ge "$3" ]
}

check() { # OPTION VALUE [large]
	local out=$TMP/$1.${2/\//of}
	runs "$out" 20 "$@"
	good "$out" 20 15 || {
		runs "$out" 20 "$@"
		good "$out" 40 32 || fail "$1 $2: truth inside $(inside "$out" 1) (count), $(inside "$out" 2) (bytes) of 40"
	}
}

check --sample-rate 1/10
check --sample-rate 1/100
check --sample-bytes 64K large
check --sample-bytes 512K large

trace "$TMP/all.json" --sample-rate 1 -- "$WORK/mixed_size" 30000 large
read -r _ truth <"$TMP/all.json.stdout"
is_same "rate 1" "$(total "$TMP/all.json")" "$truth"
is_same "rate 1 is exact" "$(ask "$TMP/all.json" .exact)" true

# Size limits: what is outside is not counted, what is inside is, and so it splits.
trace "$TMP/small.json" --max-size 1023 -- "$WORK/mixed_size" 30000
trace "$TMP/large.json" --min-size 1024 -- "$WORK/mixed_size" 30000
read -r _ truth <"$TMP/large.json.stdout"
is_same "both parts" "$(jq -rs '"\(map(.totals.alloc_count) | add) \(map(.totals.alloc_bytes) | add)"' "$TMP/small.json" "$TMP/large.json")" "$truth"
