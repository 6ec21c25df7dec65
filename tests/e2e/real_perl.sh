#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# perl builds a hash of strings and sorts its keys.
. "$(dirname "$0")/../harness/real.sh"
need perl
agree_valgrind perl -e 'my %h; $h{$_} = "x" x $_ for 1 .. 1000; print join ",", sort keys %h'
