#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Our stacks against gdb's: real programs, which are built without frame pointers, run once traced and
# once in gdb, which stops at calls of the allocators chosen by chance. Each stack that gdb finds there
# must be one of ours, equal frame for frame (file and offset) from the allocator's caller to the
# outermost frame.
#
# The programs have to do the same in both runs: same environment, files and arguments, no address
# randomization. SEED chooses the calls; every run takes others.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need gdb nm setarch sqlite3 git perl /usr/bin/python3 gcc
gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1 || skip "this gdb has no python"
SEED=${SEED:-$RANDOM}
HITS=${HITS:-300} # calls of each program
LEAST=99.5        # percent of equal stacks
hits_cnt=0 equal_cnt=0

mkdir "$TMP/dir"
cd "$TMP/dir"
quiet=(env -i PATH=/usr/bin:/bin HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1)
RUN_ENV=(PATH=/usr/bin:/bin LC_ALL=C "PWD=$TMP/dir" "TMPDIR=$TMP/dir" HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1
	PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 PYTHONMALLOC=malloc PERL_HASH_SEED=0)

build_stacks() {
	local libs sanitize=()
	libs=$(sed -n 's/^Libs.private: //p' "$BUILD/allocsnoop.pc")
	[ "$(nm "$BUILD/liballocsnoop.a" 2>/dev/null | grep -c __asan_)" = 0 ] || sanitize=(-fsanitize=address,undefined)
	# shellcheck disable=SC2086
	gcc -O1 -g -Wall -Wextra -Werror "${sanitize[@]}" -I"$TREE/include" -pthread -o "$MADE/stacks" \
		"$SOURCE/embed/stacks.c" "$BUILD/liballocsnoop.a" $libs
}

# choose FILE: HITS of the traced calls, each as likely as any other, as gdb_stacks.py wants them.
choose() {
	awk -v seed="$SEED" -v wanted="$HITS" '
		$1 == "calls" && $2 ~ /^(malloc|calloc|realloc)$/ { calls[$2] += $3; left += $3 }
		END {
			srand(seed)
			for (name in calls) {
				printf " %s", name
				for (i = 1; i <= calls[name]; i++)
					if (rand() * left-- < wanted && wanted-- > 0)
						printf " %d", i
			}
		}' "$1"
}

# show_difference STACK ROWS: beside that of ours which shares most frames with it, from either end.
show_difference() {
	awk -v stack="$1" '
		BEGIN { theirs_cnt = split(stack, theirs) }
		$1 != "stack" { next }
		{
			cnt = NF - 2
			for (n = 0; n < cnt && n < theirs_cnt && $(n + 3) == theirs[n + 1]; n++)
				;
			for (m = 0; m < cnt - n && m < theirs_cnt - n && $(NF - m) == theirs[theirs_cnt - m]; m++)
				;
			if (n + m <= best)
				next
			best = n + m
			nearest = $0
			leaf_cnt = n
			root_cnt = m
		}
		END {
			ours_cnt = split(nearest, ours) - 2
			print "  nearest of ours (" ours[2] "): first " leaf_cnt " and last " root_cnt " frames are equal"
			for (i = 1; i <= theirs_cnt; i++)
				print "  gdb  #" i " " theirs[i] (i > leaf_cnt && i <= theirs_cnt - root_cnt ? "  <--" : "")
			for (i = 1; i <= ours_cnt; i++)
				print "  ours #" i " " ours[i + 2] (i > leaf_cnt && i <= ours_cnt - root_cnt ? "  <--" : "")
		}' "$2"
}

# ours NAME COMMAND...: every stack of the traced program, in $TMP/NAME.ours.
ours() {
	local name=$1
	shift
	setarch -R env -i "${RUN_ENV[@]}" "$MADE/stacks" "$TMP/$name.rows" "$@" </dev/null >/dev/null 2>"$TMP/err" || {
		show "$TMP/err"
		fail "$name: does not run traced"
	}
	sed -n 's/^stack complete //p' "$TMP/$name.rows" | sort -u >"$TMP/$name.ours"
}

