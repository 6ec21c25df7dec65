// SPDX-License-Identifier: BSD-2-Clause
// totals.js FILE...: what the readers of FILEs show as the whole of it, a line `FILE NAME NUMBER` for each value, by
// the names of JSON's members: pages and images in a browser, DHAT's files in valgrind's viewer there (DH_VIEW),
// speedscope's by its schema.
import { readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { holds, npm, same, withPage } from './browser.js';

const VALUES = {
  'Allocated bytes': 'alloc_bytes', Allocations: 'alloc_count', 'Live bytes': 'live_bytes', 'Live blocks': 'live_count',
  'Bytes at the peak': 'peak_bytes', 'Grown bytes': 'grown_bytes', 'Temporary blocks': 'temporary_count',
};
const number = (text) => text.replaceAll(',', '');

// The page: its heading, and what it says of the root for each value that can be chosen.
async function html(page, tell) {
  await page.waitForSelector('html[data-rendered]');
  for (const item of await page.locator('#totals > div').all()) {
    const [bytes, count] = (await item.locator('small').first().textContent()).match(/[\d,]+/g).map(number);
    const what = { Allocated: 'alloc', 'Still live': 'live', Freed: 'freed' }[await item.locator('dt').textContent()];
    if (what) {
      tell(`${what}_bytes`, bytes);
      tell(`${what}_count`, count);
    }
  }
  for (const direction of ['down', 'up']) {
    await page.check(`#direction input[value=${direction}]`, { force: true });
    for (const title of await page.locator('#value option').allTextContents()) {
      await page.selectOption('#value', { label: title });
      tell(VALUES[title] ?? title, number((await page.locator('#details p').first().textContent()).match(/^[\d,]+/)[0]));
    }
  }
}

async function svg(page, tell) {
  const [, title, value] = (await page.locator('g title').first().textContent()).match(/^all\n([a-z ]+): (.*), 100\.0 %/);
  const name = title[0].toUpperCase() + title.slice(1);
  holds('the caption is within the image', await page.$$eval('svg > text', (lines) =>
    lines.every((line) => line.getBBox().x + line.getBBox().width <= 1190)));
  tell(VALUES[name], (value.match(/\((\d+) bytes\)/) ?? value.match(/^(\d+)/))[1]);
}

async function dhat(page, tell, file) {
  await page.goto(pathToFileURL(process.env.DH_VIEW).href);
  await page.setInputFiles('input[type=file]', file);
  await page.waitForFunction(() => /\[root\]/.test(document.body.textContent), null, { timeout: 20000 });
  const text = await page.evaluate(() => document.body.textContent);
  for (const [line, what] of [['Total', 'alloc'], ['At t-gmax', 'peak'], ['At t-end', 'live']]) {
    const [, bytes, count] = text.match(new RegExp(`${line}: *([\\d,]+) bytes.*? in ([\\d,]+) blocks`));
    tell(`${what}_bytes`, number(bytes));
    tell(`${what}_count`, number(count));
  }
}

function speedscope(text, tell) {
  const release = join(dirname(npm.resolve('speedscope/package.json')), 'dist/release');
  const ajv = new (npm('ajv').default)({ strict: false, allErrors: true });
  const valid = ajv.compile(JSON.parse(readFileSync(join(release, 'file-format-schema.json'), 'utf8')));
  const file = JSON.parse(text);
  if (!valid(file))
    throw new Error(ajv.errorsText(valid.errors));
  const names = { ...VALUES, 'Growth of live bytes': 'grown_bytes' };
  for (const { name, weights } of file.profiles)
    tell(names[name[0].toUpperCase() + name.slice(1)], weights.reduce((sum, weight) => sum + weight, 0));
}

await withPage(async (page, seen) => {
  for (const file of process.argv.slice(2).map((path) => resolve(path))) {
    const said = new Map();
    const tell = (name, value) => {
      same(`${name} of ${file}, told twice`, String(value), said.get(name) ?? String(value));
      said.set(name, String(value));
    };
    if (file.endsWith('.html') || file.endsWith('.svg')) {
      await page.goto(pathToFileURL(file).href);
      await (file.endsWith('.html') ? html : svg)(page, tell);
    } else if (file.endsWith('.dhat')) {
      await dhat(page, tell, file);
    } else {
      speedscope(readFileSync(file, 'utf8'), tell);
    }
    for (const [name, value] of said)
      console.log(basename(file), name, value);
  }
  same('errors', seen.errors, []);
});
