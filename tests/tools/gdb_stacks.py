# SPDX-License-Identifier: BSD-2-Clause
# Run by gdb: what gdb takes for the stack at chosen calls of libc's allocators, as lines of
# FILE+OFFSET from the caller of the allocator to the outermost frame.
#
# GDB_STACKS_HITS says which calls: `malloc 3 17 240 calloc 5`, counted from 1 for each allocator. gdb
# passes over the calls between by itself (ignore counts), which is many times faster than a condition.
# GDB_STACKS_OUT is where the lines go.
import bisect
import os
import re
import subprocess

import gdb

SETTINGS = """
pagination off
confirm off
startup-with-shell off
disable-randomization on
debuginfod enabled off
auto-load off
breakpoint pending on
stop-on-solib-events 1
backtrace past-main on
backtrace past-entry on
backtrace limit 2000
detach-on-fork on
follow-fork-mode parent
print thread-events off
print inferior-events off
"""
# Frames without a place on the stack: gdb makes them up from debug information, for the reader.
MADE_UP = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)


class Mappings:
    def __init__(self):
        self.rows = []

    def read(self):
        self.rows = []
        with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
            for line in maps:
                span, _, pgoff, _, _, *name = line.rstrip("\n").split(None, 5)
                start, end = (int(x, 16) for x in span.split("-"))
                self.rows.append((start, end, int(pgoff, 16), name[0] if name else ""))

    def find(self, addr):
        i = bisect.bisect(self.rows, (addr, 1 << 64)) - 1
        return self.rows[i] if i >= 0 and addr < self.rows[i][1] else None

    def place(self, addr):
        row = self.find(addr - 1)
        if not row or not row[3].startswith("/"):
            self.read()
            row = self.find(addr - 1)
        if not row or not row[3].startswith("/"):
            return f"+{addr:#x}"
        return f"{row[3]}+{addr - row[0] + row[2]:#x}"


class Allocator(gdb.Breakpoint):
    """Stops at the calls whose numbers are given, one after the other."""

    def __init__(self, addr, numbers, mappings, out):
        super().__init__(f"*{addr:#x}", internal=True)
        self.numbers, self.mappings, self.out = numbers, mappings, out
        self.past = 0
        self.next()

    def next(self):
        if not self.numbers:
            self.enabled = False
            return
        number = self.numbers.pop(0)
        self.ignore_count = number - self.past - 1
        self.past = number

    def write_stack(self):
        line = []
        frame = gdb.newest_frame().older()
        while frame:
            if frame.type() not in MADE_UP:
                line.append(self.mappings.place(frame.pc()))
            frame = frame.older()
        self.out.write(" ".join(line) + "\n")


def libc(mappings):
    for start, _, pgoff, path in mappings.rows:
        if pgoff == 0 and re.search(r"/libc\.so\.6$|/libc-2\.\d+\.so$", path):
            return start, path
    return None


def addresses(path):
    """Values of libc's dynamic symbols: the file begins at address 0."""
    table = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {name.split("@")[0]: int(value, 16) for value, _, name in (line.split() for line in table.splitlines())
            if "@@" in name}


def chosen():
    numbers = {}
    for word in os.environ["GDB_STACKS_HITS"].split():
        if word.isdigit():
            numbers[name].append(int(word))
        else:
            name = word
            numbers[name] = []
    return numbers


def until_libc(mappings):
    gdb.execute("run")
    while True:
        mappings.read()
        if libc(mappings):
            return libc(mappings)
        gdb.execute("continue")


def main():
    for setting in SETTINGS.strip().splitlines():
        gdb.execute("set " + setting, to_string=True)
    for name in ("LINES", "COLUMNS", "GDB_STACKS_HITS", "GDB_STACKS_OUT"):
        gdb.execute(f"unset environment {name}")
    mappings = Mappings()
    start, path = until_libc(mappings)
    gdb.execute("set stop-on-solib-events 0")
    values = addresses(path)
    stopped = []
    gdb.events.stop.connect(lambda event: stopped.extend(getattr(event, "breakpoints", [])))
    with open(os.environ["GDB_STACKS_OUT"], "w") as out:
        for name, numbers in chosen().items():
            Allocator(start + values[name], numbers, mappings, out)
        while True:
            gdb.execute("continue", to_string=True)
            if not gdb.selected_inferior().pid:
                break
            for breakpoint in stopped:
                breakpoint.write_stack()
                breakpoint.next()
            if not stopped:
                raise gdb.GdbError("stopped without a breakpoint")
            stopped.clear()


main()
