// SPDX-License-Identifier: BSD-2-Clause
// Opens pages in Chromium and looks at them as a reader would: by what can be seen, by the keys and
// by what the profile says. Usage: page_test.js PAGES REAL.html REAL.json
// Says what is wrong on standard error.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.js";

const [pages, realPage, realJson] = process.argv.slice(2);
const RENDER_MS = 2000;

let failures = 0;
function check(what, is, should = true) {
	if (Object.is(is, should))
		return;
	failures++;
	console.error(`${what}: is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`);
}

const browser = await launch();

// A page with everything watched that it must not do.
async function open(path, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
	const page = await context.newPage();
	const url = pathToFileURL(resolve(path)).href;
	page.said = [];
	page.asked = [];
	page.on("console", (message) => page.said.push(message.text()));
	page.on("pageerror", (error) => page.said.push(error.message));
	page.on("request", (request) => request.url() !== url && !request.url().startsWith("data:") && page.asked.push(request.url()));
	await page.route((to) => to.href !== url, (route) => route.abort());
	await page.goto(url);
	await page.waitForSelector("html[data-rendered]");
	return page;
}

async function close(page) {
	check("console", page.said.join("; "), "");
	check("requests", page.asked.join("; "), "");
	await page.context().close();
}

function frames(page) {
	return page.locator("#graph g.frame");
}

function frame(page, text) {
	return page.locator("#graph g.frame").filter({ has: page.getByText(text, { exact: true }) }).first();
}

async function width(locator) {
	return Number(await locator.getAttribute("width"));
}

// How many colours a region has, and that nothing of its text leaves the window.
async function look(page) {
	const shot = (await page.screenshot()).toString("base64");
	return page.evaluate(async (data) => {
		const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
		const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
		const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
		canvas.drawImage(bitmap, 0, 0);
		const pixels = new Uint32Array(canvas.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer);
		const counts = new Map();
		for (let i = 0; i < pixels.length; i += 7)
			counts.set(pixels[i], (counts.get(pixels[i]) ?? 0) + 1);
		const large = [...counts.values()].filter((count) => count > pixels.length / 14000).length;
		const [back] = [...counts].sort((a, b) => b[1] - a[1])[0];
		return { large, light: (back & 255) > 128, wide: document.documentElement.scrollWidth - innerWidth };
	}, shot);
}

// ---- a real run, compared with what another writer says of the same program ----

async function real() {
	const page = await open(realPage), json = JSON.parse(readFileSync(realJson, "utf8"));
	const data = await page.evaluate(() => JSON.parse(document.getElementById("profile").textContent));
	check("frames are drawn", await frames(page).count() > 20);
	check("the page is of the run", (await page.locator("#target").textContent()) === json.target);
	for (const key of ["alloc_bytes", "alloc_count", "live_bytes", "live_count"])
		check(key, data.totals[key], String(json.totals[key]));
	const { alloc_bytes: bytes, alloc_count: count } = json.totals;
	const heading = `${bytes.toLocaleString("en-US")} bytes in ${count.toLocaleString("en-US")} allocations`;
	check("the heading", await page.locator("#totals small").first().textContent(), heading);
	await page.check("#layout input[value=flame]", { force: true });
	check("a flame's root is in sight", await page.evaluate(() => {
		const box = document.getElementById("graph").getBoundingClientRect();
		return document.getElementById("frame-0").getBoundingClientRect().bottom <= box.bottom + 1;
	}));
	check("the root has all", (await frame(page, "all").getAttribute("aria-label")).endsWith("100.0 % of all"));
	await close(page);
}

async function values() {
	const page = await open(join(pages, "live.html"));
	const wide = [];
	for (const value of ["alloc_bytes", "alloc_count", "live_bytes", "peak_bytes", "temporary_count", "grown_bytes"]) {
		await page.selectOption("#value", value);
		const shown = frame(page, "remember");
		wide.push(await shown.count() ? Math.round(await width(shown)) : 0);
	}
	check("values have widths of their own", new Set(wide).size >= 5);
	check("no temporary block is of remember", wide[4], 0);
	await page.selectOption("#value", "live_bytes");
	check("a live byte's share", await page.locator("#functions tbody tr").first().textContent()
		.then((text) => text.startsWith("remember")));
	check("lifetimes", await page.locator("#lifetimes tbody tr").count() > 4);
	check("sizes", await page.locator("#sizes tbody tr").count() > 2);
	check("processes", await page.locator("#processes tbody tr").count(), 5);
	check("losses are in sight", await page.getByText("neither live nor freed").isVisible());
	await close(page);
}

