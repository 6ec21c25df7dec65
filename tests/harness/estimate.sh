# SPDX-License-Identifier: BSD-2-Clause
# Estimates against the truth: of at least 15 of 20 processes the true count and the true bytes lie inside the
# printed 95 % interval. An honest sampler fails that once in a thousand times, so a first failure gives it
# twenty more, and it must then have 32 of 40: a biased one fails again.
#
# What is sampled of one process says nothing about another one, so one session can judge ten of them.

. "$(dirname "$0")/../harness/lib.sh"

# Ten of COMMAND in a session; their process ids are in `pids` afterwards, what they say is in the files `said`.
# Children of a command: `live` isn't asked of them, since what they leave is given back by their end.
ten_children() { # PROFILE OPTIONS... -- COMMAND...
	local out=$1 i
	shift
	trace "$out" --by process "${@:1:split}" -- sh -c 'for i in 0 1 2 3 4 5 6 7 8 9; do
		"$@" >"$OUT.$i" & echo $!; done; wait' sh "${@:split + 2}"
	mapfile -t pids <"$out.stdout"
	said=("$out".[0-9])
}

ten_targets() { # PROFILE OPTIONS... -- COMMAND...
	local out=$1 i gates=()
	shift
	for i in {0..9}; do
		gated "${@:split + 2}"
		pids+=("$TARGET") gates+=("$GATE") said+=("$TARGET_OUT")
	done
	attach "$out" --by process "${@:1:split}" -p "$(IFS=, && echo "${pids[*]}")"
	for i in {0..9}; do
		release "${gates[i]}"
	done
	for i in {0..9}; do
		finish "${pids[i]}"
	done
	attached_done "$out"
}

# estimate_10 OUT WHAT OPTIONS... -- COMMAND...: COMMAND says `WORD COUNT BYTES`, the truth of WHAT (alloc, live).
# Appends `COUNT-INSIDE BYTES-INSIDE` of each to OUT.
estimate_10() {
	local out=$1 what=$2 pids=() said=() split=0 count bytes i
	shift 2
	while [ "${@:split + 1:1}" != -- ]; do
		split=$((split + 1))
	done
	case $what in
	alloc) OUT=$out.json ten_children "$out.json" "$@" ;;
	live) ten_targets "$out.json" "$@" ;;
	esac
	for i in {0..9}; do
		read -r _ count bytes < <(grep -v '^ready' "${said[i]}")
		ask "$out.json" 'def inside($key; $true): if (map(.[$key]) | add - $true | fabs) <=
				1.96 * (map(.[$key + "_se"] | . * .) | add | sqrt) then 1 else 0 end;
			if .exact then error("it says exact") else [.stacks[] | select(.pid == $pid)] end |
			"\(inside($what + "_count"; $count)) \(inside($what + "_bytes"; $bytes))"' \
			--arg what "$what" --argjson pid "${pids[i]}" --argjson count "$count" --argjson bytes "$bytes" >>"$out"
	done
}

inside() { # OUT FIELD
	awk -v f="$2" '{ n += $f } END { print n + 0 }' "$1"
}

good() { # OUT PROCESSES NEEDED
	is_same "processes in ${1##*/}" "$(wc -l <"$1")" "$2"
	[ "$(inside "$1" 1)" -ge "$3" ] && [ "$(inside "$1" 2)" -ge "$3" ]
}

estimates_hold() { # WHAT OPTIONS... -- COMMAND...
	local out
	out=$TMP/$(tr ' /' '-_' <<<"${*:1:3}")
	estimate_10 "$out" "$@"
	estimate_10 "$out" "$@"
	good "$out" 20 15 || {
		estimate_10 "$out" "$@"
		estimate_10 "$out" "$@"
		good "$out" 40 32 || fail "${*:1:3}: truth inside $(inside "$out" 1) (count), $(inside "$out" 2) (bytes) of 40"
	}
}
