#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Real programs built without frame pointers, each traced from its start and never seen before: their
# stacks must reach the outermost frame. Prints for each how its samples' walks ended.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need perl
mkdir "$TMP/dir"
cd "$TMP/dir"
export HOME=$TMP/dir GIT_CONFIG_NOSYSTEM=1 PYTHONDONTWRITEBYTECODE=1
LEAST=99.5     # percent of the samples
DISTINCT=1000 # stacks at least, so that the percentage says something
ROOTS=12      # outermost frames at most: entry points and thread starts, not wherever a walk went astray
tried=0 bad=

# walks_end NAME PROFILE: of the frames of a stack, a line each, only the outermost one is kept for jq (a
# profile can be 200 MB). Rows are told apart by names: there are at least as many different walks.
walks_end() {
	local is
	perl -pe 's/"frames": \[.*(\{"function": [^{]*)\], "size_low"/"root": $1, "size_low"/' "$2" >"$TMP/ends.json"
	losses_are_zero "$TMP/ends.json"
	is=$(ask "$TMP/ends.json" '[.stacks[] | select(.alloc_count > 0)] | (map(.alloc_count) | add // 0) as $all |
		map(select(.end == "complete")) as $whole | ($whole | map(.root | [.module, .offset]) | unique | length) as $roots |
		"\(length >= $distinct and ($whole | map(.alloc_count) | add // 0) * 100 >= $all * $least and $roots <= $most) " +
		"\(length) stacks, \($roots) outermost frames, \($all) samples:" +
		([group_by(.end)[] | " \(.[0].end) \((map(.alloc_count) | add) * 10000 / $all | floor / 100) %"] | join(","))' \
		--argjson distinct "$DISTINCT" --argjson least "$LEAST" --argjson most "$ROOTS")
	echo "$1: ${is#* }"
	tried=$((tried + 1))
	[ "${is%% *}" = true ] || bad="$bad $1"
	rm "$2"
}

stacks_of() { # PROGRAM [ARGUMENT...]
	local name=${1##*/}
	command -v "$1" >/dev/null || {
		echo "$name: not installed, left out"
		return 0
	}
	"$SNOOP" -q -f json -o "$TMP/$name.json" -- "$@" </dev/null >"$TMP/$name.out" 2>&1 || {
		show "$TMP/$name.out"
		fail "'$*' fails with status $?"
	}
	walks_end "$name" "$TMP/$name.json"
}

redis_answers() {
	[ "$(redis-cli -s "$TMP/redis" ping 2>/dev/null)" = PONG ]
}

stacks_of_redis() {
	local tool
	for tool in redis-server redis-benchmark redis-cli; do
		command -v "$tool" >/dev/null || {
			echo "redis-server: no $tool, left out"
			return 0
		}
	done
	background "$SNOOP" -q -f json -o "$TMP/redis.json" -- \
		redis-server --port 0 --unixsocket "$TMP/redis" --save "" --appendonly no >"$TMP/redis.out" 2>&1
	SNOOP_PID=$BG
	until_true 30 redis_answers || {
		show "$TMP/redis.out"
		fail "redis-server does not start"
	}
	redis-benchmark -s "$TMP/redis" -n 500 -c 5 -q >"$TMP/benchmark.out"
	redis-cli -s "$TMP/redis" eval 'for i = 1, 300 do redis.call("zadd", "z", i, "m" .. i) end return cjson.encode(redis.call("zrange", "z", 0, -1))' 0 >/dev/null
	redis-cli -s "$TMP/redis" shutdown nosave >/dev/null
	finish "$SNOOP_PID"
	walks_end redis-server "$TMP/redis.json"
}

cat >fill.sql <<'SQL'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
	insert into t select i, 'row ' || i, i / 3.0 from n;
create index tb on t(b);
create view v as select a, b from t where a % 7 = 0;
create trigger tr after update on t begin insert into log values (old.a, new.b); end;
create table log(a, b);
update t set b = b || '!' where a < 100;
select count(*), max(b) from t where b like 'row 1%';
select b, sum(c) over (partition by a % 5 order by a rows between 3 preceding and current row) from t limit 9;
with s as (select a % 10 as k, group_concat(b, ',') as g from t group by k having count(*) > 1) select k, length(g) from s order by g desc;
select json_group_array(json_object('a', a, 'b', b)) from v;
select j.value from t, json_each('[1,2,{"a":[3]}]') j where t.a in (select a from v intersect select a from log) union select a from v except select a from log;
create virtual table f using fts5(x);
insert into f select b from t;
select snippet(f, 0, '<', '>', '...', 5) from f where f match 'row OR "1"' order by rank limit 3;
create virtual table r using rtree(id, x0, x1);
insert into r select a, c, c + 1 from t;
select count(*) from r where x0 > 20 and x1 < 90;
explain query plan select * from t natural join v left join log using (a) where t.b glob 'row*' or t.c between 1 and 2;
savepoint s; delete from t where a > 1000; rollback to s; vacuum; analyze; pragma integrity_check;
select printf('%.3f|%s', 1.5, hex(randomblob(4))), strftime('%Y', 'now'), quote(x'00ff');
.mode csv
select * from t limit 20;
.schema
.dump log
SQL
cat >use.py <<'PY'
import json, re, decimal, urllib.request, unittest, sqlite3, zlib, hashlib
json.dumps({str(i): [i] * 3 for i in range(1000)})
sqlite3.connect(":memory:").execute("select 1").fetchall()
zlib.compress(b"x" * 100000), hashlib.sha256(b"x").hexdigest()
PY
cat >use.pl <<'PL'
use POSIX; use Data::Dumper; use List::Util qw(sum);
my %h = map { $_ => [$_, "x" x $_] } 1 .. 500;
print length Dumper(\%h), sum(keys %h), join ",", sort map { s/(\d)/<$1>/gr } keys %h;
PL
cat >use.cc <<'CC'
#include <algorithm>
#include <map>
#include <string>
#include <vector>
int sorted(std::map<std::string, std::vector<int>> &m) { std::sort(m["a"].begin(), m["a"].end()); return m.size(); }
CC
cat >use.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int cmp(const void *a, const void *b) { return *(int *)a - *(int *)b; }
int main(int c, char **v)
{
	int a[100];
	for (int i = 0; i < 100; i++)
		a[i] = fib(i % 20) ^ i;
	qsort(a, 100, sizeof(*a), cmp);
	for (int i = 0; i < c; i++)
		printf("%d %s\n", a[i], v[i]);
	return 0;
}
C
cat >use.rb <<'RB'
require "json"
require "set"
puts JSON.dump((1..1000).map { |i| [i, i.to_s * 3] }).size, Set.new(1..100).map { |i| "#{i}".gsub(/1/) { "<1>" } }.sort
RB
cat >use.js <<'JS'
JSON.stringify([...Array(1000).keys()].map(i => ({ i, s: String(i) })));
require("zlib").gzipSync("x".repeat(100000));
require("crypto").createHash("sha1").update("x").digest("hex");
JS
cat >use.sh <<'SH'
set -e
git init -q repo
cd repo
git config user.name a
git config user.email a@b
for i in 1 2 3; do
	seq $i 200 >f$i
	git add .
	git commit -q -m "change $i"
done
git checkout -q -b side HEAD~1
seq 1 3 300 >f1
git commit -q -a -m side
git rebase -q HEAD~1
git merge -q -m merge -X ours "$(git rev-parse @{-1})" || git merge --abort
git log -p --stat --graph
git blame -s f1
git grep -n -E '1.*0' HEAD~1
git repack -adfq
git fsck --full
git diff HEAD~1 --word-diff
git archive HEAD
git stash list
git describe --always
SH

stacks_of sqlite3 -init fill.sql :memory: .quit
stacks_of /usr/bin/python3 use.py
stacks_of git -c alias.all='!sh ../dir/use.sh' all
stacks_of perl use.pl
stacks_of openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=a -keyout key.pem -out cert.pem
stacks_of g++ -O1 -c use.cc -o use.o
stacks_of clang -O2 -c use.c -o use.o
stacks_of ruby use.rb
stacks_of node use.js
stacks_of_redis
[ "$tried" -gt 0 ] || skip "none of the programs is here"
[ -z "$bad" ] || fail "less than $LEAST % complete, less than $DISTINCT stacks or more than $ROOTS outermost frames:$bad"
