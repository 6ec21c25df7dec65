#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# --probe preset:NAME: pools of the presets' names in a program that keeps books, and CPython's own
# functions, called by a script that counts.
. "$(dirname "$0")/../harness/lib.sh"
need_root

trace "$TMP/pools.json" --probe preset:postgres --probe preset:nginx --probe preset:apr -- "$WORK/named_pools"
as_expected "$TMP/pools.json" "$TMP/pools.json.stdout"
losses_are_zero "$TMP/pools.json"

# Pools are freed all at once, unseen: none of their blocks is called live.
trace "$TMP/live.json" -l --probe preset:postgres -- "$WORK/named_pools"
grep uses_postgres "$TMP/live.json.stdout" >"$TMP/few"
as_expected "$TMP/live.json" "$TMP/few"
is_same "live blocks of a pool" "$(total "$TMP/live.json" live)" "0 0"

python=$(readlink -f /usr/bin/python3) || skip "no python3 here"
"$python" -c 'import ctypes' 2>/dev/null || skip "no ctypes for $python here"
cat >"$TMP/calls.py" <<'END'
import ctypes
api = ctypes.pythonapi
for name in "PyObject_Malloc", "PyMem_Malloc", "PyObject_Realloc", "PyMem_Calloc":
    getattr(api, name).restype = ctypes.c_void_p
size, void = ctypes.c_size_t, ctypes.c_void_p
kept = [void(api.PyObject_Malloc(size(300))) for i in range(200)]
for block in kept[:80]:
    api.PyObject_Free(block)
kept = [void(api.PyObject_Realloc(block, size(7000))) for block in kept[80:]]
kept += [void(api.PyMem_Malloc(size(40))) for i in range(30)]
kept += [void(api.PyMem_Calloc(size(3), size(9))) for i in range(20)]
# function, allocations, bytes, still there, bytes
print("PyObject_Malloc", 200, 200 * 300, 0, 0)
print("PyObject_Realloc", 120, 120 * 7000, 120, 120 * 7000)
print("PyMem_Malloc", 30, 30 * 40, 30, 30 * 40)
print("PyMem_Calloc", 20, 20 * 27, 20, 20 * 27)
import os
os._exit(0)  # what the interpreter frees at its end isn't the question
END
trace "$TMP/python.json" -l --probe preset:cpython -- "$python" "$TMP/calls.py"
losses_are_zero "$TMP/python.json" missed_free # of calls that the compiler has inlined in the interpreter
seen=0
while read -r name truth; do
	seen=$((seen + 1))
	is_same "$name" "$(ask "$TMP/python.json" '.stacks | map(select(.allocator == $name and
		(.frames[1].module | test("libffi")))) | "\(sums("alloc")) \(sums("live"))"' --arg name "$name")" "$truth"
done <"$TMP/python.json.stdout"
# Debian builds its interpreter that way.
size=$((0x$(nm -DS "$python" | awk '$4 ~ /^PyObject_Malloc(@|$)/ { print $2 }')))
is_same "warned of inlined calls" "$(grep -c 'most calls are inlined' "$TMP/python.json.err" || :)" "$((size > 64))"
[ "$seen" = 4 ] || fail "the script said too little"
