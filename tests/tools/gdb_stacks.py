# SPDX-License-Identifier: BSD-2-Clause
# Run by gdb: what gdb takes for the stack at chosen calls of libc's allocators, as lines of
# FILE+OFFSET from the caller of the allocator to the outermost frame.
#
# GDB_STACKS_HITS says which calls: `malloc 3 17 240 calloc 5`, counted from 1 for each allocator. gdb
# passes over the calls between by itself (ignore counts), which is many times faster than a condition.
# GDB_STACKS_OUT is where the lines go.
#
# Breakpoints are at the second instruction: at the first there may be a kernel probe of somebody who traces
# the machine, and then the kernel keeps the trap to itself. gdb reads code from the file for the same reason.
import bisect
import os
import re
import subprocess

import gdb

SETTINGS = """
trust-readonly-sections on
pagination off
confirm off
startup-with-shell off
disable-randomization on
debuginfod enabled off
auto-load off
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
    """The process's mappings, to be read at every stop: they change."""

    def read(self):
        self.rows = []
        with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
            for line in maps:
                span, mode, pgoff, _, _, *name = line.rstrip("\n").split(None, 5)
                start, end = (int(x, 16) for x in span.split("-"))
                self.rows.append((start, end, int(pgoff, 16), name[0] if name else "", "x" in mode))

    def find(self, addr):
        i = bisect.bisect(self.rows, (addr, 1 << 64)) - 1
        return self.rows[i] if i >= 0 and addr < self.rows[i][1] else None

    def place(self, addr):
        """FILE+OFFSET, without a FILE the address; None when there is no code."""
        row = self.find(addr - 1)
        if not row or not row[4]:
            return None
        return f"{row[3]}+{addr - row[0] + row[2]:#x}" if row[3].startswith("/") else f"+{addr:#x}"


class Allocator(gdb.Breakpoint):
    """Stops at the calls whose numbers are given, one after the other."""

    def __init__(self, addr, numbers, mappings, out):
        code = gdb.selected_inferior().architecture().disassemble(addr, count=2)
        super().__init__(f"*{code[1]['addr']:#x}", internal=True)
        self.numbers, self.mappings, self.out = numbers, mappings, out
        self.past = 0
        self.next()

    def next(self):
        self.enabled = bool(self.numbers)
        if not self.numbers:
            return
        number = self.numbers.pop(0)
        self.ignore_count = number - self.past - 1
        self.past = number

    def write_stack(self):
        self.mappings.read()
        places = []
        frame = gdb.newest_frame()
        while frame:
            place = self.mappings.place(frame.pc())
            if not place:
                break  # ld.so's entry has no unwind rows: gdb goes on to argc and argv[0]
            if frame.type() not in MADE_UP:
                places.append(place)
            frame = frame.older()
        self.out.write(" ".join(places[1:]) + "\n")


def libc(mappings):
    for start, _, pgoff, path, _ in mappings.rows:
        if pgoff == 0 and re.search(r"/libc\.so\.6$|/libc-2\.\d+\.so$", path):
            return start, path
    return None


def addresses(path):
    """Values of libc's dynamic symbols of the current version; the file begins at address 0."""
    nm = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE, text=True, check=True)
    symbols = (line.split() for line in nm.stdout.splitlines())
    return {name.split("@@")[0]: int(value, 16) for value, _, name in symbols if "@@" in name}


def chosen():
    """The call numbers by allocator, ascending."""
    words = re.findall(r"([a-z]+)((?: \d+)*)", os.environ["GDB_STACKS_HITS"])
    return {name: [int(number) for number in numbers.split()] for name, numbers in words}


def run_until_libc(mappings):
    """Stops before anything of libc has run: the start and the path of the file."""
    gdb.execute("set stop-on-solib-events 1")
    gdb.execute("run", to_string=True)
    mappings.read()
    while not libc(mappings):
        gdb.execute("continue", to_string=True)
        mappings.read()
    gdb.execute("set stop-on-solib-events 0")
    return libc(mappings)


def write_stacks(out):
    mappings = Mappings()
    start, path = run_until_libc(mappings)
    values = addresses(path)
    stopped = []
    gdb.events.stop.connect(lambda event: stopped.extend(getattr(event, "breakpoints", [])))
    for name, numbers in chosen().items():
        Allocator(start + values[name], numbers, mappings, out)
    while True:
        gdb.execute("continue", to_string=True)
        if not gdb.selected_inferior().pid:
            return
        if not stopped:
            raise gdb.GdbError("stopped, and at none of the breakpoints")
        for allocator in stopped:
            allocator.write_stack()
            allocator.next()
        stopped.clear()


def main():
    for setting in SETTINGS.strip().splitlines():
        gdb.execute("set " + setting, to_string=True)
    for name in ("LINES", "COLUMNS", "GDB_STACKS_HITS", "GDB_STACKS_OUT"):
        gdb.execute(f"unset environment {name}")
    with open(os.environ["GDB_STACKS_OUT"], "w") as out:
        write_stacks(out)


main()
