#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# python3 with its own arenas (which calls malloc for large objects only), and with malloc for all.
. "$(dirname "$0")/../harness/real.sh"
need /usr/bin/python3
agree_valgrind /usr/bin/python3 -I -c 'import json; json.dumps({str(i): [i] * 3 for i in range(1000)})'

# With malloc for all, sets ordered by address show: valgrind lays memory out in another way and gets a
# few calls more or less. The counting library has the same layout, so there it is equal.
RUNS_ENV+=(PYTHONMALLOC=malloc)
agree /usr/bin/python3 -c 'import json; json.dumps({str(i): [i] * 3 for i in range(1000)})'
