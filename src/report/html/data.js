// SPDX-License-Identifier: BSD-2-Clause
// The profile as allocsnoop wrote it (src/report/html_data.c): columns of numbers, names by number.

import * as units from "./units.js";

// What each kind of number is called, and how it is written.
const KINDS = {
	alloc_bytes: { title: "Allocated bytes", unit: "bytes", mean: "alloc_count" },
	alloc_count: { title: "Allocations", unit: "allocations" },
	live_bytes: { title: "Live bytes", unit: "bytes", mean: "live_count" },
	live_count: { title: "Live blocks", unit: "blocks" },
	peak_bytes: { title: "Bytes at the peak", unit: "bytes" },
	grown_bytes: { title: "Grown bytes", unit: "bytes" },
	temporary_count: { title: "Temporary blocks", unit: "blocks" },
	base_alloc_bytes: { title: "Before: allocated bytes", unit: "bytes" },
	base_alloc_count: { title: "Before: allocations", unit: "allocations" },
	base_live_bytes: { title: "Before: live bytes", unit: "bytes" },
	base_live_count: { title: "Before: live blocks", unit: "blocks" },
};

// Flags of a frame: HTML_* in html.h.
const INLINED = 1, PROCESS = 2, NOTE = 4;
export const FEW_SAMPLES = 10;

function makeKind(key, index, keys) {
	const base = key.startsWith("base_") ? key : `base_${key}`;
	const kind = { key, index, ...KINDS[key] };
	kind.format = kind.unit === "bytes" ? units.bytes : units.count;
	// The number before and after, where it is a difference.
	kind.before = keys.indexOf(base);
	kind.after = keys.indexOf(base.slice(5));
	return kind;
}

function makeFrames(data) {
	const frames = [];
	for (let i = 0; i < data.frames.length; i += 5) {
		const [fn, module, file, line, flags] = data.frames.slice(i, i + 5);
		frames.push({
			function: data.strings[fn], module: data.strings[module],
			file: data.strings[file], line,
			inlined: !!(flags & INLINED), process: !!(flags & PROCESS), note: !!(flags & NOTE),
		});
	}
	return frames;
}

function makeFunctions({ functions, strings, kinds }) {
	const list = [];
	for (let i = 0; i < functions.names.length; i += 2) {
		list.push({
			function: strings[functions.names[i]], module: strings[functions.names[i + 1]],
			self: kinds.map((kind) => functions[`self_${kind}`][i / 2]),
			total: kinds.map((kind) => functions[`total_${kind}`][i / 2]),
		});
	}
	return { list, of: functions.of };
}

export function readProfile(text) {
	const data = JSON.parse(text);
	return {
		...data,
		frames: makeFrames(data),
		functions: makeFunctions(data),
		kinds: data.kinds.map(makeKind),
		totals: data.kinds.map((kind) => BigInt(data.totals[kind])),
		live: data.info.mode === "live",
	};
}

export function basename(path) {
	return path.slice(path.lastIndexOf("/") + 1) || path;
}