async function searchAndZoom() {
	const page = await open(join(pages, "live.html"));
	await page.selectOption("#value", "live_bytes");
	await page.fill("#search", "REMEMB");
	check("the match", await page.locator("#graph g[data-hit]").count(), 1);
	// 4000 of 4000 + 1024 KiB and 144 bytes.
	check("its share", await page.locator("#matched").textContent(), "79.6 %, 3.9 MiB");
	await page.fill("#search", "nothing has this name");
	check("no match", await page.locator("#matched").textContent(), "no match");
	await page.fill("#search", "");
	const cache = frame(page, "cache_fill");
	const before = await width(cache);
	await cache.click();
	check("a click zooms", await width(cache) > before * 4);
	check("and tells", (await page.locator("#details h2").textContent()), "cache_fill");
	check("to the byte", (await page.locator("#details p").first().textContent()).startsWith("1,048,576 bytes, mean size 64.0 KiB"));
	await page.click("#reset");
	check("reset", Math.round(await width(frame(page, "cache_fill"))), Math.round(before));
	await page.check("#direction input[value=up]", { force: true });
	check("callers first", await frame(page, "remember").getAttribute("aria-level"), "2");
	const top = await frame(page, "remember").boundingBox();
	await page.check("#layout input[value=flame]", { force: true });
	check("a flame grows up", (await frame(page, "remember").boundingBox()).y > (await frame(page, "main").boundingBox()).y);
	check("an icicle down", top.y > 0);
	await page.locator("#functions").getByRole("button", { name: "Total" }).click();
	check("sorted by total", await page.locator("#functions th[aria-sort=descending]").textContent(), "Total ▾");
	await page.locator("#functions .link").filter({ hasText: "remember" }).click();
	check("a function is searched", await page.inputValue("#search"), '"remember"');
	// Its share is the one of the table, whatever other names have it in them.
	await page.fill("#search", '"main"');
	const whole = await page.locator("#matched").textContent();
	await page.fill("#search", '"mai"');
	check("a part isn't the whole", await page.locator("#matched").textContent(), "no match");
	check("the whole is", whole !== "no match");
	await close(page);
}

async function keys() {
	const page = await open(join(pages, "live.html"));
	const at = () => page.locator("#details h2").textContent();
	await page.keyboard.press("Tab");
	check("the way to the graph comes first", await page.evaluate(() => document.activeElement.textContent), "Skip to the graph");
	await page.keyboard.press("Enter");
	await page.focus("#graph");
	await page.keyboard.press("ArrowDown");
	check("down", await at(), "server");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	const first = await at();
	await page.keyboard.press("ArrowRight");
	check("to the right", await at() !== first);
	await page.keyboard.press("ArrowLeft");
	check("and back", await at(), first);
	const before = await width(frame(page, first));
	await page.keyboard.press("Enter");
	check("Enter zooms", await width(frame(page, first)) > before);
	check("the reader of a screen knows where", await page.evaluate(() =>
		document.getElementById(document.getElementById("graph").getAttribute("aria-activedescendant"))
			.getAttribute("aria-label")).then((label) => label.startsWith(first)));
	check("where the keys are can be seen", await page.evaluate(() =>
		getComputedStyle(document.querySelector("g[data-at] rect")).strokeWidth), "3px");
	await page.keyboard.press("Escape");
	check("Escape resets", await width(frame(page, first)), before);
	await page.keyboard.press("/");
	await page.keyboard.type("cons");
	check("/ searches", await page.locator("#graph g[data-hit]").count() > 0);
	await page.keyboard.press("Escape");
	check("Escape forgets the search", await page.inputValue("#search"), "");
	await close(page);
}

async function themes() {
	const page = await open(realPage);
	for (const [colorScheme, choose, light] of [["light", "auto", true], ["dark", "auto", false], ["dark", "light", true], ["light", "dark", false]]) {
		const scheme = `${colorScheme}, ${choose}`;
		await page.emulateMedia({ colorScheme });
		await page.check(`#theme input[value=${choose}]`, { force: true });
		const seen = await look(page);
		check(`${scheme}: light`, seen.light, light);
		check(`${scheme}: colours`, seen.large >= 6);
		check(`${scheme}: contrast`, await contrast(page) >= 4.5);
	}
	await close(page);
	const narrow = await open(realPage, { viewport: { width: 390, height: 800 } });
	check("nothing leaves a narrow window", (await look(narrow)).wide, 0);
	check("the graph has its width", await width(narrow.locator("#graph svg")) <= 390);
	await close(narrow);
}

