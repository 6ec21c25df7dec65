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

# What is driven by node: pages, images, and the readers of formats that npm has (tests/browser/).
export MODULES=$BUILD/tests/browser/node_modules CHROMIUM

need_browser() {
	need node npm chromium
	CHROMIUM=$(command -v chromium)
	[ -d "$MODULES" ] || skip "no npm packages: make browser-tests, which needs the network once"
}

# read_by SCRIPT ARGUMENTS...: its words, or the end of the test.
read_by() {
	local script=$1
	shift
	node "$TREE/tests/browser/$script.js" "$@" 2>"$TMP/$script.err" || {
		show "$TMP/$script.err"
		fail "$script.js $*"
	}
}
