# SPDX-License-Identifier: BSD-2-Clause
# What tests ask of a JSON profile. The caller of the allocator is the first frame above frame 0 that
# is not an operator new: where operator new ends in malloc it is a frame like any other.

def bare: ltrimstr("(anonymous namespace)::") | split("(")[0] // "" | if . == "__strdup" then "strdup" else . end;
def is_new: startswith("operator new");

# Callers of the allocator, nearest first, without argument lists. (One operator new may call another.)
def after_new: if length > 0 and (.[0] | is_new) then .[1:] | after_new else . end;
def callers: [.frames[1:][].function | bare] | after_new;
def site: callers[0] // "";

# "COUNT BYTES" of alloc, live, freed, exit, untracked or peak.
def sums($what): "\(map(.[$what + "_count"]) | add // 0) \(map(.[$what + "_bytes"]) | add // 0)";
def count_bytes: sums("alloc");
# "SITE COUNT BYTES" of every site, in processes of this name ("": all).
def sites($comm; $what): [.stacks[] | select($comm == "" or .comm == $comm) | . + { s: site }] |
	group_by(.s)[] | "\(.[0].s) \(sums($what))";
def at_site($name): [.stacks[] | select(site == $name)];
# Stacks whose callers begin with these names.
def along($names): [.stacks[] | select(callers[:$names | length] == $names)];

def complain($bad; $words): if $bad then $words else empty end;

# A block is live, freed, given back by an exit, or lost to sight: never two of them, never none; with an
# age limit `live` is only a part.
def ends: ["live", "freed", "exit", "untracked"];
def endless($unit): .["alloc_" + $unit] - ([.[ends[] + "_" + $unit]] | add);
def unsound_live:
	. as $p |
	(complain(.exact and any(.totals, .stacks[] | endless("count", "bytes"); . < 0 or . > 0 and $p.totals.older_ns == 0);
		"blocks without an end, or with two"),
	 complain(any(.totals, .stacks[], .processes[] | del(.grown_count, .grown_bytes)[] | numbers; . < 0 or . > 9e18);
		"a number below zero"),
	 ((ends[] + ("_count", "_bytes")) as $key |
		complain($p.exact and ($p.stacks | map(.[$key]) | add // 0) != $p.totals[$key];
			"the stacks' \($key) don't add up to the total")));

# What must hold for every profile; each line that comes out is a complaint.
def unsound:
	(complain(.allocsnoop != 1; "no allocsnoop profile"),
	 complain(.exact and ((.totals.alloc_count_se != 0) or (.totals.alloc_bytes_se != 0));
		"exact, yet with a standard error"),
	 complain(.exact and ((.stacks | map(.alloc_count) | add // 0) != .totals.alloc_count);
		"the stacks' counts don't add up to the total"),
	 complain(.exact and ((.stacks | map(.alloc_bytes) | add // 0) != .totals.alloc_bytes);
		"the stacks' bytes don't add up to the total"),
	 (if .mode == "live" then unsound_live else empty end),
	 complain(any(.stacks[]; .truncated != (.end != "complete")); "truncated contradicts end"),
	 complain(any(.stacks[]; .alloc_count > 0 and (.frames | length) == 0 and .end != "lost");
		"a stack without frames"),
	 complain(any(.stacks[].frames[].function; test("^(0x)?[0-9a-f]{6,}$"));
		"a bare address for a name"));

# Growth: frame 1 is libc's function where a system call grew. "FUNCTION COUNT BYTES" of whoever called it.
def grower: callers[if .allocator == "fault" then 0 else 1 end] // "";
def growers($what): [.stacks[] | . + { s: grower }] | group_by(.s)[] | "\(.[0].s) \(sums($what))";
