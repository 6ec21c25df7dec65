// SPDX-License-Identifier: BSD-2-Clause
// Elements. Names of traced programs come in as children only: text nodes, whatever they hold.

const SVG = "http://www.w3.org/2000/svg";

export function byId(id) {
	return document.getElementById(id);
}

function fill(element, attributes, children) {
	for (const [name, value] of Object.entries(attributes ?? {})) {
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else if (value !== undefined && value !== false)
			element.setAttribute(name, value === true ? "" : value);
	}
	element.append(...children.flat().filter((child) => child !== undefined && child !== null));
	return element;
}

export function el(tag, attributes, ...children) {
	return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
	return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A name whose letters may run from right to left must not carry the line with it.
export function name(text, attributes) {
	return el("bdi", { class: "name", ...attributes }, text);
}

// A bar for a part of something; the policy allows no style attributes, but properties.
export function bar(part, kind) {
	const inner = el("i", { class: kind });
	inner.style.width = `${Math.max(0, Math.min(1, part || 0)) * 100}%`;
	return el("span", { class: "bar", "aria-hidden": "true" }, inner);
}

// Radio buttons that look like one switch; the browser knows their keys.
export function choices(box, group, options, chosen, onChange) {
	box.replaceChildren(...options.map(([value, text]) => el("label", {},
		el("input", { type: "radio", name: group, value, checked: value === chosen,
			onchange: () => onChange(value) }),
		el("span", {}, text))));
}
