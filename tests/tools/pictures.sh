#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The pictures of the README, from a real run: Perl indexes the words of its own library.
# Usage, as root and after `make check`: pictures.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export LC_ALL=C.UTF-8 MODULES=$build/tests/browser/node_modules CHROMIUM
CHROMIUM=$(command -v chromium)

cat >"$dir/words.pl" <<'PERL'
use JSON::PP;
my %words;
for my $path (glob "$INC[-2]/[A-F]*.pm") {
	open my $in, '<', $path or next;
	while (<$in>) { push @{$words{lc $1}}, "$path:$." while /(\w+)/g }
}
my $json = JSON::PP->new->canonical;
my $kept = $json->decode($json->encode({map { $_ => $words{$_} } grep { @{$words{$_}} < 5 } keys %words}));
print scalar keys %$kept, "\n";
PERL
cd "$dir"
"$build/allocsnoop" -q --live -i 200ms -o report.html -- perl words.pl
cd - >/dev/null
for scheme in light dark; do
	name=report
	[ "$scheme" = light ] || name=report-dark
	node tests/browser/picture.js "$dir/report.html" "docs/pictures/$name.png" "$scheme" Perl_pp_push
	size=$(stat -c %s "docs/pictures/$name.png")
	[ "$size" -le 200000 ] || { echo "docs/pictures/$name.png has $size bytes" >&2; exit 1; }
	echo "docs/pictures/$name.png: $size bytes"
done
