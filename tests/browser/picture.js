// SPDX-License-Identifier: BSD-2-Clause
// A picture of a page as it opens, with one of the widest frames chosen. Usage:
// picture.js PAGE.html OUT.png light|dark FUNCTION
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./browser.js";

const [path, out, colorScheme, text] = process.argv.slice(2);
const browser = await launch();
try {
	const page = await browser.newPage({ viewport: { width: 1280, height: 960 }, colorScheme, reducedMotion: "reduce" });
	await page.goto(pathToFileURL(resolve(path)).href);
	await page.waitForSelector("html[data-rendered]");
	// Down the widest frames to it, as a reader would go by the keys.
	await page.focus("#graph");
	for (let i = 0; i < 60 && await page.locator("#details h2").textContent() !== text; i++)
		await page.keyboard.press("ArrowDown");
	await page.evaluate(() => scrollTo(0, 0));
	await page.waitForTimeout(500); // labels come after the frames
	await page.screenshot({ path: out });
} finally {
	await browser.close();
}
