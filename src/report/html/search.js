// SPDX-License-Identifier: BSD-2-Clause
// Which frames a text is in, and how much of all they have: a stack counts once, however often.

export class Search {
	constructor() {
		this.text = "";
	}

	get active() {
		return this.text !== "";
	}

	// A function's or a file's name has the text in it, in capitals or not; in quotes, it is the whole name.
	set(text, profile) {
		const [, whole] = text.trim().match(/^"(.+)"$/) ?? [];
		this.text = text.trim().toLowerCase();
		const is = (name) => whole === undefined ? name.toLowerCase().includes(this.text) : name === whole;
		this.frames = profile.frames.map((frame) => this.active && (is(frame.function) || is(frame.module)));
	}

	matches(tree, i) {
		return this.active && tree.frame[i] >= 0 && this.frames[tree.frame[i]];
	}

	// { value, frames }: of what is below a match, and how many functions match.
	sum(tree, k) {
		const below = new Uint8Array(tree.size), found = new Set();
		let value = 0;
		for (let i = 0; i < tree.size; i++) {
			const hit = this.matches(tree, i);
			if (hit)
				found.add(tree.frame[i]);
			if (hit && !below[tree.parent[i]])
				value += tree.total[k][i];
			below[i] = hit || (i && below[tree.parent[i]]);
		}
		return { value, frames: found.size };
	}
}
