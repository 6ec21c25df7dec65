// SPDX-License-Identifier: BSD-2-Clause
// What stands beside the pointer: lines of text, the first of them a name.

import { el, name } from "./dom.js";

export class Tip {
	constructor(box, lines) {
		this.box = el("div", { class: "tip", "aria-hidden": "true", hidden: true });
		document.body.append(this.box);
		// As d3-flame-graph wants it: a function with methods.
		this.handler = Object.assign(() => {}, {
			show: (event, d) => this.show(event, lines(d)),
			hide: () => { this.box.hidden = true; },
			destroy: () => this.box.remove(),
		});
	}

	show(event, [first, ...rest]) {
		this.box.replaceChildren(name(first), ...rest.map((line) => el("div", {}, line)));
		this.box.hidden = false;
		const left = Math.min(event.clientX + 14, innerWidth - this.box.offsetWidth - 8);
		const below = event.clientY + 18;
		const top = below + this.box.offsetHeight < innerHeight ? below
			: event.clientY - this.box.offsetHeight - 12;
		this.box.style.left = `${Math.max(8, left)}px`;
		this.box.style.top = `${Math.max(8, top)}px`;
	}
}
