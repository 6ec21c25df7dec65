#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Go: stacks that move while they are probed, exact counts, whole stacks; with symbols, stripped, as a
# position-independent program, and with C in it (then C's linker puts the tables elsewhere).
. "$(dirname "$0")/../harness/lib.sh"
need_root
need go
export HOME=${HOME:-/root} GO111MODULE=off GOFLAGS= GOCACHE=$MADE/cache

build() { # NAME OPTIONS...
	[ "$MADE/$1" -nt "$SOURCE/goroutines.go" ] || go build -o "$MADE/$1" "${@:2}" "$SOURCE/goroutines.go"
}

# What the allocator was asked for by these callers, in stacks that lead to where goroutines begin.
asked_by() { # FILE CALLER CALLER
	ask "$1" 'along($names) | map(select(."end" == "complete" and (.frames[-1]["function"] | startswith("runtime.goexit"))))
		| count_bytes' --argjson names "[\"$2\",\"$3\"]"
}

check() { # PROFILE TRUTH
	local word caller maker truth
	[ "$(grep -c '^expect' "$2")" = 2 ] || fail "the program did not end well: $(head -3 "$2")"
	while read -r word caller maker truth; do
		is_same "$maker in ${1##*/}" "$(asked_by "$1" "$caller" "$maker")" "$truth"
	done <"$2"
	losses_are_zero "$1"
}

build plain
build stripped -ldflags '-s -w'
build pie -buildmode=pie -ldflags '-s -w'
for kind in plain stripped pie; do
	trace "$TMP/$kind.json" -- "$MADE/$kind"
	check "$TMP/$kind.json" "$TMP/$kind.json.stdout"
done

# Its collector's frees can't be seen: nothing may be called live or freed.
trace "$TMP/live.json" --live -- "$MADE/stripped"
check "$TMP/live.json" "$TMP/live.json.stdout"
is_same "live, freed and uncollected" \
	"$(ask "$TMP/live.json" '"\([.stacks[].live_count] | add) \([.stacks[].freed_count] | add) \([.stacks[] | select(.collected | not)] | length)"')" "0 0 0"

# No symbols but the function table, and C's start-up code in front of Go's.
cat >"$TMP/cgo.go" <<'END'
package main

// #include <stdlib.h>
import "C"

type block [3000]byte

var kept []*block

//go:noinline
func makeBlock() *block { return new(block) }

func main() {
	for i := 0; i < 100; i++ {
		kept = append(kept, makeBlock())
		C.free(C.malloc(1000))
	}
}
END
go build -buildmode=pie -ldflags '-s -w' -o "$TMP/cgo" "$TMP/cgo.go"
trace "$TMP/cgo.json" -- "$TMP/cgo"
is_same "Go's blocks beside C's" "$(asked_by "$TMP/cgo.json" runtime.newobject main.makeBlock)" "100 300000"
is_same "C's blocks in Go" \
	"$(ask "$TMP/cgo.json" '[.stacks[] | select(.frames[-1]["function"] == "runtime.asmcgocall" and .alloc_bytes == 100000)] | count_bytes')" \
	"100 100000"
