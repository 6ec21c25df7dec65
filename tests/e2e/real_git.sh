#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# git: one process that reads, and a repack with all its children.
. "$(dirname "$0")/../harness/real.sh"
need git
quiet=(env HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 git -C repo -c user.name=a -c user.email=a@b -c gc.auto=0)
git init -q repo
for i in 1 2 3 4; do
	seq "$i" 200 >"repo/f$i"
	"${quiet[@]}" add .
	"${quiet[@]}" commit -q -m "change $i"
done
"${quiet[@]}" -c pack.threads=1 repack -adfq

agree_valgrind git -C repo log -p --stat
agree git -C repo -c pack.threads=1 repack -adfq
