#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What the compiler and clang-format don't check: which folder may include which (the picture in the
# README), where printing and exiting is allowed, how long files and functions get, and cppcheck.
# One line per finding, "file:line: what"; ends with status 1 when there was any.
set -u
cd "$(dirname "$0")/../.."

# Files that git knows or would take; in an unpacked archive, all.
files() {
	{
		git -c safe.directory='*' ls-files -co --exclude-standard 2>/dev/null ||
			find . -name .git -prune -o -path './build*' -prune -o -type f -print | sed 's|^\./||'
	} | sort -u | while IFS= read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}

read_source() {
	awk -v FILE_MAX=800 -v FUNCTION_MAX=80 '
	# The folders of src/ and what each may include apart from itself. <allocsnoop.h> counts as "api".
	BEGIN {
		may["base"] = " "
		may["elf"] = may["proc"] = " base "
		may["profile"] = " base api "
		may["unwind"] = " base elf abi.h "
		may["dwarf"] = " base elf "
		may["symbol"] = " base elf dwarf proc profile "
		may["target"] = " base elf proc "
		may["report"] = " base profile api "
		may["pprof"] = " base profile api report profile.pb-c.h "
		walk = "slot.bpf.h regs.bpf.h window.bpf.h rows.bpf.h unwind.bpf.h"
		may["trace"] = " base elf proc profile unwind target api abi.h " walk " "
		may["doctor"] = " base proc trace report api "
		may["cli"] = " base api "
		# src/*.c ties the folders together.
		may["glue"] = " base elf proc profile unwind symbol target report pprof trace doctor api abi.h glue "
		word = "(^|[^A-Za-z0-9_])"
		prints = word "(v?printf|v?dprintf|puts|putchar|perror|psignal|v?warnx?|syslog)[ \t]*[(]" \
			"|" word "(stdout|stderr|STDOUT_FILENO|STDERR_FILENO)([^A-Za-z0-9_]|$)"
		ends = word "(exit|quick_exit|abort|assert|v?errx?)[ \t]*[(]"
		token = "/[*]|//|\"([^\"\\\\]|\\\\.)*\"|\047([^\047\\\\]|\\\\.)*\047"
	}

	function finding(line, what) {
		print FILENAME ":" line ": " what
		bad = 1
	}

	# The line without comments and with empty strings; a comment may go on in the next one.
	function code_of(s,   out, kind) {
		out = ""
		while (s != "") {
			if (in_comment) {
				if (!match(s, /[*]\//))
					return out
				s = substr(s, RSTART + 2)
				in_comment = 0
				continue
			}
			if (!match(s, token))
				return out s
			out = out substr(s, 1, RSTART - 1)
			kind = substr(s, RSTART, 2)
			s = substr(s, RSTART + RLENGTH)
			if (kind == "//")
				return out
			if (kind == "/*")
				in_comment = 1
			else
				out = out "\"\""
		}
		return out
	}

	# One word for what is included, "" for the system.
	function meaning(name,   quoted) {
		quoted = name ~ /^"/
		gsub(/[<>"]/, "", name)
		if (name == "allocsnoop.h")
			return "api"
		if (name ~ /^bpf\// || name == "linux/bpf.h" || name == "allocsnoop.skel.h")
			return "kernel"
		if (!quoted || (name == "html_page.inc" && room == "report"))
			return "" # the second is made by the build
		if (name ~ /^[a-z0-9_]+\/[^\/]+$/)
			return substr(name, 1, index(name, "/") - 1)
		return name == "names.h" || name == "making.h" || name == "lines.h" ? "glue" : name
	}

	function check_include(s,   what) {
		sub(/^[ \t]*#[ \t]*include[ \t]*/, "", s)
		sub(/[ \t]*(\/[*].*)?$/, "", s)
		what = meaning(s)
		if (room == "bpf" && s ~ /^".*\//)
			finding(FNR, "bpf/ includes nothing of src/: " s)
		if (room == "include" && s ~ /^"/)
			finding(FNR, "the public header needs only the system: " s)
		if (!(room in may) || what == "" || what == room)
			return
		if (what == "kernel") {
			if (room != "trace")
				finding(FNR, "only src/trace talks to the kernel: " s)
		} else if (!index(may[room], " " what " ")) {
			finding(FNR, (room == "glue" ? "src/" : "src/" room) " may not include " s)
		}
	}

	# Kernel style: a function is what stands between { and } in the first column.
	function check_length(s) {
		if (s ~ /^\{/) {
			start = FNR
		} else if (s ~ /^\}/ && start) {
			if (FNR - start - 1 > FUNCTION_MAX)
				finding(start, "a function of " FNR - start - 1 " lines, " FUNCTION_MAX " are allowed")
			start = 0
		}
	}

	function end_file() {
		if (name != "" && lines > FILE_MAX)
			print name ":" lines ": a file of more than " FILE_MAX " lines"
		bad = bad || (name != "" && lines > FILE_MAX)
	}

	FNR == 1 {
		end_file()
		name = FILENAME
		in_comment = start = 0
		room = name
		if (!sub(/^src\//, "", room))
			sub(/\/.*/, "", room)
		else if (!sub(/\/.*/, "", room))
			room = "glue"
		below_cli = name ~ /^src\// && room != "cli"
		if (room != "glue" && name ~ /^src\// && !(room in may))
			finding(1, "src/" room " has no include rule in tests/tools/lint.sh")
		if ($0 !~ /SPDX-License-Identifier: /)
			finding(1, "the first line names no SPDX licence")
	}

	{
		lines = FNR
		was_comment = in_comment
		code = code_of($0)
	}

	!was_comment && /^[ \t]*#[ \t]*include[ \t]*[<"]/ { check_include($0) }

	below_cli && code ~ prints { finding(FNR, "nothing below src/cli prints: " $0) }
	below_cli && code ~ ends { finding(FNR, "nothing below src/cli exits: " $0) }
	room == "bpf" && code ~ /bpf_printk/ { finding(FNR, "bpf_printk is for debugging") }

	{ check_length(code) }

	END {
		end_file()
		exit bad
	}' "$@"
}

# Paths of one machine. tests/vm is left out: its paths are those of the machine it makes itself.
machine_paths() {
	local found
	found=$(files | grep -v '^tests/vm/' | tr '\n' '\0' |
		xargs -0 grep -HnIoE '(^|[^A-Za-z0-9_.$}/])/(work|root|home)/[A-Za-z0-9_./-]*' |
		sed -E 's|^([^:]*:[0-9]+):[^/]?|\1: a path of one machine: |')
	[ -z "$found" ] || {
		echo "$found"
		return 1
	}
}

# Not told to cppcheck: the system's headers (it reads them slowly and knows the functions anyway).
static_checks() {
	command -v cppcheck >/dev/null || {
		echo "tests/tools/lint.sh:$LINENO: cppcheck is not installed: make deps-check"
		return 1
	}
	# LIBBPF_OPTS declares a variable: cppcheck can't guess that.
	cppcheck -q -j "$(nproc)" --error-exitcode=1 --enable=warning,portability --inline-suppr \
		--template='{file}:{line}: {message} [{id}]' --std=c11 -D_GNU_SOURCE -Isrc -Iinclude -Ibpf \
		-D'LIBBPF_OPTS(type,name,...)=struct type name = { __VA_ARGS__ }' \
		src include 2>&1
}

bad=0
mapfile -t sources < <(files | grep -E '\.(c|h|cc)$')
read_source "${sources[@]}" || bad=1
machine_paths || bad=1
static_checks || bad=1
exit "$bad"
