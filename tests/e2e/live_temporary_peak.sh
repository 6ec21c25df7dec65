#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Blocks in time: which were temporary, how long the others lived, what was live at the largest moment of the
# heap and when that was, and with an age limit only what is old.
. "$(dirname "$0")/../harness/lib.sh"
need_root

# holds WHAT FILTER LOW HIGH: FILTER, which may ask for $low and $high, is true.
holds() {
	[ "$(ask "$TMP/times.json" "$2" --argjson low "$3" --argjson high "$4")" = true ] ||
		fail "$1: not so with $3 and $4: $(ask "$TMP/times.json" '.duration_ns, .processes, (at_site("t_held") | map(del(.frames)))' -c)"
}

truth() { # WORD: the rest of those lines
	sed -n "s/^$1 //p" "$TMP/times.json.stdout"
}

trace "$TMP/times.json" -l -- "$WORK/live_times"
for what in "" live freed; do
	as_expected "$TMP/times.json" "$TMP/times.json.stdout" $what
done
losses_are_zero "$TMP/times.json"

while read -r site count; do
	is_same "temporary blocks of $site" "$(ask "$TMP/times.json" \
		'at_site($name) | map(.temporary_count) | add' --arg name "$site")" "$count"
done < <(truth temporary)

# Classes are powers of two, [class, freed, live]: none outside what the program measured.
read -r least most < <(truth held)
holds "lifetimes of t_held" 'at_site("t_held") | map(.lifetimes[]) |
	(map(.[1]) | add) == 100 and all(.[]; (.[0] | exp2) as $from |
		$from <= $high and $from * 2 > $low and .[2] == 0)' "$least" "$most"
holds "mean lifetime of t_held" 'at_site("t_held")[] | .freed_mean_ns | . >= $low and . <= $high' "$least" "$most"

while read -r site count bytes; do
	if [ "$site" = total ]; then
		is=$(ask "$TMP/times.json" '.processes | sums("peak")')
	else
		is=$(ask "$TMP/times.json" 'at_site($name) | sums("peak")' --arg name "$site")
	fi
	is_same "peak of $site" "$is" "$count $bytes"
done < <(truth peak)
is_same "sum of the stacks' peaks" "$(ask "$TMP/times.json" '.stacks | sums("peak")')" \
	"$(truth peak | sed -n 's/total //p')"
read -r before after < <(truth peak_ns)
holds "time of the peak" '.duration_ns as $all | .processes[] | .peak_ns | . >= $low and . <= $all - $high' "$before" "$after"

# The old ones are half a second above the limit; the new ones have two seconds to be reported in.
trace "$TMP/ages.json" -l --older 2s -- "$WORK/live_times" ages
as_expected "$TMP/ages.json" "$TMP/ages.json.stdout"
as_expected "$TMP/ages.json" "$TMP/ages.json.stdout" live
