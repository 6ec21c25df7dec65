// SPDX-License-Identifier: BSD-2-Clause
// What was recorded and how far it can be trusted: first of all, so that nobody is misled.

import { FEW_SAMPLES } from "./data.js";
import { interval, liveSamples } from "./details.js";
import { byId, el, name } from "./dom.js";
import * as units from "./units.js";

const TRACED = ["allocation calls", "mmap", "growth of the break", "first touches of anonymous memory"];
const SAMPLED = ["", "each allocation kept with probability", "one kept per"];
const MALLOC_ONLY = 1;

function traced(info) {
	return TRACED.filter((_, i) => info.trace & 1 << i).join(", ");
}

function exactText({ info, live }) {
	const growth = info.trace & ~MALLOC_ONLY;
	if (!live)
		return `every ${growth ? "event" : "allocation call"} was counted`;
	return growth ? "every event was counted, and what was given back"
		: "every allocation call was counted, and every free";
}

function estimateText(info) {
	if (!Number(info.sampled_count) && !info.sampling && !info.budget_pct) // another's: see the losses
		return "or exact: not known";
	let text = `from ${units.count(BigInt(info.sampled_count))} samples`;
	if (info.budget_pct)
		text += ` in ${units.count(info.windows)} ${info.windows === 1 ? "window" : "windows"}`;
	if (info.sampling === 1)
		text += `, ${SAMPLED[1]} ${info.sampling_value}`;
	if (info.sampling === 2)
		text += `, ${SAMPLED[2]} ${units.bytes(info.sampling_value)} on average`;
	return `${text} (${info.budget_pct ? "ratio to progress" : "Horvitz-Thompson"})`;
}

function boundsText(info) {
	return info.windows ? "Lower bounds where probes took most of the time or no window came."
		: "It ended before the first window.";
}

function budgetText(info) {
	if (!info.budget_pct)
		return "";
	const coverage = info.exact ? "all" : info.coverage >= 0
		? `${Number((info.coverage * 100).toPrecision(3))} % of the targets' progress` : "not known";
	return ` Coverage: ${coverage}; cost ${Number(info.cost_pct.toPrecision(2))} % ` +
		`of a budget of ${info.budget_pct} %.${info.at_least ? " " + boundsText(info) : ""}`;
}

function showSure(profile) {
	const { info } = profile;
	const [word, kind, text] = info.at_least
		? ["lower bounds", "warn", estimateText(info)]
		: info.exact ? ["exact", "good", exactText(profile)] : ["estimated", "warn", estimateText(info)];
	byId("sure").append(el("strong", { class: `badge ${kind}` }, word), ` ${text}.${budgetText(info)}`);
}

// One large number with the exact one below it.
function total(title, bytes, count, unit, note, bound = "") {
	return el("div", {}, el("dt", {}, title),
		el("dd", {}, el("b", {}, units.bytes(bytes)),
			el("small", {}, `${bound}${units.count(bytes)} bytes in ${units.count(count)} ${unit}`),
			note ? el("small", {}, note) : undefined));
}

function errorNote({ info }, what, blocks) {
	if (info.exact || info.at_least)
		return "";
	const sampled = Number(info.sampled_count);
	const hits = what === "live" ? liveSamples(Number(blocks), info.live_count_se ** 2, sampled) : sampled;
	if (hits < FEW_SAMPLES)
		return "few samples";
	const [bytes, count] = ["bytes", "count"].map((unit) => info[`${what}_${unit}_se`] ** 2);
	return `${interval(bytes, Infinity, units.bytes)} in ${interval(count, Infinity, units.count)} (95 %)`;
}

function showTotals(profile) {
	const { info, kinds, totals, live } = profile;
	const of = (key) => totals[kinds.findIndex((kind) => kind.key === key)] ?? 0n;
	const list = [total("Allocated", of("alloc_bytes"), of("alloc_count"), "allocations",
		errorNote(profile, "alloc"), info.at_least ? "at least " : "")];
	if (live) {
		list.push(total("Still live", of("live_bytes"), of("live_count"), "blocks", errorNote(profile, "live", of("live_count"))),
			total("Freed", BigInt(info.freed_bytes), BigInt(info.freed_count), "blocks"));
	}
	if (BigInt(info.exit_count ?? 0))
		list.push(total("Given back at exit", BigInt(info.exit_bytes), BigInt(info.exit_count), "blocks"));
	if (BigInt(info.untracked_count ?? 0))
		list.push(total("End unknown", BigInt(info.untracked_bytes), BigInt(info.untracked_count), "blocks"));
	if (info.diff) {
		list.push(total("Before: allocated", of("base_alloc_bytes"), of("base_alloc_count"), "allocations"));
		if (of("base_live_count") || live)
			list.push(total("Before: live", of("base_live_bytes"), of("base_live_count"), "blocks"));
	}
	byId("totals").append(...list);
}

function fact(title, ...text) {
	return el("div", {}, el("dt", {}, title), el("dd", {}, ...text));
}

function showFacts({ info, processes, more_processes: more }) {
	const started = new Date(info.started_ns / 1e6);
	const processCount = processes.reduce((sum, { count }) => sum + count, more[0]);
	const facts = [];
	if (info.base_target !== undefined)
		facts.push(fact("Compared with", name(info.base_target)));
	if (info.started_ns)
		facts.push(fact("Started", `${started.toISOString().slice(0, 19).replace("T", " ")} UTC`));
	if (info.duration_ns)
		facts.push(fact("Duration", units.duration(info.duration_ns)));
	facts.push(fact("Mode", info.mode));
	if (info.trace & ~MALLOC_ONLY)
		facts.push(fact("Traced", traced(info)));
	if (processCount)
		facts.push(fact("Processes", units.count(processCount)));
	facts.push(fact("Events", units.count(BigInt(info.events))));
	if (BigInt(info.failed_count))
		facts.push(fact("Failed calls", units.count(BigInt(info.failed_count))));
	if (info.older_ns)
		facts.push(fact("Live means", `at least ${units.duration(info.older_ns)} old`));
	if (info.part !== undefined)
		facts.push(fact("Part", info.part));
	byId("facts").append(...facts);
}

function showLosses({ losses }) {
	const box = byId("losses");
	if (!losses.length) {
		box.append(el("p", {}, "No losses."));
		return;
	}
	box.append(el("details", { class: "lost", open: losses.length <= 3 },
		el("summary", {}, `Losses: ${losses.length} ${losses.length === 1 ? "kind" : "kinds"} of something that was not seen`),
		el("table", {}, el("tbody", {}, losses.map(([key, text, count]) => el("tr", {},
			el("td", { class: "number" }, units.count(BigInt(count))),
			el("th", { scope: "row" }, name(key)), el("td", {}, name(text))))))));
}

export function showHeader(profile) {
	document.title = `${profile.info.target || "allocations"} – allocsnoop`;
	byId("target").textContent = profile.info.target;
	byId("made").textContent = `Made by allocsnoop ${profile.version}.`;
	showSure(profile);
	showTotals(profile);
	showFacts(profile);
	showLosses(profile);
}
