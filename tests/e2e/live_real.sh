#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real programs: what is live when they end is what valgrind finds in use then, to the block and the byte.
. "$(dirname "$0")/../harness/real.sh"
need valgrind sqlite3 git perl /usr/bin/python3
g++ -O2 -g -o "$MADE/containers" "$SOURCE/lib/containers.cc"

cat >fill.sql <<'SQL'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
	insert into t select i, 'row ' || i from n;
create index tb on t(b);
SQL
git init -q repo
seq 200 >repo/f
git -C repo add .
git -C repo -c user.name=a -c user.email=a@b commit -q -m first

agree_live "$MADE/containers"
agree_live sqlite3 -init fill.sql :memory: .quit
agree_live perl -e 'my %h; $h{$_} = "x" x $_ for 1 .. 300; print join ",", sort keys %h'
agree_live git -C repo log -p --stat
agree_live /usr/bin/python3 -I -S -c 'import json; json.dumps({str(i): [i] * 3 for i in range(100)})'
