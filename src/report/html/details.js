// SPDX-License-Identifier: BSD-2-Clause
// All that is known of one frame of the graph.

import { FEW_SAMPLES, basename } from "./data.js";
import { el, name } from "./dom.js";
import * as units from "./units.js";

// Half the width of a 95 % interval of the normal distribution, in standard errors.
const INTERVAL_95 = 1.96;

function place(frame) {
	if (!frame || frame.process || frame.note)
		return [];
	const lines = [];
	if (frame.module)
		lines.push(el("div", { class: "path" }, "in ", name(frame.module)));
	if (frame.file)
		lines.push(el("div", { class: "path" }, "at ", name(frame.line ? `${frame.file}:${frame.line}` : frame.file)));
	if (frame.inlined)
		lines.push(el("div", { class: "path" }, "inlined"));
	return lines;
}

// "± 12.3 MiB", where it is an estimate; nothing where it is exact.
export function interval(variance, sampled, format) {
	if (sampled < FEW_SAMPLES)
		return "few samples";
	return `± ${format(Math.ceil(INTERVAL_95 * Math.sqrt(variance)))}`;
}

// How many of the hits stand for what is live: kept samples of probability p stand for n/p with a
// variance of n(1-p)/p^2 (look__live_samples() of text).
export function liveSamples(count, variance, sampled) {
	return count && variance ? Math.min(Math.round(count * count / variance), sampled) : count ? sampled : 0;
}

function samples(tree, i, kind) {
	const live = tree.profile.kinds.find(({ key }) => key === "live_count");
	return kind.key.startsWith("live") && live
		? liveSamples(tree.total[live.index][i], tree.vars[live.index][i], tree.sampled[i]) : tree.sampled[i];
}

function error(tree, i, kind) {
	const { info } = tree.profile;
	if (info.exact)
		return "";
	if (tree.lowerBound[i])
		return "at least";
	return tree.vars[kind.index]
		? interval(tree.vars[kind.index][i], samples(tree, i, kind), kind.format) : "";
}

function row(tree, i, kind, chosen) {
	const value = tree.total[kind.index][i], self = tree.self[kind.index][i];
	return el("tr", { class: kind === chosen && "chosen" },
		el("th", { scope: "row" }, kind.title),
		el("td", { title: units.count(value) }, kind.format(value), " ",
			el("small", {}, error(tree, i, kind))),
		el("td", {}, units.share(value, tree.total[kind.index][0])),
		el("td", { title: units.count(self) }, self ? kind.format(self) : "–"));
}

function exactly(tree, i, kind) {
	const value = tree.total[kind.index][i], { profile } = tree;
	const mean = kind.mean && profile.kinds.find(({ key }) => key === kind.mean);
	const lines = [`${units.count(value)} ${kind.unit}`];
	if (mean && tree.total[mean.index][i])
		lines.push(`mean size ${units.bytes(value / tree.total[mean.index][i])}`);
	if (tree.low[i] <= tree.high[i])
		lines.push(`sizes ${sizes(tree.low[i], tree.high[i])}`);
	if (!profile.info.exact)
		lines.push(`${units.count(samples(tree, i, kind))} samples`);
	if (kind.before >= 0 && kind.after >= 0 && profile.info.diff) {
		const change = tree.total[kind.after][i] - tree.total[kind.before][i];
		lines.push(`changed by ${units.change(change, kind.format)}`);
	}
	return lines.join(", ");
}

export function sizes(low, high) {
	return low === high ? units.bytes(low) : `${units.bytes(low)} to ${units.bytes(high)}`;
}

// Lines for the tip and for a reader of the screen.
export function summary(tree, i, kind) {
	const value = tree.total[kind.index][i], frame = tree.frameOf(i);
	const lines = [units.middle(tree.nameOf(i), 300),
		`${kind.format(value)}${kind.unit === "bytes" ? "" : ` ${kind.unit}`}, ` +
		`${units.share(value, tree.total[kind.index][0])} of all`];
	if (frame?.module && frame.module !== frame.function)
		lines.push(frame.file ? `${basename(frame.file)}:${frame.line}` : basename(frame.module));
	if (tree.profile.info.diff && kind.before >= 0 && kind.after >= 0) {
		const change = tree.total[kind.after][i] - tree.total[kind.before][i];
		lines.push(`changed by ${units.change(change, kind.format)}`);
	}
	return lines;
}

export function showDetails(box, tree, i, kind) {
	const known = tree.profile.kinds.filter((k) => tree.total[k.index][0]);
	box.replaceChildren(
		el("h2", {}, name(tree.nameOf(i))),
		...place(tree.frameOf(i)),
		el("p", {}, exactly(tree, i, kind)),
		el("table", {},
			el("thead", {}, el("tr", {}, el("td", {}), el("th", { scope: "col" }, "total"),
				el("th", { scope: "col" }, "of all"),
				el("th", { scope: "col", title: "where it called the allocator itself" }, "self"))),
			el("tbody", {}, known.map((k) => row(tree, i, k, kind)))));
}
