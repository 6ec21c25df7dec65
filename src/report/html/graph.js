// SPDX-License-Identifier: BSD-2-Clause
// The flame graph: d3-flame-graph draws it and zooms; here are the choice of what is wide enough to
// be drawn, the keys, and the marks of search and of the frame that the keys stand on.

import flamegraph from "d3-flame-graph";
import { select } from "d3-selection";
import { Tip } from "./tip.js";

const DRAWN_MAX = 2500; // frames, the widest: what a browser draws without a pause
const NARROW = 1;	// pixels
const CELL = 20;

function isCalm() {
	return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class Graph {
	// show(i): the frame to tell about, hooks.label(i): its text, hooks.colour(i), hooks.matches(i)
	constructor(box, hooks) {
		this.box = box;
		this.hooks = hooks;
		this.upright = false; // a flame: the root at the bottom
		box.addEventListener("click", (event) => this.click(event), true);
		box.addEventListener("keydown", (event) => this.key(event));
		new ResizeObserver(() => this.resize()).observe(box);
	}

	// A tree's objects, drawn anew; nothing stays of the one before.
	draw(tree, kind, root) {
		this.chart?.destroy();
		this.box.replaceChildren();
		Object.assign(this, { tree, kind, width: this.box.clientWidth });
		this.chart = flamegraph()
			.width(this.width)
			.cellHeight(CELL)
			.inverted(!this.upright)
			.resetHeightOnZoom(true)
			.transitionDuration(0)
			.sort((a, b) => this.order(a.data, b.data))
			.tooltip(new Tip(this.box, (d) => this.hooks.label(d.data.i)).handler)
			.getName((d) => tree.nameOf(d.data.i))
			.getValue((data) => tree.total[this.kind.index][data.i])
			.setLabelHandler((d) => tree.nameOf(d.data.i))
			.setColorMapper((d) => this.hooks.colour(d.data.i));
		this.selection = select(this.box).datum(root);
		this.chart.minFrameSize(this.narrowest(0));
		this.selection.call(this.chart);
		this.root = this.zoomed = this.at = this.selection.datum();
		this.mark();
		this.scrollToRoot();
	}

	// The height goes with what is drawn.
	scrollToRoot() {
		this.box.scrollTop = this.upright ? this.box.scrollHeight : 0;
	}

	// The widest first; what was pruned stands last.
	order(a, b) {
		const value = this.tree.total[this.kind.index];
		const others = (this.tree.frame[a.i] === -2) - (this.tree.frame[b.i] === -2);
		return others || value[b.i] - value[a.i] || a.i - b.i;
	}

	// How wide a frame must be for not more than DRAWN_MAX below node i to be drawn.
	narrowest(i) {
		const value = this.tree.total[this.kind.index], { parent, size } = this.tree;
		const inside = new Uint8Array(size), wide = [];
		const scale = this.width / (value[i] || 1);
		inside[i] = 1;
		for (let n = i + 1; n < size; n++) {
			inside[n] = inside[parent[n]];
			if (inside[n] && value[n] * scale > NARROW)
				wide.push(value[n] * scale);
		}
		if (wide.length <= DRAWN_MAX)
			return NARROW;
		return wide.sort((a, b) => b - a)[DRAWN_MAX];
	}

	// Another number: what is zoomed stays, if there is any of it.
	setKind(kind) {
		this.kind = kind;
		if (!this.tree.total[kind.index][this.zoomed.data.i])
			this.zoom(this.root);
		this.update();
	}

	update() {
		this.chart.minFrameSize(this.narrowest(this.zoomed.data.i)).transitionDuration(0).update();
		this.mark();
	}

	resize() {
		const width = this.box.clientWidth;
		if (!this.chart || !width || width === this.width)
			return;
		this.width = width;
		this.chart.width(width);
		this.update();
	}

	zoom(d) {
		const few = this.box.querySelectorAll("g.frame").length < 600;
		this.zoomed = d;
		this.at = d;
		this.chart.transitionDuration(few && !isCalm() ? 250 : 0)
			.minFrameSize(this.narrowest(d.data.i)).zoomTo(d);
		this.mark();
		this.hooks.show(d.data.i);
		if (this.upright)
			this.scrollToRoot();
	}

	reset() {
		this.zoom(this.root);
	}

	stand(d) {
		this.at = d;
		this.markAt();
		this.hooks.show(d.data.i);
	}

	click(event) {
		const d = event.target.closest("g.frame")?.__data__;
		if (!d)
			return;
		event.stopPropagation();
		this.zoom(d);
	}

	// The library renews the class with each update, so marks are other attributes.
	mark() {
		const searching = this.hooks.searching();
		this.box.toggleAttribute("data-searching", searching);
		for (const g of this.box.querySelectorAll("g.frame")) {
			const d = g.__data__, { i } = d.data;
			g.id = `frame-${i}`;
			g.setAttribute("role", "treeitem");
			g.setAttribute("aria-level", d.depth + 1);
			g.setAttribute("aria-label", this.hooks.label(i).join(", "));
			g.toggleAttribute("data-hit", searching && this.hooks.matches(i));
		}
		this.markAt();
	}

	markAt() {
		const at = document.getElementById(`frame-${this.at.data.i}`);
		for (const old of this.box.querySelectorAll("[data-at]")) {
			old.removeAttribute("data-at");
			old.removeAttribute("aria-selected");
		}
		if (!at)
			return;
		at.setAttribute("aria-selected", "true");
		at.setAttribute("data-at", "");
		at.parentNode.append(at); // its border above those beside it
		this.box.setAttribute("aria-activedescendant", at.id);
	}

	drawn(d) {
		return document.getElementById(`frame-${d.data.i}`)?.__data__ === d;
	}

	// The nearest drawn frame of the same depth, to the right or to the left.
	beside(step) {
		const row = [...this.box.querySelectorAll("g.frame")].map((g) => g.__data__)
			.filter((d) => d.depth === this.at.depth && d.x1 > d.x0)
			.sort((a, b) => a.x0 - b.x0);
		return row[row.indexOf(this.at) + step];
	}

	key(event) {
		const child = this.at.children?.find((d) => this.drawn(d) && d.x1 > d.x0);
		const moves = {
			ArrowLeft: () => this.beside(-1),
			ArrowRight: () => this.beside(1),
			ArrowUp: () => this.upright ? child : this.at.parent,
			ArrowDown: () => this.upright ? this.at.parent : child,
			Home: () => this.root,
		};
		if (event.altKey || event.ctrlKey || event.metaKey)
			return;
		if (event.key === "Enter" || event.key === " ")
			this.zoom(this.at);
		else if (event.key in moves)
			this.go(moves[event.key]());
		else
			return;
		event.preventDefault();
	}

	go(d) {
		if (!d)
			return;
		this.stand(d);
		document.getElementById(`frame-${d.data.i}`)?.scrollIntoView({ block: "nearest" });
	}
}
