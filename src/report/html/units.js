// SPDX-License-Identifier: BSD-2-Clause
// Numbers for people. Whole ones may be BigInt: 64 bits are more than a browser's numbers hold.

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const plain = new Intl.NumberFormat("en-US");

export function count(value) {
	if (typeof value === "number" && value > Number.MAX_SAFE_INTEGER)
		return `≈ ${value.toPrecision(4)}`;
	return plain.format(typeof value === "number" ? Math.round(value) : value);
}

export function bytes(value) {
	let number = Number(value), unit = 0;
	const sign = number < 0 ? "−" : "";
	number = Math.abs(number);
	for (; number >= 1023.95 && unit < BYTES.length - 1; unit++)
		number /= 1024;
	return `${sign}${unit ? number.toFixed(1) : Math.round(number)} ${BYTES[unit]}`;
}

export function change(value, format) {
	return value > 0 ? `+${format(value)}` : value < 0 ? `−${format(-value)}` : "±0";
}

export function share(part, whole) {
	if (!Number(whole))
		return "–";
	const percent = Number(part) / Number(whole) * 100;
	return percent && percent < 0.05 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

export function duration(ns) {
	for (const [unit, size] of [["ns", 1e3], ["µs", 1e6], ["ms", 1e9]]) {
		if (ns < size)
			return `${short(ns / (size / 1e3))} ${unit}`;
	}
	const s = ns / 1e9;
	if (s < 120)
		return `${short(s)} s`;
	if (s < 7200)
		return `${short(s / 60)} min`;
	return s < 172800 ? `${short(s / 3600)} h` : `${short(s / 86400)} d`;
}

function short(number) {
	return number >= 100 ? number.toFixed(0) : String(Number(number.toPrecision(3)));
}

// The first so many characters and the last: both ends of a long name say something.
export function middle(text, most) {
	if (text.length <= most)
		return text;
	return `${text.slice(0, Math.ceil(most * 0.6))}…${text.slice(-Math.floor(most * 0.4))}`;
}
