// SPDX-License-Identifier: BSD-2-Clause
// Makes the page around which allocsnoop writes a profile: one file, with everything inside and a
// policy that lets nothing else in. Usage: node build.js MODULES OUT
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(modules, "x.js"))("esbuild");

function read(name) {
	return readFileSync(join(here, name), "utf8");
}

// The licences of what is in the bundle, of which esbuild tells the files.
function notices(inputs) {
	const names = new Set();
	for (const path of Object.keys(inputs)) {
		const found = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
		if (found)
			names.add(found[1]);
	}
	return [...names].sort().map((name) => {
		const { version, license } = JSON.parse(
			readFileSync(join(modules, name, "package.json"), "utf8"));
		const text = readFileSync(join(modules, name, "LICENSE"), "utf8").trim();
		return { title: `${name} ${version} (${license})`, text };
	});
}

// Equal texts once, under the names of all that have them.
function noticesText(list) {
	const titles = new Map();
	for (const { title, text } of list)
		titles.set(text, [...(titles.get(text) ?? []), title]);
	return [...titles].map(([text, names]) => `${names.join(", ")}\n\n${text}`)
		.join("\n\n----\n\n");
}

function escapeText(text) {
	return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

// Dark by the reader's choice is dark by the system's, once more.
function styleText() {
	const text = read("page.css");
	const dark = text.match(/:root:not\(\[data-theme="light"\]\) (\{[^}]*\})/)[1];
	return text.replace("@DARK@", () => `:root[data-theme="dark"] ${dark}`);
}

function hash(text) {
	return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

const bundle = await esbuild.build({
	entryPoints: [join(here, "main.js")],
	absWorkingDir: dirname(modules),
	nodePaths: [modules],
	bundle: true,
	minify: true,
	format: "iife",
	charset: "ascii",
	target: "es2020",
	legalComments: "none", // they are in the page, whole
	loader: { ".css": "empty" }, // d3-flame-graph's: ours has dark and light
	metafile: true,
	write: false,
});
// In a script element, so it must not seem to end there.
const script = bundle.outputFiles[0].text.trim().replaceAll("</script", "<\\/script");
const style = (await esbuild.transform(styleText(), { loader: "css", minify: true })).code.trim();
const policy = ["default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`,
	"img-src data:", "base-uri 'none'", "form-action 'none'"].join("; ");

const parts = {
	POLICY: policy,
	STYLE: style,
	SCRIPT: script,
	NOTICES: escapeText(noticesText(notices(bundle.metafile.inputs))),
};
writeFileSync(out, read("template.html").replace(/@([A-Z]+)@/g, (all, name) => parts[name] ?? all));
