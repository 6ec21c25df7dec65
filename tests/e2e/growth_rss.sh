#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -e fault against RssAnon, the kernel's own count: 2 GiB in small pages and, where there are any, in large
# ones; what is read only, written again or copied after a fork is no growth; threads, samples, other targets.
. "$(dirname "$0")/../harness/lib.sh"
need_root

mib=2048
[ "$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)" -gt $((mib + 512)) ] || mib=256

# near FILE TRUTH: bytes of touch_pages within 2 % of what the workload saw of RssAnon. Prints them.
near() {
	local is rss
	rss=$(sed -n 's/^rss_anon //p' "$2")
	is=$(site_sum "$1" touch_pages)
	[ "$rss" -ge $((mib << 20)) ] || fail "RssAnon has grown by $rss only"
	[ $((${is#* } * 100)) -ge $((rss * 98)) ] && [ $((${is#* } * 100)) -le $((rss * 102)) ] ||
		fail "touch_pages in ${1##*/}: $is, and RssAnon has grown by $rss"
	is_same "other growth of ${1##*/}" "$(site_sum "$1" touch_again)$(site_sum "$1" read_pages)" "0 00 0"
	is_same "stacks that aren't whole" "$(ask "$1" '[.stacks[] | select(.end != "complete")] | length')" 0
	losses_are_zero "$1"
}

trace "$TMP/small.json" -e fault -- "$WORK/growth" touch "$mib"
near "$TMP/small.json" "$TMP/small.json.stdout"
if grep -qE '\[(madvise|always)\]' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null; then
	trace "$TMP/huge.json" -e fault -- "$WORK/growth" touch "$mib" huge
	near "$TMP/huge.json" "$TMP/huge.json.stdout"
	count=$(site_sum "$TMP/huge.json" touch_pages)
	[ "${count% *}" -lt $((mib * 64)) ] || fail "no large pages: ${count% *} faults"
fi

trace "$TMP/fork.json" -e fault -- "$WORK/growth" fork 64
as_expected "$TMP/fork.json" "$TMP/fork.json.stdout"
trace "$TMP/threads.json" -e fault -- "$WORK/growth" threads
as_expected "$TMP/threads.json" "$TMP/threads.json.stdout"

# A process that runs already, sampled: the estimate within five standard errors.
gated "$WORK/growth" touch 256
attach "$TMP/sampled.json" -e fault --sample-rate 1/100 -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/sampled.json"
ask "$TMP/sampled.json" '.totals | (.alloc_bytes - ($rss | tonumber) | fabs) < 5 * .alloc_bytes_se and .alloc_bytes_se > 0 and .sampled_count < 2000' \
	--arg rss "$(sed -n 's/^rss_anon //p' "$TARGET_OUT")" | grep -qx true || fail "the estimate: $(total "$TMP/sampled.json")"

# Among every process of the machine.
attach "$TMP/all.json" -e fault
"$WORK/growth" fork 16 >"$TMP/all.out"
stop_snoop "$TMP/all.json"
COMM=growth as_expected "$TMP/all.json" "$TMP/all.out"
