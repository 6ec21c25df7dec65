// SPDX-License-Identifier: BSD-2-Clause
// Call trees: one from the root down, one from the callers of allocators up. A node is a number; what
// is known of it stands in columns, and only what the flame graph wants is an object: { i, children }.

export class Tree {
	constructor(profile, data) {
		const size = 1 + data.nodes.length / 2 + data.rows.node.length;
		const column = () => new Float64Array(size);
		this.profile = profile;
		this.rows = data.rows;
		this.pruned = data.pruned;
		this.size = 0;
		this.parent = new Int32Array(size);
		this.frame = new Int32Array(size); // -1: the root, -2: pruned stacks
		this.total = profile.kinds.map(column);
		this.self = profile.kinds.map(column); // where it called the allocator itself
		this.vars = profile.kinds.map((kind) => this.rows[`${kind.key}_var`] ? column() : null);
		this.sampled = column();
		this.stacks = column(); // pruned ones, summed in this node
		this.low = column().fill(Infinity);
		this.high = column();
		this.lowerBound = new Uint8Array(size);
		this.add(0, -1);
		this.addNodes(data.nodes);
		this.addRows();
		this.sumUp();
	}

	addNodes(nodes) {
		for (let i = 0; i < nodes.length; i += 2)
			this.add(this.size - nodes[i], nodes[i + 1]);
	}

	// Stacks whose ways are left out, partly, get a node of their own.
	addRows() {
		const { node: steps, stacks, self } = this.rows;
		let node = 0;
		steps.forEach((step, row) => {
			node += step;
			if (self[row])
				this.addSelf(node, row, self[row] - 1);
			if (!stacks[row]) {
				this.addRow(node, row);
				return;
			}
			const other = this.add(node, -2);
			this.stacks[other] = stacks[row];
			this.addRow(other, row);
		});
	}

	// To the node of the function that called the allocator, so many steps up.
	addSelf(node, row, up) {
		for (; up > 0; up--)
			node = this.parent[node];
		this.profile.kinds.forEach((kind, k) => {
			this.self[k][node] += this.rows[kind.key][row];
		});
	}

	add(parent, frame) {
		this.parent[this.size] = parent;
		this.frame[this.size] = frame;
		return this.size++;
	}

	// A row's numbers, into one node; sumUp() brings them to those above.
	addRow(node, row) {
		const { rows } = this;
		this.profile.kinds.forEach((kind, k) => {
			this.total[k][node] += rows[kind.key][row];
			if (this.vars[k])
				this.vars[k][node] += rows[`${kind.key}_var`][row];
		});
		this.sampled[node] += rows.sampled ? rows.sampled[row] : 0;
		this.low[node] = Math.min(this.low[node], rows.low[row]);
		this.high[node] = Math.max(this.high[node], rows.low[row] + rows.span[row]);
		this.lowerBound[node] |= rows.at_least ? rows.at_least[row] : 0;
	}

	// Parents have smaller numbers than their children.
	sumUp() {
		for (let i = this.size - 1; i > 0; i--) {
			const up = this.parent[i];
			for (const column of [...this.total, ...this.vars]) {
				if (column)
					column[up] += column[i];
			}
			this.sampled[up] += this.sampled[i];
			this.low[up] = Math.min(this.low[up], this.low[i]);
			this.high[up] = Math.max(this.high[up], this.high[i]);
			this.lowerBound[up] |= this.lowerBound[i];
		}
	}

	frameOf(i) {
		return this.frame[i] >= 0 ? this.profile.frames[this.frame[i]] : null;
	}

	nameOf(i) {
		if (this.frame[i] === -1)
			return "all";
		if (this.frame[i] === -2)
			return otherName(this.stacks[i], this.pruned.below);
		return this.frameOf(i).function || "[unknown]";
	}

	// For the flame graph: the root of objects.
	objects() {
		const list = Array.from({ length: this.size }, (_, i) => ({ i }));
		for (let i = 1; i < this.size; i++)
			(list[this.parent[i]].children ??= []).push(list[i]);
		return list[0];
	}
}

// 0.0000012, not 1.2e-6.
function plain(number) {
	return number.toLocaleString("en-US", { maximumSignificantDigits: 2, useGrouping: false });
}

function otherName(stacks, below) {
	// Rounded up, so that it's true of the largest of them.
	const percent = Math.max(below * 100, 1e-12), step = 10 ** (Math.floor(Math.log10(percent)) - 1);
	const most = Number(((Math.floor(percent / step) + 1) * step).toPrecision(2));
	return `(other: ${stacks} ${stacks === 1 ? "stack" : "stacks"} below ${plain(most)} %)`;
}

