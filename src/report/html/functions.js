// SPDX-License-Identifier: BSD-2-Clause
// Functions by what they and those that they call allocate; sums over all stacks.

import { basename } from "./data.js";
import { bar, byId, el, name } from "./dom.js";
import * as units from "./units.js";

const AT_ONCE = 25;

export class Functions {
	constructor(profile, search) {
		Object.assign(this, { profile, search, sortBy: "self", rows: AT_ONCE });
	}

	columns() {
		const { kind, profile } = this, k = kind.index;
		const list = [
			["self", "Self", (fn) => fn.self[k], "it called the allocator itself"],
			["total", "Total", (fn) => fn.total[k], "and in what it called"],
		];
		if (profile.info.diff && kind.before >= 0 && kind.after >= 0) {
			list.push(["change", "Change", (fn) => fn.total[kind.after] - fn.total[kind.before],
				"of the total, since before"]);
		}
		return list;
	}

	show(kind) {
		this.kind = kind;
		const columns = this.columns();
		const [, , value] = columns.find(([key]) => key === this.sortBy) ?? columns[0];
		const sorted = this.profile.functions.list.filter((fn) => columns.some(([, , get]) => get(fn)))
			.sort((a, b) => value(b) - value(a) || b.total[kind.index] - a.total[kind.index]);
		byId("functions").hidden = !sorted.length;
		byId("functions").replaceChildren(
			el("h2", { id: "functions-title" }, `Functions by ${kind.title.toLowerCase()}`),
			el("div", { class: "scroll" }, el("table", {}, this.head(columns),
				el("tbody", {}, sorted.slice(0, this.rows).map((fn) => this.row(fn, columns))))),
			...this.rest(sorted.length));
	}

	head(columns) {
		return el("thead", {}, el("tr", {},
			el("th", { scope: "col" }, "Function"),
			columns.map(([key, title, , help]) => el("th", {
				scope: "col", class: "number", "aria-sort": key === this.sortBy ? "descending" : "none",
			}, el("button", { type: "button", title: help, onclick: () => this.sort(key) },
				title, key === this.sortBy ? " ▾" : "")))));
	}

	sort(key) {
		this.sortBy = key;
		this.show(this.kind);
		byId("functions").querySelector("[aria-sort=descending] button").focus();
	}

	row(fn, columns) {
		return el("tr", {},
			el("th", { scope: "row" },
				el("button", { type: "button", class: "link", title: units.middle(fn.function, 500),
					onclick: () => this.search(fn.function) }, name(units.middle(fn.function, 120))),
				" ", el("small", {}, name(basename(fn.module)))),
			columns.map(([key, , get]) => this.cell(key, get(fn))));
	}

	cell(key, value) {
		const { kind, profile } = this;
		if (key === "change")
			return el("td", { class: "number", title: units.count(value) }, units.change(value, kind.format));
		const whole = Number(profile.totals[kind.index]);
		return el("td", { class: "number", title: units.count(value) }, value ? kind.format(value) : "–", " ",
			el("small", { class: "part" }, value ? units.share(value, whole) : ""), bar(value / whole, key));
	}

	rest(cnt) {
		const { functions } = this.profile, hidden = functions.of - functions.list.length;
		const parts = [];
		if (cnt > this.rows) {
			parts.push(el("button", { type: "button", onclick: () => {
				this.rows += 4 * AT_ONCE;
				this.show(this.kind);
			} }, `More (${units.count(cnt - this.rows)})`));
		}
		if (hidden > 0)
			parts.push(el("p", { class: "hint" }, `${units.count(hidden)} functions with less of everything aren't in this file.`));
		return parts;
	}
}
