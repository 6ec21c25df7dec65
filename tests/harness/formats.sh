# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests of formats that others read: one recording in several formats (workload/embed/formats.c).

# formats_build: the program that writes them.
formats_build() {
	local libs sanitize=()
	libs=$(sed -n 's/^Libs.private: //p' "$BUILD/allocsnoop.pc")
	[ "$(nm "$BUILD/liballocsnoop.a" 2>/dev/null | grep -c __asan_)" = 0 ] || sanitize=(-fsanitize=address,undefined)
	# shellcheck disable=SC2086
	gcc -Wall -Wextra -Werror -I"$TREE/include" -pthread "${sanitize[@]}" -o "$MADE/formats" \
		"$SOURCE/embed/formats.c" "$BUILD/liballocsnoop.a" $libs
}

# formats PATH FORMAT,... INTERVAL_MS COMMAND...: PATH.FORMAT, PATH.json and what COMMAND prints in PATH.stdout.
formats() {
	local path=$1 list=$2
	shift 2
	"$MADE/formats" "$path,json,$list" "$@" </dev/null >"$path.stdout" 2>"$path.err" || {
		show "$path.err"
		fail "formats $*: status $?"
	}
	sound "$path.json"
}

# Sums over the stacks, in the order of the members.
json_sums() { # FILE MEMBER...
	jq -r '.stacks as $stacks | [$ARGS.positional[] as $name | [$stacks[][$name]] | add // 0] | join(" ")' \
		"$1" --args "${@:2}"
}

# The readers of formats that come from npm; fetched once, below $BUILD.
READERS=$BUILD/formats

readers() {
	need node npm
	mkdir -p "$READERS"
	exec {lock}>"$READERS/lock"
	flock "$lock"
	cmp -s "$TREE/tests/formats/package-lock.json" "$READERS/installed" || {
		cp "$TREE"/tests/formats/package*.json "$READERS"
		(cd "$READERS" && npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) ||
			fail "npm ci: $(tail -n 3 "$READERS/npm.log")"
		cp "$TREE/tests/formats/package-lock.json" "$READERS/installed"
	}
	cp "$TREE"/tests/formats/*.js "$READERS"
	exec {lock}>&-
}

# read_by SCRIPT ARGUMENTS...: its words, or the end of the test.
read_by() {
	local script=$1
	shift
	node "$READERS/$script.js" "$@" 2>"$TMP/$script.err" || {
		show "$TMP/$script.err"
		fail "$script.js $*"
	}
}
