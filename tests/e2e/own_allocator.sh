#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --probe: a pool allocator whose user keeps books, as part of the program and as a library; alone and
# beside malloc, with frees and without.
. "$(dirname "$0")/../harness/lib.sh"
need_root

# probes OBJECT: PROBES are its functions.
probes() {
	PROBES=(--probe "$1:pool_alloc(size=ARG2)"
		--probe "$1:pool_calloc(count=ARG2,size=ARG3)"
		--probe "$1:pool_resize(ptr=ARG2,size=ARG3)"
		--probe "$1:pool_get(out=ARG2,size=ARG3)"
		--probe "$1:pool_node(size=48)"
		--probe "$1:thin_alloc(size=ARG1)")
	FREES=(--probe "$1:free=pool_free(ptr=ARG2)" --probe "$1:free=thin_free(ptr=ARG1)")
}

MALLOCS='.allocator == "malloc" or .allocator == "calloc"'

mallocs() { # FILE: "COUNT BYTES" of what the program asked malloc for
	ask "$1" ".stacks | map(select($MALLOCS)) | count_bytes"
}

# Alone: malloc isn't traced. What isn't there is said, with the name that is, and does no harm.
probes own_pool
trace "$TMP/alone.json" "${PROBES[@]}" --probe 'own_pool:pool_fre(size=ARG1)' --probe 'libnone:f(size=ARG1)' -- \
	"$WORK/own_pool"
as_expected "$TMP/alone.json" "$TMP/alone.json.stdout"
losses_are_zero "$TMP/alone.json"
is_same "calls of malloc with --probe alone" "$(mallocs "$TMP/alone.json")" "0 0"
grep -q "^allocsnoop: probe 'own_pool:pool_fre(size=ARG1)': no such function in 'own_pool'; it has 'pool_free'$" \
	"$TMP/alone.json.err" || fail "no word about a near miss"
grep -q "^allocsnoop: probe 'libnone:f(size=ARG1)': no file 'libnone' was mapped$" "$TMP/alone.json.err" ||
	fail "no word about a missing file"

# `list` shows the places, and no others.
is_same "places" "$("$SNOOP" list --probe 'own_pool:pool_node(size=48)' --probe 'own_pool:free=pool_free(ptr=ARG2)' \
	"$WORK/own_pool" | awk '/0x/ { print $1, $2 }' | sort | tr '\n' ' ')" "own_pool pool_free own_pool pool_node "

# Optimized, one function of the library jumps on to the next, through the PLT, and on to malloc.
cc -D_GNU_SOURCE -O2 -g -fno-builtin -shared -fPIC -DPOOL_ONLY -o "$MADE/libsnooppool.so.1.2" "$SOURCE/own_pool.c"
cc "${WORK_FLAGS[@]}" -DMAIN_ONLY -o "$MADE/pool_user" "$SOURCE/own_pool.c" "$MADE/libsnooppool.so.1.2" \
	-Wl,-rpath,"$MADE"

# With frees, and beside malloc: both layers, with thin_alloc's blocks at the same addresses in both. The
# program by its name, the library by a short one.
while read -r object program; do
	probes "$object"
	out=$TMP/$(basename "$program").json
	FAILS=1 trace "$out" -l -e malloc "${PROBES[@]}" "${FREES[@]}" -- "$program"
	losses_are_zero "$out"
	is_same "calls of malloc" "$(mallocs "$out")" "62 $((60 * 200 + (1 << 20) + 16))"
	is_same "malloc's live blocks" "$(ask "$out" ".stacks | map(select($MALLOCS)) | sums(\"live\")")" \
		"32 $((30 * 200 + (1 << 20) + 16))"
	jq "del(.stacks[] | select($MALLOCS))" "$out" >"$TMP/pool.json"
	for what in '' live freed; do
		as_expected "$TMP/pool.json" "$out.stdout" $what
	done
done <<END
own_pool $WORK/own_pool
libsnooppool.so.1 $MADE/pool_user
END

# A running process; in any file, and by path and offset. Without a free nothing is called live.
gated "$WORK/own_pool"
offset=0x$(readelf -Ws "$WORK/own_pool" | awk '$8 == "pool_node" { print $2 }')
attach "$TMP/pid.json" -l -p "$TARGET" --probe '*:pool_alloc(size=ARG2)' --probe "$WORK/own_pool:$offset(size=48)"
release
finish "$TARGET"
attached_done "$TMP/pid.json"
grep -E '^expect allocates' "$TARGET_OUT" >"$TMP/few"
as_expected "$TMP/pid.json" "$TMP/few"
is_same "by offset" "$(ask "$TMP/pid.json" '.stacks | map(select(.allocator | startswith("own_pool+0x"))) |
	count_bytes')" "80 3840"
is_same "live blocks of pools without frees" "$(total "$TMP/pid.json" live)" "0 0"

# The whole machine, sampled: only the program has such functions, and the estimate is near.
probes own_pool
gated "$WORK/own_pool"
attach "$TMP/all.json" --max-overhead none --sample-rate 1/2 "${PROBES[@]}"
release
finish "$TARGET"
stop_snoop "$TMP/all.json"
ask "$TMP/all.json" '.totals | (.alloc_count - 760) / .alloc_count_se | fabs < 5' | grep -q true ||
	fail "a sampled count is off"
