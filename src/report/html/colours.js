// SPDX-License-Identifier: BSD-2-Clause
// Colours say what file a function is from, or in a difference how much it has changed. They are
// the style sheet's variables, so that dark and light are its matter alone.

import { basename } from "./data.js";

const MODULES = 8; // with a colour of their own; the others share one
const STEPS = 4;   // of change, each way

// The files whose functions call allocators for most.
function topModules(profile) {
	const sums = new Map();
	const totals = profile.totals.map((total) => Number(total) || 1);
	for (const fn of profile.functions.list) {
		if (!fn.module)
			continue;
		const part = Math.max(...fn.total.map((value, k) => value / totals[k]));
		const own = Math.max(...fn.self.map((value, k) => value / totals[k]));
		sums.set(fn.module, (sums.get(fn.module) ?? 0) + own + part / 1000);
	}
	return [...sums].sort((a, b) => b[1] - a[1]).slice(0, MODULES).map(([module]) => module);
}

function step(before, after) {
	const change = (after - before) / Math.max(before, after, 1);
	const size = Math.min(STEPS, Math.ceil(Math.abs(change) * STEPS));
	return change > 0 ? `var(--grown${size})` : change < 0 ? `var(--shrunk${size})` : "var(--same)";
}

// Neighbours of one file differ a little, the same function never does.
function shade(text) {
	let hash = 0;
	for (let i = 0; i < text.length; i++)
		hash = (hash * 31 + text.charCodeAt(i)) | 0;
	return (hash >>> 8) % 4 * 9;
}

export class Colours {
	constructor(profile) {
		this.diff = profile.info.diff;
		this.modules = topModules(profile);
		this.numbers = new Map(this.modules.map((module, i) => [module, i]));
	}

	// Of a node, for the number that is shown.
	of(tree, i, kind) {
		const frame = tree.frameOf(i);
		if (this.diff && kind.before >= 0 && kind.after >= 0)
			return step(tree.total[kind.before][i], tree.total[kind.after][i]);
		if (!frame || frame.note)
			return "var(--other)";
		if (frame.process)
			return "var(--process)";
		const number = this.numbers.get(frame.module) ?? "";
		return `color-mix(in srgb, var(--file${number}), var(--card) ${shade(frame.function)}%)`;
	}

	// [colour, what it means, what to search for]
	legend(kind) {
		if (this.diff && kind.before >= 0 && kind.after >= 0) {
			return [["var(--grown4)", "grown"], ["var(--grown1)", "a little"], ["var(--same)", "the same"],
				["var(--shrunk1)", "a little"], ["var(--shrunk4)", "shrunk"]];
		}
		const list = this.modules.map((module, i) => [`var(--file${i})`, basename(module), module]);
		return [...list, ["var(--file)", "other files"]];
	}
}
