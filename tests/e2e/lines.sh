#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Source lines and inlined functions of real recordings: the workload says which line calls what. From its own
# debugging information, from a debug file that is found by build id, of a file that was deleted, and of Go.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need g++

DEBUG_DIR= # what was put below /usr/lib/debug
gone() {
	[ -z "$DEBUG_DIR" ] || rm -rf "$DEBUG_DIR"
	cleanup
}
trap gone EXIT

compile() { # NAME FLAGS...
	local name=$1
	shift
	g++ -O2 -I"$SOURCE" -D_GNU_SOURCE -fno-builtin "$@" -o "$MADE/$name" "$SOURCE/inlined.cc"
}

# chain_is PROFILE TRUTH: one stack, with these functions in these lines; all but those with symbols are inlined.
chain_is() {
	local want is
	want=$(awk '
		$1 == "where" { line[$2] = $3 }
		END {
			print "pool::take:" line["pool::take"] ":true"
			print "void* make<long [16]>:" line["make"] ":true"
			print "space::several:" line["several"] ":false"
			print "main:" line["main"] ":false"
		}' "$2")
	is=$(ask "$1" '.stacks[] | select(.alloc_count == 100 and .alloc_bytes == 12800) | .frames[1:5][] |
		"\(.function | split("(")[0]):\(.line):\(.inlined)"')
	is_same "frames in ${1##*/}" "$is" "$want"
	is_same "their files" "$(ask "$1" '.stacks[] | select(.alloc_count == 100) | .frames[1:5][].file' | sort -u)" \
		"$SOURCE/inlined.cc"
	losses_are_zero "$1"
}

# The process is over when its lines are looked up.
compile whole -g
trace "$TMP/whole.json" --lines -- "$MADE/whole"
chain_is "$TMP/whole.json" "$TMP/whole.json.stdout"
as_expected "$TMP/whole.json" "$TMP/whole.json.stdout"

# Not asked for, there are none.
trace "$TMP/plain.json" -- "$MADE/whole"
is_same "lines without --lines" "$(ask "$TMP/plain.json" '[.stacks[].frames[] | select(.file or .inlined or .line > 0)] | length')" 0
stack_is "$TMP/plain.json" "space::several main" 100 12800

# A stripped program; what is taken from it lies where distributions put it.
id=$(head -c 18 /dev/urandom | od -An -tx1 | tr -d ' \n')
DEBUG_DIR=/usr/lib/debug/.build-id/${id:0:2}
[ ! -e "$DEBUG_DIR" ] || DEBUG_DIR=
compile debugged -g -Wl,--build-id=0x"$id"
mkdir -p "/usr/lib/debug/.build-id/${id:0:2}"
file=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
objcopy --only-keep-debug --compress-debug-sections "$MADE/debugged" "$file"
[ -n "$DEBUG_DIR" ] || DEBUG_DIR=$file
strip -s -o "$MADE/stripped" "$MADE/debugged"
trace "$TMP/stripped.json" --lines --live -- "$MADE/stripped"
chain_is "$TMP/stripped.json" "$TMP/stripped.json.stdout"

# Deleted while it runs, and attached to then.
cp "$MADE/whole" "$TMP/deleted"
gated "$TMP/deleted"
rm "$TMP/deleted"
attach "$TMP/deleted.json" --lines -p "$TARGET"
release
finish "$TARGET"
attached_done "$TMP/deleted.json"
chain_is "$TMP/deleted.json" "$TARGET_OUT"

# Go says itself where its functions are, and what was inlined.
if command -v go >/dev/null; then
	cat >"$MADE/lines.go" <<-'END'
		package main

		import "runtime"

		var kept [][]byte

		func small(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = 1
			}
			return b
		}

		//go:noinline
		func several(n int) {
			for i := 0; i < n; i++ {
				kept = append(kept, append(small(1000), 1)[:0])
			}
		}

		func add(n int) { several(n) }

		func main() {
			kept = make([][]byte, 0, 100)
			add(100)
			runtime.KeepAlive(kept)
		}
	END
	(cd "$MADE" && GOCACHE=$MADE/cache GOFLAGS='' go build -o golines lines.go)
	trace "$TMP/go.json" --lines -- "$MADE/golines"
	is_same "Go's frames" "$(ask "$TMP/go.json" '[.stacks[] | select(.alloc_count == 100 and .alloc_bytes == 100000)][0].frames |
		map(select(.function | startswith("main.")) | "\(.function):\(.line):\(.inlined)") | join(" ")')" \
		"main.small:8:true main.several:18:false main.add:22:true main.main:26:false"
fi
