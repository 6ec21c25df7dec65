// SPDX-License-Identifier: BSD-2-Clause
// What the scripts here share: npm's packages, which the build keeps elsewhere (MODULES: that folder), a
// headless browser (CHROMIUM), and pages whose errors and requests are remembered.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

export const npm = createRequire(join(resolve(process.env.MODULES), 'x.js'));

export function launch(args = []) {
  return npm('playwright-core').chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', ...args],
  });
}

export async function withPage(work) {
  const browser = await launch(['--use-angle=swiftshader', '--enable-unsafe-swiftshader',
                                '--allow-file-access-from-files']);
  try {
    const page = await browser.newPage({ viewport: { width: 1240, height: 900 } });
    const log = [], errors = [], requests = [];
    page.on('console', (m) => (m.type() === 'error' ? errors : log).push(m.text()));
    page.on('pageerror', (e) => errors.push(String(e)));
    page.on('request', (r) => requests.push(r.url()));
    await work(page, { log, errors, requests });
  } finally {
    await browser.close();
  }
}

export function same(what, is, should) {
  const a = JSON.stringify(is), b = JSON.stringify(should);
  if (a !== b)
    throw new Error(`${what}: is ${a}, not ${b}`);
}

export function holds(what, condition) {
  if (!condition)
    throw new Error(`not so: ${what}`);
}
