// SPDX-License-Identifier: BSD-2-Clause
// Sizes, lifetimes, the recording's course and its processes. Histograms are tables with bars: they
// can be read aloud and pasted.

import { interval } from "./details.js";
import { bar, byId, el, name, svg } from "./dom.js";
import * as units from "./units.js";

const SEVERAL = 65; // the class of rows whose sizes are in several

function section(id, title, ...children) {
	const box = byId(id);
	box.hidden = !children.length;
	box.replaceChildren(el("h2", { id: `${id}-title` }, title), ...children);
}

function histogram(columns, rows) {
	return el("div", { class: "scroll" }, el("table", { class: "histogram" },
		el("thead", {}, el("tr", {}, columns.map((text, i) => el("th", { scope: "col", class: i && "number" }, text)))),
		el("tbody", {}, rows)));
}

function barCell(value, most, format, kind) {
	return el("td", { class: "number", title: units.count(value) },
		value ? format(value) : "–", bar(most ? value / most : 0, kind));
}

function sizeText(octave) {
	if (octave === SEVERAL)
		return "of several classes";
	if (octave < 2)
		return units.bytes(octave);
	const low = 2 ** (octave - 1);
	return octave <= 10 ? `${low} – ${2 * low - 1} B` : `${units.bytes(low)} – ${units.bytes(2 * low)}`;
}

export function showSizes(profile, kind) {
	const { sizes, kinds } = profile;
	// Bytes and blocks of the same thing, whichever of them is chosen.
	const base = kind.key.replace(/_(bytes|count)$/, "");
	const shown = ["bytes", "count"].map((what) => kinds.find(({ key }) => key === `${base}_${what}`))
		.filter((found) => found);
	const rows = sizes.filter((row) => shown.some(({ index }) => row[index + 1]));
	const most = shown.map(({ index }) => Math.max(...rows.map((row) => row[index + 1])));
	section("sizes", "Sizes", ...(rows.length ? [histogram(["Size", ...shown.map(({ title }) => title)],
		rows.map((row) => el("tr", {}, el("th", { scope: "row" }, sizeText(row[0])),
			shown.map((k, n) => barCell(row[k.index + 1], most[n], k.format, "total")))))] : []));
}

export function showLifetimes({ lifetimes }) {
	const most = Math.max(...lifetimes.flatMap(([, freed, live]) => [freed, live]));
	section("lifetimes", "Lifetimes", ...(lifetimes.length ? [
		histogram(["Age", "Freed blocks", "Still live"], lifetimes.map(([power, freed, live]) => el("tr", {},
			el("th", { scope: "row" }, `${units.duration(2 ** power)} – ${units.duration(2 ** (power + 1))}`),
			barCell(freed, most, units.count, "total"), barCell(live, most, units.count, "self"))))] : []));
}

// ---- the course ----

const WIDTH = 640, HEIGHT = 200, LEFT = 88, BOTTOM = 26, TOP = 12;

function path(points, x, y) {
	return points.map((point, i) => `${i ? "L" : "M"}${x(point).toFixed(1)},${y(point).toFixed(1)}`).join("");
}

function axes(most, end, format) {
	const lines = [];
	for (let i = 0; i <= 4; i++) {
		const y = HEIGHT - BOTTOM - i / 4 * (HEIGHT - BOTTOM - TOP);
		const x = LEFT + i / 4 * (WIDTH - LEFT - 30);
		lines.push(svg("line", { x1: LEFT, x2: WIDTH - 30, y1: y, y2: y, class: "grid" }),
			svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, format(most * i / 4)),
			svg("text", { x, y: HEIGHT - 6, "text-anchor": "middle" }, i ? units.duration(end * i / 4) : "0"));
	}
	return lines;
}

function drawCourse(points, column, format, label) {
	const most = Math.max(...points.map((point) => point[column]), 1);
	const end = points[points.length - 1][0] || 1;
	const x = (point) => LEFT + point[0] / end * (WIDTH - LEFT - 30);
	const y = (point) => HEIGHT - BOTTOM - point[column] / most * (HEIGHT - BOTTOM - TOP);
	const line = path(points, x, y), first = points[0], last = points[points.length - 1];
	return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label, class: "course" },
		...axes(most, end, format),
		svg("path", { class: "area", d: `${line}L${x(last)},${HEIGHT - BOTTOM}L${x(first)},${HEIGHT - BOTTOM}Z` }),
		svg("path", { class: "line", d: line }));
}

export function showTimeline(profile, kind) {
	const live = kind.key.includes("live") || (profile.live && !kind.key.startsWith("alloc"));
	const isCount = kind.unit !== "bytes";
	const column = (live ? 3 : 1) + isCount;
	const points = [[0, 0, 0, 0, 0], ...profile.points];
	const what = `${live ? "Live" : "Allocated"} ${isCount ? "blocks" : "bytes"}`;
	const peak = Math.max(...points.map((point) => point[column]));
	const format = isCount ? units.count : units.bytes;
	const label = `${what} over time, ${format(peak)} at most`;
	section("timeline", what + " over time",
		...(profile.points.length > 1 ? [drawCourse(points, column, format, label), el("p", { class: "hint" },
			`${profile.points.length} moments; ${label}.`)] : []));
}

// ---- processes ----

const PROCESS_COLUMNS = [
	["Allocated", "alloc_bytes", units.bytes],
	["Allocations", "alloc_count", units.count],
	["Live", "live_bytes", units.bytes],
	["Peak", "peak_bytes", units.bytes],
	["Memory held", "rss_anon", units.bytes],
];

function processName(process) {
	const title = process.pid ? `pid ${process.pid}` : `${process.count} ended long ago`;
	return el("th", { scope: "row" }, name(process.comm || "[unknown]"), " ",
		el("small", {}, title, process.exited ? ", exited" : "", process.container ? ", " : "",
			process.container ? name(process.container) : ""),
		process.exe ? name(process.exe, { class: "name path" }) : undefined);
}

function processCell(process, key, format, most, info) {
	const error = key !== "alloc_bytes" || info.exact ? ""
		: process.at_least ? "at least" : interval(process.alloc_bytes_se ** 2, process.sampled, format);
	return el("td", { class: "number", title: units.count(process[key]) }, process[key] ? format(process[key]) : "–",
		" ", el("small", {}, error), bar(process[key] / most, "total"));
}

export function showProcesses(profile, atMost = 15) {
	const { processes, more_processes: more, info } = profile;
	const columns = PROCESS_COLUMNS.filter(([, key]) => processes.some((process) => process[key]));
	const most = columns.map(([, key]) => Math.max(...processes.map((process) => process[key]), 1));
	const rest = more[0] ? [el("p", { class: "hint" }, `(other: ${units.count(more[0])} processes with ` +
		`${units.bytes(more[1])} in ${units.count(more[2])} allocations${more[3] ? `, ${units.bytes(more[3])} live` : ""})`)] : [];
	if (processes.length > atMost) {
		rest.unshift(el("button", { type: "button", onclick: () => showProcesses(profile, Infinity) },
			`More (${units.count(processes.length - atMost)})`));
	}
	section("processes", "Processes", ...(processes.length ? [histogram(["Process", ...columns.map(([title]) => title)],
		processes.slice(0, atMost).map((process) => el("tr", {}, processName(process),
			columns.map(([, key, format], n) => processCell(process, key, format, most[n], info))))), ...rest] : []));
}
