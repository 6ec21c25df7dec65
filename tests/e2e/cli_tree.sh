#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --tree: the same totals as the rows have, at every level, from the start and from the allocators on.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need sqlite3

refused 2 '--tree: means nothing to --format json' "$SNOOP" --tree -f json -- true
refused 2 '--tree: means nothing to --format folded' "$SNOOP" --tree -o x.folded -- true
refused 2 '--tree: not together with --by file, size or type' "$SNOOP" --tree --by size -- true

cat >"$TMP/sql" <<'SQL'
create table t(a, b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into t select i, hex(i) from n;
create index by_b on t(b);
select count(*), max(b) from t where a > 7;
SQL
HOME=$TMP "$SNOOP" -q -o "$TMP/saved.pb.gz" -- sqlite3 :memory: ".read $TMP/sql" >/dev/null
"$SNOOP" report -f json -o "$TMP/rows.json" "$TMP/saved.pb.gz"
events=$(ask "$TMP/rows.json" .totals.alloc_count)
[ "$events" -gt 1000 ] || fail "$events allocations"

tree() { # OPTIONS...
	"$SNOOP" report --tree "$@" "$TMP/saved.pb.gz" >"$TMP/tree" 2>"$TMP/err" || {
		show "$TMP/err"
		fail "--tree $*: status $?"
	}
	is_same "total of --tree $*" "$(sed -n 's/^total .* in \([0-9]*\) allocations$/\1/p' "$TMP/tree")" "$events"
}

# What stands at the left margin adds up to all.
top_level() {
	sed -n '/^ *share/,/^$/p' "$TMP/tree" | sed -nE "s/^ *[0-9.]+ % +([0-9.]+ [KMG]?i?B +)?([0-9]+)  [^ ├└│].*/\2/p" |
		awk '{ sum += $1 } END { print sum + 0 }'
}

tree
is_same "calls below the process" "$(top_level)" "$events"
grep -q '^ *100.0 % .*  sqlite3$' "$TMP/tree" || fail "the process isn't the first line"
grep -q 'more, each below 0.5 %' "$TMP/tree" || fail "nothing is summed up"
tree --by process --value alloc-count
is_same "calls below the process" "$(top_level)" "$events"
grep -qE '^ *100.0 % .*  sqlite3 \(pid [0-9]+\)$' "$TMP/tree" || fail "the process has no id"

# As many nodes as were asked for; the rest is summed up.
tree -t 9
is_same "nodes" "$(sed -n '/^ *share/,/^$/p' "$TMP/tree" | grep ' % ' | grep -cvE ' more$|\[itself\]$')" 9

# From the allocators on: as many calls of each as the other report says.
tree --by function --value alloc-count -t 100000
for name in malloc realloc; do
	is_same "calls of $name" "$(grep -m 1 -E "^ *[0-9.]+ % +[0-9]+  $name  libc" "$TMP/tree" | awk '{ print $3 }')" \
		"$(ask "$TMP/rows.json" '[.stacks[] | select(.frames[0].function == $name) | .alloc_count] | add' --arg name "$name")"
done
