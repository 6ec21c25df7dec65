// SPDX-License-Identifier: BSD-2-Clause
// speedscope.js FILE FUNCTION: FILE keeps to speedscope's schema, and its page shows FUNCTION in it.
// Prints what the page says of FUNCTION: its total, its own, its name.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { holds, npm, same, withPage } from './browser.js';

const release = join(dirname(npm.resolve('speedscope/package.json')),
                     'dist/release');
const [file, name] = process.argv.slice(2);
const text = readFileSync(file, 'utf8');

const schema = JSON.parse(readFileSync(join(release, 'file-format-schema.json'), 'utf8'));
const ajv = new (npm('ajv').default)({ strict: false, allErrors: true });
const valid = ajv.compile(schema);
if (!valid(JSON.parse(text)))
  throw new Error(ajv.errorsText(valid.errors));

// As speedscope's own command hands a file over.
const loader = `${file}.js`;
writeFileSync(loader, `speedscope.loadFileFromBase64("x.speedscope.json", ` +
              `"${Buffer.from(text).toString('base64')}")`);
await withPage(async (page, seen) => {
  const path = encodeURIComponent(loader);
  await page.goto(`${pathToFileURL(join(release, 'index.html'))}#localProfilePath=${path}`);
  await page.waitForFunction(() => document.querySelector('canvas'), null, { timeout: 20000 });
  holds('it was taken for what it is',
        seen.log.some((l) => l.includes('Importing as speedscope json file')));
  await page.keyboard.press('3'); // the table
  await page.getByText('Total', { exact: true }).click(); // the greatest first
  const row = page.locator('tr', { hasText: name }).first();
  await row.waitFor({ timeout: 20000 });
  console.log((await row.innerText()).replace(/\s+/g, ' ').trim());
  same('errors', seen.errors.filter((e) => !/favicon|Failed to load resource/.test(e)), []);
});
