// SPDX-License-Identifier: BSD-2-Clause
// A headless browser, and pages whose errors and requests are remembered.
import { chromium } from 'playwright-core';

export async function withPage(work) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
           '--allow-file-access-from-files'],
  });
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
