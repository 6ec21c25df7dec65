#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Turns what a terminal shows (tmux capture-pane -e) into an SVG picture.

usage: pane_svg.py COLUMNS [TITLE] <PANE >PICTURE

Each word is one text element whose place and length are given in columns, so that it is there whatever
font the reader has. Knows the sequences that tmux writes: SGR with the 8 colours, bold,
faint, reverse.
"""
import re
import sys
import unicodedata
from html import escape

CELL_W, CELL_H, MARGIN, BAR = 8.4, 18, 14, 26
PAGE, TEXT, FAINT = "#16191f", "#d5d9e0", "#7d8590"
COLOURS = ["#3a3f4b", "#f2777a", "#92d192", "#ffd479", "#6ab0f3", "#e1a6f2", "#76d4d6", "#d5d9e0"]


def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


class Look:
    """The attributes that hold from here on."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.colour, self.bold, self.faint, self.reverse = None, False, False, False

    def apply(self, codes):
        for code in (int(c or 0) for c in codes.split(";")):
            if code == 0:
                self.reset()
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.faint = True
            elif code == 22:
                self.bold = self.faint = False
            elif code in (7, 27):
                self.reverse = code == 7
            elif 30 <= code <= 37:
                self.colour = COLOURS[code - 30]
            elif 90 <= code <= 97:
                self.colour = COLOURS[code - 90]
            elif code == 39:
                self.colour = None

    def key(self):
        ink = self.colour or (FAINT if self.faint else TEXT)
        return (PAGE, ink, self.bold) if self.reverse else (ink, None, self.bold)


def runs(line, look):
    """(text, (ink, ground, bold)) of a line; looks go on from line to line."""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            look.apply(part[2:-1])
        elif part:
            yield re.sub(r"[\x00-\x1f]", "", part), look.key()


def draw(line, y, look):
    x = 0
    for text, (ink, ground, bold) in runs(line, look):
        cells = width(text)
        left, size = MARGIN + x * CELL_W, cells * CELL_W
        if ground:
            yield f'<rect x="{left:.1f}" y="{y}" width="{size:.1f}" height="{CELL_H}" fill="{ground}"/>'
        weight = ' font-weight="bold"' if bold else ""
        for word in re.finditer(r"\S+(?: \S+)*", text):
            at = MARGIN + (x + width(text[: word.start()])) * CELL_W
            yield (f'<text x="{at:.1f}" y="{y + 13}" textLength="{width(word[0]) * CELL_W:.1f}" '
                   f'lengthAdjust="spacingAndGlyphs" fill="{ink}"{weight}>{escape(word[0])}</text>')
        x += cells


def main():
    columns = int(sys.argv[1])
    title = sys.argv[2] if len(sys.argv) > 2 else ""
    lines = sys.stdin.read().rstrip("\n").split("\n")
    w, h = columns * CELL_W + 2 * MARGIN, len(lines) * CELL_H + BAR + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" '
          f'height="{h:.0f}" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
          'font-size="14" role="img">')
    print(f"<title>{escape(title)}</title>")
    print(f'<rect width="100%" height="100%" rx="8" fill="{PAGE}"/>')
    print(f'<text x="{w / 2:.0f}" y="22" fill="{FAINT}" text-anchor="middle">{escape(title)}</text>')
    look = Look()
    for i, line in enumerate(lines):
        for element in draw(line, MARGIN + BAR + i * CELL_H, look):
            print(element)
    print("</svg>")


if __name__ == "__main__":
    main()
