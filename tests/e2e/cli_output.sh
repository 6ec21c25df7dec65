#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# -o: the format by its extension, a whole file or none, and one clear line when it can't be written.
. "$(dirname "$0")/../harness/lib.sh"
need_root
need jq

dir=$TMP/dir
mkdir "$dir"
only() { # FILE: nothing but it lies in the directory
	is_same "files left" "$(ls -A "$dir")" "$1"
	rm -f "$dir"/*
}

"$SNOOP" -q -o "$dir/a.json" -- true
jq -e '.allocsnoop == 1' "$dir/a.json" >/dev/null || fail "-o a.json is not JSON"
only a.json
"$SNOOP" -q -o "$dir/a.folded" -- sh -c ':'
! grep -vqE '^[^;]+(;[^;]+)* [0-9]+$' "$dir/a.folded" || fail "-o a.folded is not folded"
only a.folded
"$SNOOP" -q -o "$dir/a.txt" -- true
"$SNOOP" -q -o "$dir/a" -- true
grep -q 'exact' "$dir/a.txt" || fail "-o a.txt is not text"
grep -q 'exact' "$dir/a" || fail "-o a is not text"
rm "$dir/a"
only a.txt
"$SNOOP" -q -f json -o "$dir/a.txt" -- true
jq -e '.allocsnoop == 1' "$dir/a.txt" >/dev/null || fail "-f does not win over the extension"
only a.txt

# Rights: as the umask has it, as the file had it, and the invoking user's under sudo.
(umask 027 && "$SNOOP" -q -o "$dir/a.json" -- true)
is_same "rights of a new file" "$(stat -c %a "$dir/a.json")" 640
chmod 604 "$dir/a.json"
"$SNOOP" -q -o "$dir/a.json" -- true
is_same "rights of a replaced file" "$(stat -c %a "$dir/a.json")" 604
only a.json
SUDO_UID=65534 SUDO_GID=65533 "$SNOOP" -q -o "$dir/a.json" -- true
is_same "owner under sudo" "$(stat -c %u:%g "$dir/a.json")" 65534:65533
only a.json

# A link stays one; a pipe and a device are written in place.
echo old >"$TMP/real.json"
ln -s "$TMP/real.json" "$dir/link.json"
"$SNOOP" -q -o "$dir/link.json" -- true
[ -L "$dir/link.json" ] || fail "-o replaced a link"
jq -e '.allocsnoop == 1' "$TMP/real.json" >/dev/null || fail "-o did not write through a link"
only link.json
mkfifo "$dir/pipe"
cat "$dir/pipe" >"$TMP/piped" & reader=$!
"$SNOOP" -q -f json -o "$dir/pipe" -- true
wait "$reader"
jq -e '.allocsnoop == 1' "$TMP/piped" >/dev/null || fail "-o to a pipe"
only pipe
"$SNOOP" -q -o /dev/null -- true
[ -c /dev/null ] || fail "-o replaced /dev/null"

# What can't be written: before the recording where that can be known.
refused 1 "cannot write '/dev/full': No space left" "$SNOOP" -q -o /dev/full -- true
refused 1 "cannot write '$dir': Is a directory" "$SNOOP" -o "$dir" -- touch "$TMP/ran"
refused 1 "cannot write '.*': No such file or directory" "$SNOOP" -o "$dir/no/x" -- touch "$TMP/ran"
refused 1 "cannot write '.*': Not a directory" "$SNOOP" -o /dev/null/x -- touch "$TMP/ran"
[ ! -e "$TMP/ran" ] || fail "COMMAND ran although its report could not be written"

status=0
"$SNOOP" -q -- true >/dev/full 2>"$TMP/err" || status=$?
is_same "status on a full disk" "$status" 1
is_same "lines on a full disk" "$(grep -c "^allocsnoop: cannot write 'standard output': No space left" "$TMP/err")" 1
status=0
"$SNOOP" -q -- true >&- 2>"$TMP/err" || status=$?
is_same "status without standard output" "$status" 1
is_same "lines without standard output" "$(wc -l <"$TMP/err")" 1

# A disk that fills up keeps the old report, and a disk that can't be written is known before.
command -v unshare >/dev/null || exit 0
mkdir "$TMP/disk"
export SNOOP disk=$TMP/disk
unshare -m bash -eu >"$TMP/disk.out" 2>&1 <<'SCRIPT' || { show "$TMP/disk.out"; fail "on a small disk"; }
mount -t tmpfs -o size=4k tmpfs "$disk" 2>/dev/null || exit 0 # not allowed here
echo old >"$disk/a.json"
status=0
"$SNOOP" -q -o "$disk/a.json" -- perl -e '$x = "y" x 100' || status=$?
[ "$status" = 1 ] || { echo "full disk: status $status"; exit 1; }
[ "$(cat "$disk/a.json")" = old ] || { echo "the old report is gone"; exit 1; }
[ "$(ls -A "$disk")" = a.json ] || { echo "left behind: $(ls -A "$disk")"; exit 1; }
mount -o remount,ro "$disk"
status=0
"$SNOOP" -q -o "$disk/b.json" -- touch "$disk.ran" 2>"$disk.err" || status=$?
[ "$status" = 1 ] && [ ! -e "$disk.ran" ] && grep -q 'Read-only file system' "$disk.err" ||
	{ echo "read-only disk: status $status"; cat "$disk.err"; exit 1; }
SCRIPT
