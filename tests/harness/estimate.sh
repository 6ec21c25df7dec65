# SPDX-License-Identifier: BSD-2-Clause
# Estimates against the truth: in at least 15 of 20 runs the true count and the true bytes lie inside the
# printed 95 % interval. An honest sampler fails that once in a thousand times, so a first failure gives it
# twenty more runs, and it must then have 32 of 40: a biased one fails again.

. "$(dirname "$0")/../harness/lib.sh"

# estimate OUT WHAT OPTIONS... -- COMMAND...: one run. COMMAND's first line is `WORD COUNT BYTES`, the truth of
# WHAT (alloc, live). Appends `COUNT-INSIDE BYTES-INSIDE` to OUT.
estimate() {
	local profile=$1.$BASHPID.json count bytes
	"$SNOOP" -q -f json -o "$profile" "${@:3}" </dev/null >"$profile.stdout"
	read -r _ count bytes <"$profile.stdout"
	ask "$profile" 'def inside($key; $true): if (.[$key] - $true | fabs) <= 1.96 * .[$key + "_se"] then 1 else 0 end;
		if .exact then error("it says exact") else . end | .totals |
		"\(inside($what + "_count"; $count)) \(inside($what + "_bytes"; $bytes))"' \
		--arg what "$2" --argjson count "$count" --argjson bytes "$bytes" >>"$1"
	rm "$profile" "$profile.stdout"
}

estimate_20() { # OUT WHAT OPTIONS... -- COMMAND...: four at a time, as each mostly waits for the kernel
	local pid pids
	for _ in {1..5}; do
		pids=()
		for _ in {1..4}; do
			estimate "$@" &
			pids+=($!)
		done
		for pid in "${pids[@]}"; do
			wait "$pid"
		done
	done
}

inside() { # OUT FIELD
	awk -v f="$2" '{ n += $f } END { print n + 0 }' "$1"
}

good() { # OUT RUNS NEEDED
	is_same "runs in ${1##*/}" "$(wc -l <"$1")" "$2"
	[ "$(inside "$1" 1)" -ge "$3" ] && [ "$(inside "$1" 2)" -ge "$3" ]
}

estimates_hold() { # WHAT OPTIONS... -- COMMAND...
	local out
	out=$TMP/$(tr ' /' '-_' <<<"${*:1:3}")
	estimate_20 "$out" "$@"
	good "$out" 20 15 || {
		estimate_20 "$out" "$@"
		good "$out" 40 32 || fail "${*:1:3}: truth inside $(inside "$out" 1) (count), $(inside "$out" 2) (bytes) of 40"
	}
}