// The least of any label in the graph against its frame's colour (WCAG 2).
function contrast(page) {
	return page.evaluate(() => {
		const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
		const luminance = (colour) => {
			canvas.fillStyle = colour;
			canvas.fillRect(0, 0, 1, 1);
			const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
				.map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		return Math.min(...[...document.querySelectorAll("#graph g.frame")].slice(0, 200).map((g) => {
			const [a, b] = [getComputedStyle(g.querySelector("rect")).fill,
				getComputedStyle(g.querySelector("div")).color].map(luminance).sort((x, y) => y - x);
			return (a + 0.05) / (b + 0.05);
		}));
	});
}

async function hostile() {
	const page = await open(join(pages, "hostile.html"));
	check("nothing ran", await page.evaluate(() => "hurt" in window), false);
	check("nothing was made", await page.locator("main img, #bold, header script, main i:not([class]):not([aria-hidden])").count(), 0);
	check("the function's name is text", await page.getByText("</script><img src=x onerror=window.hurt=1>", { exact: true }).count() > 0);
	check("the target's name is text", await page.locator("#target").textContent(), "</title><script>window.hurt=1</script>");
	check("more than 53 bits are exact", (await page.locator("#totals small").first().textContent())
		.startsWith("13,835,058,055,282,174,102 bytes"));
	check("all losses", await page.locator("#losses tr").count(), 2);
	await frame(page, "<b id=bold>").hover();
	check("the tip's name is text", await page.locator(".tip .name").textContent(), "<b id=bold>");
	await close(page);
}

async function others() {
	const difference = await open(join(pages, "difference.html"));
	const fill = (text) => frame(difference, text).locator("rect").getAttribute("fill");
	check("grown", await fill("grown"), "var(--grown4)");
	check("shrunk", await fill("shrunk"), "var(--shrunk3)");
	check("the same", await fill("same"), "var(--same)");
	check("a legend", (await difference.locator("#legend").textContent()).startsWith("grown"));
	await difference.selectOption("#value", "base_alloc_bytes");
	check("what is gone can be seen", await width(frame(difference, "gone")) > 10);
	await frame(difference, "gone").click();
	check("its change", (await difference.locator("#details p").first().textContent()).includes("changed by −400.0 KiB"));
	await close(difference);

	const sampled = await open(join(pages, "sampled.html"));
	check("the estimator", (await sampled.locator("#sure").textContent()).includes("Horvitz-Thompson"));
	check("the error", (await sampled.locator("#totals").textContent()).includes("± 211.3 KiB in ± 2,241 (95 %)"));
	check("the course", await sampled.locator("#timeline path.line").count(), 1);
	check("licences", await sampled.locator("footer pre").textContent()
		.then((text) => text.includes("d3-flame-graph 5.0.0 (Apache-2.0)") && text.includes("Apache License") &&
			text.includes("d3-selection 3.0.0 (ISC)") && text.includes("THE SOFTWARE IS PROVIDED")));
	await close(sampled);

	// Of its 1000 hits four stand for what is live.
	const few = await open(join(pages, "few.html"));
	await few.selectOption("#value", "live_bytes");
	await frame(few, "few").click();
	const row = (value) => few.locator("#details tr", { has: few.getByText(value, { exact: true }) });
	check("four samples are few", (await row("Live bytes").textContent()).includes("few samples"));
	check("a thousand aren't", (await row("Allocated bytes").textContent()).includes("±"));
	check("it says how many", (await few.locator("#details p").first().textContent()).includes(", 4 samples"));
	await close(few);

	const deep = await open(join(pages, "deep.html"));
	check("a thousand frames deep", await frames(deep).count() > 1000);
	await deep.focus("#graph");
	for (let i = 0; i < 5; i++)
		await deep.keyboard.press("ArrowDown");
	await deep.keyboard.press("Enter");
	check("and zoomed", (await deep.locator("#details h2").textContent()) !== "all");
	await close(deep);

	const bounds = await open(join(pages, "bounds.html"));
	check("lower bounds", await bounds.locator("#sure").textContent(), "lower bounds from 132 samples in 1 window, " +
		"each allocation kept with probability 0.01 (ratio to progress). Coverage: not known; cost 0 % of a budget of 5 %. " +
		"Lower bounds where probes took most of the time or no window came.");
	check("at least", (await bounds.locator("#totals small").first().textContent()).startsWith("at least 1,239,000 bytes"));
	check("and no interval", await bounds.locator("#details").textContent().then((text) => text.includes("at least") && !text.includes("±")));
	await close(bounds);

	const empty = await open(join(pages, "empty.html"));
	check("nothing is something, too", await empty.locator("#totals small").first().textContent(), "0 bytes in 0 allocations");
	await close(empty);
}

/* The page, and after how many ms it was there. */
async function rendered(name) {
	const page = await open(join(pages, name));
	return [page, Number(await page.evaluate(() => document.documentElement.dataset.rendered))];
}

async function many() {
	let [page, ms] = await rendered("many.html");
	/* A machine may be busy for a moment; a page that is slow is slow again. */
	for (let again = 0; again < 2 && ms >= RENDER_MS; again++) {
		await close(page);
		[page, ms] = await rendered("many.html");
	}
	console.log(`100000 stacks: ${readFileSync(join(pages, "many.html")).length} bytes, first drawn after ${ms} ms, ` +
		`${await frames(page).count()} frames`);
	check("100,000 stacks are there in time", ms < RENDER_MS);
	check("it says what was left out", (await page.locator("#pruned").textContent()).includes("stacks are summed"));
	const start = Date.now();
	await page.check("#direction input[value=up]", { force: true });
	await page.selectOption("#value", "alloc_count");
	check("and stays quick", Date.now() - start < 2 * RENDER_MS);
	check("what was left out is one frame", await page.getByText(/^\(other: \d+ stacks below [0-9.]+ %\)$/).count() > 0);
	await close(page);
}

try {
	for (const test of [many, real, values, searchAndZoom, keys, themes, hostile, others]) {
		const start = Date.now();
		await test();
		console.log(`${test.name}: ${Date.now() - start} ms`);
	}
} finally {
	await browser.close();
}
process.exit(failures ? 1 : 0);
