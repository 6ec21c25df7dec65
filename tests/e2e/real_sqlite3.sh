#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# sqlite3 fills a table, indexes and queries it.
. "$(dirname "$0")/../harness/real.sh"
need sqlite3
cat >fill.sql <<'SQL'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
	insert into t select i, 'row ' || i from n;
create index tb on t(b);
select count(*), max(b) from t where b like 'row 1%';
SQL
agree_valgrind sqlite3 -init fill.sql :memory: .quit