# gdbs NAME COMMAND...: stacks of chosen calls, in $TMP/NAME.gdb.
gdbs() {
	local name=$1 chosen chosen_cnt stops_cnt
	shift
	chosen=$(choose "$TMP/$name.rows")
	env -i "${RUN_ENV[@]}" GDB_STACKS_HITS="$chosen" GDB_STACKS_OUT="$TMP/$name.gdb" \
		gdb -nx -batch -x "$TREE/tests/tools/gdb_stacks.py" --args "$@" </dev/null >/dev/null 2>"$TMP/err" || {
		show "$TMP/err"
		fail "$name: does not run in gdb"
	}
	stops_cnt=$(wc -l <"$TMP/$name.gdb")
	chosen_cnt=$(tr ' ' '\n' <<<"$chosen" | grep -c '^[0-9]')
	# Fewer only when the last calls are not made again.
	[ $((stops_cnt * 100)) -ge $((chosen_cnt * 95)) ] || {
		show "$TMP/err"
		fail "$name: gdb stopped at $stops_cnt of $chosen_cnt calls"
	}
}

# compare NAME COMMAND...
compare() {
	local name=$1 cnt different_cnt depths times stack
	ours "$@"
	gdbs "$@"
	grep -vxF -f "$TMP/$name.ours" "$TMP/$name.gdb" >"$TMP/different" || [ $? = 1 ]
	cnt=$(wc -l <"$TMP/$name.gdb")
	[ "$cnt" != 0 ] || fail "$name: no calls"
	different_cnt=$(wc -l <"$TMP/different")
	depths=$(awk '{ n += NF; max = NF > max ? NF : max } END { printf "%.1f frames, at most %d", n / NR, max }' \
		"$TMP/$name.gdb")
	echo "$name: $((cnt - different_cnt)) of $cnt calls equal," \
		"$(sort -u "$TMP/$name.gdb" | wc -l) distinct stacks of $depths"
	while read -r times stack; do
		echo "$name, $times times a stack of gdb's that we have not:"
		show_difference "$stack" "$TMP/$name.rows"
	done < <(sort "$TMP/different" | uniq -c)
	[ "$different_cnt" = 0 ] || grep -E '^loss' "$TMP/$name.rows" || :
	hits_cnt=$((hits_cnt + cnt))
	equal_cnt=$((equal_cnt + cnt - different_cnt))
}

make_inputs() {
	cat >fill.sql <<-'SQL'
		create table t(a integer primary key, b text);
		with recursive n(i) as (select 1 union all select i + 1 from n where i < 400)
			insert into t select i, 'row ' || i from n;
		create index tb on t(b);
		select count(*), max(b) from t where b like 'row 1%';
	SQL
	cat >dump.py <<-'PY'
		import json, re
		print(json.dumps({str(i): [i] * 3 for i in range(100)}, indent=1))
		print(re.sub(r"(a+)(b|c)*", r"<\1>", "aabcbc" * 10))
	PY
	cat >sort.pl <<-'PL'
		my %h;
		$h{$_} = "x" x $_ for 1 .. 300;
		print join ",", sort { $a <=> $b } grep { /1(.)/ && $1 } keys %h;
	PL
	cat >alone.c <<-'C'
		struct node { struct node *next; int key; };
		int sum(struct node *n) { int s = 0; for (; n; n = n->next) s += n->key; return s; }
		int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	C
	touch alone.s
	git init -q repo
	for i in 1 2 3; do
		seq "$i" 200 >"repo/f$i"
		"${quiet[@]}" git -C repo add .
		"${quiet[@]}" git -C repo -c user.name=a -c user.email=a@b commit -q -m "change $i"
	done
}

build_stacks
make_inputs
compare sqlite3 "$(command -v sqlite3)" -init fill.sql :memory: .quit
compare python3 /usr/bin/python3 -I -S dump.py
compare git "$(command -v git)" -C repo log -p --stat
compare perl "$(command -v perl)" sort.pl
compare cc1 "$(gcc -print-prog-name=cc1)" -quiet -O1 alone.c -o alone.s

echo "all: $equal_cnt of $hits_cnt equal (SEED=$SEED)"
[ "$hits_cnt" -ge 500 ] || fail "only $hits_cnt calls were looked at"
awk -v equal="$equal_cnt" -v all="$hits_cnt" -v least="$LEAST" 'BEGIN { exit !(equal * 100 >= all * least) }' ||
	fail "less than $LEAST % equal; the same calls again: SEED=$SEED"
