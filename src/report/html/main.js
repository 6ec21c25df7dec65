// SPDX-License-Identifier: BSD-2-Clause
// Ties the page together: what is chosen, and who has to know when that changes.

import { showLifetimes, showProcesses, showSizes, showTimeline } from "./charts.js";
import { Colours } from "./colours.js";
import { readProfile } from "./data.js";
import { showDetails, summary } from "./details.js";
import { byId, choices, el, name } from "./dom.js";
import { Functions } from "./functions.js";
import { Graph } from "./graph.js";
import { showHeader } from "./header.js";
import { Search } from "./search.js";
import { startTheme } from "./theme.js";
import { Tree } from "./tree.js";
import * as units from "./units.js";

class Page {
	constructor(profile) {
		this.profile = profile;
		this.colours = new Colours(profile);
		this.search = new Search();
		this.functions = new Functions(profile, (name) => this.searchFor(name));
		this.trees = [];
		this.tree = this.treeOf(0);
		this.kind = profile.kinds.find(({ key }) => key === profile.value);
		this.graph = new Graph(byId("graph"), {
			show: (i) => showDetails(byId("details"), this.tree, i, this.kind),
			label: (i) => summary(this.tree, i, this.kind),
			colour: (i) => this.colours.of(this.tree, i, this.kind),
			matches: (i) => this.search.matches(this.tree, i),
			searching: () => this.search.active,
		});
	}

	// Made when it's asked for.
	treeOf(i) {
		return this.trees[i] ??= new Tree(this.profile, this.profile.trees[i]);
	}

	start() {
		showHeader(this.profile);
		this.startTools();
		this.redraw();
		showLifetimes(this.profile);
		showProcesses(this.profile);
		this.showKind();
		this.showPruned();
	}

	startTools() {
		const { kinds } = this.profile;
		byId("value").append(...kinds.map(({ key, title }) => el("option", { value: key, selected: key === this.kind.key }, title)));
		byId("value").addEventListener("change", ({ target }) => this.setKind(kinds[target.selectedIndex]));
		choices(byId("direction"), "direction", [["down", "From the root"], ["up", "From the allocation"]], "down",
			(direction) => this.setDirection(direction));
		choices(byId("layout"), "layout", [["icicle", "Icicle"], ["flame", "Flame"]], "icicle", (layout) => {
			this.graph.upright = layout === "flame";
			this.redraw();
		});
		byId("search").addEventListener("input", () => this.showSearch());
		byId("reset").addEventListener("click", () => this.reset());
		document.addEventListener("keydown", (event) => this.key(event));
	}

	redraw() {
		this.graph.draw(this.tree, this.kind, this.tree.objects());
		showDetails(byId("details"), this.tree, 0, this.kind);
	}

	setKind(kind) {
		this.kind = kind;
		this.graph.setKind(kind);
		this.showKind();
		this.showMatched();
	}

	setDirection(direction) {
		this.tree = this.treeOf(direction === "up" ? 1 : 0);
		this.redraw();
		this.showMatched();
		this.showPruned();
	}

	showKind() {
		showDetails(byId("details"), this.tree, this.graph.at.data.i, this.kind);
		this.functions.show(this.kind);
		showSizes(this.profile, this.kind);
		showTimeline(this.profile, this.kind);
		this.showLegend();
	}

	showLegend() {
		const legend = this.colours.legend(this.kind);
		byId("legend").hidden = legend.length < 2;
		byId("legend").replaceChildren(...legend.map(([colour, text, search]) => {
			const sign = el("i", { "aria-hidden": "true" });
			sign.style.background = colour;
			return search === undefined ? el("span", {}, sign, text)
				: el("button", { type: "button", title: search, onclick: () => this.searchFor(search) }, sign, name(text));
		}));
	}

	// Of a whole name: others that have it in them would be summed, too.
	searchFor(name) {
		byId("search").value = `"${name}"`;
		this.showSearch();
		byId("graph").scrollIntoView({ block: "nearest" });
	}

	showSearch() {
		this.search.set(byId("search").value, this.profile);
		this.graph.mark();
		this.showMatched();
	}

	showMatched() {
		const { value, frames } = this.search.active ? this.search.sum(this.tree, this.kind.index) : {};
		const whole = this.tree.total[this.kind.index][0];
		byId("matched").textContent = !this.search.active ? "" : !frames ? "no match"
			: `${this.tree.pruned.stacks ? "at least " : ""}${units.share(value, whole)}, ${this.kind.format(value)}`;
	}

	showPruned() {
		const { stacks, of } = this.tree.pruned;
		byId("pruned").textContent = !stacks ? ""
			: `The ends of ${units.count(stacks)} of ${units.count(of)} stacks are summed as “(other …)” where they leave the graph.`;
	}

	reset() {
		byId("search").value = "";
		this.showSearch();
		this.graph.reset();
	}

	key(event) {
		const typing = event.target.matches("input[type=search], select");
		if (event.key === "Escape" && !event.target.matches("select")) {
			this.reset();
			byId("graph").focus();
		} else if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
			byId("search").focus();
			event.preventDefault();
		} else if (event.key === "Enter" && event.target === byId("search")) {
			byId("graph").focus();
		}
	}
}

startTheme();
new Page(readProfile(byId("profile").textContent)).start();
requestAnimationFrame(() => {
	document.documentElement.dataset.rendered = Math.round(performance.now());
});
