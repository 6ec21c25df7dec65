# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the tests of report formats after lib.sh: the readers of formats that come from npm. They
# are fetched once, below $BUILD.
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
