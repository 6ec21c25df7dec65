#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What reports add up to: sums.py FILE..., where each NAME.json begins a list of files that were written of the same.
Each of them must keep to its grammar, say nothing twice that differs, and have the sums that JSON has; the end of
its name tells its format, and what stands before that of a folded one its value: NAME.alloc-bytes.folded."""
import csv
import json
import re
import sys

NAMES = ['alloc_bytes', 'alloc_count', 'live_bytes', 'live_count', 'peak_bytes', 'grown_bytes', 'temporary_count']
NAMES += ['base_' + name for name in NAMES[:4]]
TITLES = {
    'allocated bytes': 'alloc_bytes', 'allocations': 'alloc_count', 'live bytes': 'live_bytes',
    'live blocks': 'live_count', 'bytes at the peak': 'peak_bytes', 'growth of live bytes': 'grown_bytes',
    'temporary blocks': 'temporary_count',
}


def grown(name, number):
    return max(number, 0) if name == 'grown_bytes' else number  # flame graphs have nothing below 0


def of_json(text):
    stacks = json.loads(text)['stacks']
    sums = {name: sum(grown(name, s[name]) for s in stacks) for name in NAMES if not stacks or name in stacks[0]}
    totals = json.loads(text)['totals']
    for name, value in sums.items():
        assert totals.get(name, value) == value or name == 'grown_bytes', f'{name}: totals differ'
    return sums


def of_folded(text):
    sums, columns = [0, 0], 1
    for line in text.split('\n')[:-1]:
        names, *values = re.fullmatch(r'((?:[^;\x00-\x1f]+;)*[^;\x00-\x1f]+?)((?: \d+){1,2})', line).groups()
        values = values[0].split()
        columns = len(values)
        for i, value in enumerate(values):
            sums[i] += int(value)
    assert text == '' or text.endswith('\n')
    return {'value': sums[columns - 1]} | ({'base_value': sums[0]} if columns == 2 else {})


def of_csv(text):
    rows = list(csv.DictReader(text.splitlines(keepends=True), strict=True))
    assert text.count('\r\n') == len(rows) + 1 == text.count('\n')
    assert all(None not in row and None not in row.values() for row in rows)
    return {name: sum(grown(name, int(row[name])) for row in rows) for name in NAMES if rows and name in rows[0]}


def of_speedscope(text):
    file, sums = json.loads(text), {}
    for profile in file['profiles']:
        weights, samples = profile['weights'], profile['samples']
        assert len(weights) == len(samples) and profile['endValue'] == sum(weights), profile['name']
        assert all(0 <= i < len(file['shared']['frames']) for sample in samples for i in sample)
        name, _, side = profile['name'].partition(', ')
        if side in ('', 'before'):
            sums[('base_' if side else '') + TITLES[name]] = profile['endValue']
    return sums


def of_svg(text):
    title = re.search(r'<title>all\n(.*?)</title>', text, re.S)
    if not title:
        return {}
    words = title[1].split('\n')
    name, value = re.match(r'([a-z ]+): (.*?), 100.0 %', words[0]).groups()
    sums = {TITLES[name]: exact(value)}
    blocks = re.search(r'in (\d+) blocks', words[0])
    counted = {'alloc_bytes': 'alloc_count', 'live_bytes': 'live_count'}.get(TITLES[name])
    if blocks and counted:
        sums[counted] = int(blocks[1])
    if len(words) > 1:
        sums['base_' + TITLES[name]] = exact(re.match(r'before: (.*?), (more|less|the same)', words[1])[1])
    return sums


def exact(value):
    return int(re.search(r'\((\d+) bytes\)', value)[1] if '(' in value else value.split()[0])


def of_html(text):
    page = json.loads(re.search(r'<script type="application/json" id="profile">(.*?)</script>', text, re.S)[1])
    sums = {name: int(page['totals'][name]) for name in page['kinds']}
    for tree in page['trees']:
        assert len(tree['nodes']) % 2 == 0
        for name in page['kinds']:
            assert sum(tree['rows'][name]) == sums[name], f'{name}: a tree has {sum(tree["rows"][name])}'
    for i, name in enumerate(page['kinds']):
        assert sum(size[i + 1] for size in page['sizes']) == sums[name], f'{name}: sizes'
    return sums


def of_massif(text):
    sums = {}
    for name, kind in (('peak_bytes', 'peak'), ('live_bytes', 'detailed')):
        found = re.search(r'mem_heap_B=(\d+)\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=' + kind + r'\nn\d+: (\d+) ', text)
        if found:
            assert found[1] == found[2]
            sums[name] = int(found[1])
    return sums


def of_dhat(text):
    points = json.loads(text)['pps']
    members = {'tb': 'alloc_bytes', 'tbk': 'alloc_count', 'gb': 'peak_bytes', 'eb': 'live_bytes', 'ebk': 'live_count'}
    assert len({tuple(p['fs']) for p in points}) == len(points), 'a stack twice'
    return {name: sum(p[member] for p in points) for member, name in members.items()}


def of_jeprof(text):
    lines = re.findall(r'^  t\*: (\d+): (\d+) \[(\d+): (\d+)\]$', text, re.M)
    sums = [sum(int(line[i]) for line in lines[1:]) for i in range(4)]
    assert sums == [int(n) for n in lines[0]], 'the first line is not the sum'
    return dict(zip(('live_count', 'live_bytes', 'alloc_count', 'alloc_bytes'), sums))


def sums_of(path):
    with open(path, newline='', encoding='utf-8') as file:
        text = file.read()
    *_, value, kind = path.rsplit('/', 1)[-1].split('.')
    sums = globals()['of_' + kind](text)
    return {name.replace('value', value.replace('-', '_')): number for name, number in sums.items()}


def main():
    bad = 0
    for path in sys.argv[1:]:
        try:
            sums = sums_of(path)
        except Exception as error:  # whatever a file that isn't right makes of it
            print(f'{path}: {error!r}')
            bad += 1
            continue
        if path.endswith('.json'):
            told = sums
        elif not sums.items() <= told.items():
            print(f'{path}: {sums}, not {told}')
            bad += 1
    print(f'{len(sys.argv) - 1 - bad} agree')
    sys.exit(bool(bad))


main()
