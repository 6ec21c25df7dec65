# SPDX-License-Identifier: BSD-2-Clause
# Sourced by tests that ask pprof's own tool about a profile.
export HOME=$TMP PPROF_TMPDIR=$TMP
PROFILES=$BUILD/tests/tools/profiles

pprof() {
	go tool pprof -symbolize=none "$@" 2>"$TMP/pprof.err" || {
		show "$TMP/pprof.err"
		fail "go tool pprof $*"
	}
}

# raw_sums FILE: the sums of the columns of values.
raw_sums() {
	pprof -raw "$1" | awk '
		/^Locations/ { in_samples = 0 }
		in_samples && /^ *-?[0-9]+( +-?[0-9]+)*: / {
			sub(/:.*/, "")
			for (i = 1; i <= NF; i++)
				sum[i] += $i
			columns = NF
		}
		/^Samples:/ { in_samples = 1 }
		END {
			for (i = 1; i <= columns; i++)
				printf "%s%d", (i > 1 ? " " : ""), sum[i]
		}'
}
