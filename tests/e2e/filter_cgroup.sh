#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --cgroup: processes in the cgroup and below count, others don't; one that is moved in counts from then on,
# and what becomes of its blocks is seen after it was moved out, too.
# alone: has probes in every process
. "$(dirname "$0")/../harness/lib.sh"
need_root

mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
[ -n "$mount" ] || skip "no unified cgroup hierarchy is mounted"
id=$(printf '%012x' $$)$(printf '%052x' "${EPOCHREALTIME/./}")
GROUP=$mount/snoop-test-$$
mkdir -p "$GROUP/docker-$id.scope" 2>/dev/null || skip "cgroups cannot be made here"

# shellcheck disable=SC2329 # called by the trap
groups_gone() {
	local status=$?
	for pid in $(jobs -pr); do
		kill -KILL "$pid" 2>/dev/null || :
	done
	wait 2>/dev/null || :
	rmdir "$GROUP/docker-$id.scope" "$GROUP" || :
	(exit "$status")
}
trap 'groups_gone; cleanup' EXIT

move() { # PID GROUP
	echo "$1" >"$2/cgroup.procs"
}

at() { # WORD
	until_true 20 grep -q "^$1" "$TARGET_OUT" || fail "the workload does not say '$1'"
}

# In it, below it, beside it, and one that comes and goes.
export IN_FIFO=$TMP/in OUT_FIFO=$TMP/out
mkfifo "$IN_FIFO" "$OUT_FIFO"
for name in inside below beside; do
	cp "$WORK/follow" "$TMP/$name"
	gated "$TMP/$name" leaf 11
	eval "$name=\$TARGET ${name}_gate=\$GATE"
done
move "$inside" "$GROUP"
move "$below" "$GROUP/docker-$id.scope"
gated "$WORK/follow" moves
attach "$TMP/group.json" -l --cgroup "snoop-test-$$"
for name in inside below beside; do
	pid=$name gate=${name}_gate
	release "${!gate}"
	finish "${!pid}"
done
release
at in
move "$TARGET" "$GROUP"
release "$IN_FIFO"
at out
move "$TARGET" "$mount"
release "$OUT_FIFO"
finish "$TARGET"
stop_snoop "$TMP/group.json"
echo "expect f_leaf 11 660" >"$TMP/leaf"
for name in inside below; do
	COMM=$name site_is "$TMP/group.json" f_leaf 11 660
done
is_same "outsiders" "$(ask "$TMP/group.json" '[.processes[] | select(.comm == "beside")] | length')" 0
grep -v total "$TARGET_OUT" >"$TMP/truth"
COMM=follow as_expected "$TMP/group.json" "$TMP/truth"
COMM=follow as_expected "$TMP/group.json" "$TMP/truth" freed
is_same "groups" "$(ask "$TMP/group.json" '[.processes[] | "\(.comm) \(.cgroup) \(.container)"] | sort | join(", ")')" \
	"below /snoop-test-$$/docker-$id.scope ${id:0:12}, follow /snoop-test-$$ , inside /snoop-test-$$ "

# By the beginning of a container's id, and of its whole path; what means nothing, or no cgroup.
for name in "${id:0:11}" "$GROUP/docker-$id.scope"; do
	gated "$WORK/follow" leaf 3
	move "$TARGET" "$GROUP/docker-$id.scope"
	attach "$TMP/container.json" --max-overhead none --cgroup "$name"
	release
	finish "$TARGET"
	stop_snoop "$TMP/container.json"
	as_expected "$TMP/container.json" "$TARGET_OUT"
done
refused 1 "no such directory .* and no container" "$SNOOP" --cgroup nobody-has-this
refused 1 "not a directory of the unified" "$SNOOP" --cgroup /proc
refused 2 "not together with a COMMAND" "$SNOOP" --cgroup / -- true
