#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `make demo` shows: sqlite3 fills a table, indexes it and asks it something, under allocsnoop.
# Prints the report and leaves demo.folded in the root of the tree. Usage: demo.sh BUILD
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
snoop=$(realpath "${1:-build}")/allocsnoop
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export HOME=$dir LC_ALL=C.UTF-8 # no .sqliterc of somebody's

cat >demo.sql <<'SQL'
.output result.txt
create table orders(id integer primary key, customer text, cents integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
	insert into orders select i, printf('customer %d', i * 7919 % 500), i * 104729 % 10000 from n;
create index by_customer on orders(customer);
select customer, count(*), sum(cents) from orders group by customer order by 3 desc limit 10;
select group_concat(upper(customer), ', ') from orders where cents > 9000;
SQL

sqlite() { # OPTIONS...
	rm -f demo.db
	"$snoop" "$@" -- sqlite3 demo.db '.read demo.sql'
}

sqlite -t 5
sqlite -q -f folded -o "$root/demo.folded"
echo "demo.folded holds all stacks of a second run, $(wc -l <"$root/demo.folded") of them, with the bytes each asked for"
echo "a flame graph: flamegraph.pl --countname=bytes demo.folded > demo.svg, or drop it on https://speedscope.app"
