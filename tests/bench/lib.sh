# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the benches: where the probe is, whether it's there, medians, limits.
. "$(dirname "${BASH_SOURCE[0]}")/../harness/lib.sh"
need_root
ROUNDS=${ROUNDS:-5}
libc=$(ldd "$WORK/storm" | awk '/libc\.so\.6/ { print $3 }')
entry=$(nm -D --defined-only "$libc" | awk '$3 ~ /^malloc@@/ { print "0x" $1 }')

# The file offset that allocsnoop probes for malloc, from its own list.
probed=$("$SNOOP" list "$libc" | awk '$0 ~ /malloc/ { for (i = 1; i <= NF; i++) if ($i == "malloc") for (j = 1; j <= NF; j++)
	if ($j ~ /^0x[0-9a-f]+$/) { print $j; exit } }')
[ -n "$probed" ] || fail "allocsnoop list names no offset for malloc"

build_bpf() { # NAME
	clang -O2 -g -Wall -Werror -target bpf -idirafter "/usr/include/$(cc -print-multiarch)" -c -o "$MADE/$1.bpf.o" "tests/bench/$1.bpf.c"
}

build_c() { # NAME
	cc -O2 -Wall -Wextra -Werror -o "$MADE/$1" "tests/bench/$1.c" -lbpf
}

byte_at() { # PID FILE FILE-OFFSET: one byte of text, as the process would execute it
	local range perms start file
	while read -r range perms start _ _ file; do
		[ "$file" = "$2" ] && [[ $perms = *x* ]] || continue
		dd if="/proc/$1/mem" bs=1 count=1 skip=$((0x${range%-*} - 0x$start + $3)) status=none | od -An -tx1 | tr -d ' '
		return
	done <"/proc/$1/maps"
}

trapped() { # PID FILE
	[ "$(byte_at "$1" "$2" "$probed")" = cc ] || [ "$(byte_at "$1" "$2" "$entry")" = cc ]
}

# The probe is placed, and allocsnoop has said that it counts, too.
ready() { # TRACER PID FILE MESSAGES
	trapped "$2" "$3" && { [[ $1 != snoop* ]] || is_tracing "$4"; }
}

median() { # FILE FIELD
	awk -v f="$2" '{ print $f }' "$1" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

about_machine() {
	echo "Linux $(uname -r), $(nproc) CPUs: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
}

over=0
limit() { # WORDS A B FACTOR: A <= B * FACTOR
	awk -v a="$2" -v b="$3" -v f="$4" 'BEGIN { exit !(a <= b * f) }' && return
	echo "over the limit: $1 ($2 > $4 x $3)" >&2
	over=1
}
