// SPDX-License-Identifier: BSD-2-Clause
// svg.js FILE FUNCTION: the image works by itself: it renders alone and in <img>, by day and by night,
// zooms, searches, and asks nobody for anything. Prints the tooltip of the root and of FUNCTION.
import { pathToFileURL } from 'node:url';
import { holds, same, withPage } from './browser.js';

const [file, name] = process.argv.slice(2);
const url = pathToFileURL(file).href;
const shown = () => [...document.querySelectorAll('g')].filter((g) => g.style.display !== 'none').length;
const fill = (of) => getComputedStyle(document.querySelector(of)).fill;

await withPage(async (page, seen) => {
  await page.goto(url);
  const titles = await page.$$eval('g', (all) => all.map((g) => g.querySelector('title').textContent));
  const at = titles.findIndex((t) => t.split('\n')[0] === name);
  holds(`a box of ${name}`, at > 0);
  console.log(titles[0].split('\n').pop());
  console.log(titles[at].split('\n').pop());

  // Each box lies within its image, and its letters within the box.
  const outside = await page.$$eval('g', (all) => all.filter((g) => {
    const r = g.querySelector('rect').getBBox(), t = g.querySelector('text');
    return r.x < 9.99 || r.x + r.width > 1190.01 || (t && t.getBBox().x + t.getBBox().width > r.x + r.width + 1);
  }).length);
  same('boxes that stand out', outside, 0);

  // Zoom.
  const box = page.locator('g').nth(at), all = await page.evaluate(shown);
  const before = await box.locator('rect').getAttribute('width');
  await box.locator('rect').click();
  same('width of the box that was clicked', +(await box.locator('rect').getAttribute('width')), 1180);
  holds('others are gone', (await page.evaluate(shown)) < all);
  await page.keyboard.press('Escape');
  same('boxes after zooming out', await page.evaluate(shown), all);
  holds('it is as it was', Math.abs(+(await box.locator('rect').getAttribute('width')) - before) < 0.01);

  // Search.
  page.on('dialog', (d) => d.accept(name));
  await page.locator('#find').click();
  holds('a hit', (await page.locator('g.h').count()) >= 1);
  holds('its share', /^search: [0-9.]+ % match$/.test(await page.locator('#find').textContent()));
  page.removeAllListeners('dialog');
  page.once('dialog', (d) => d.accept('blocks'));
  await page.locator('#find').click();
  same('hits of a word that only numbers have', await page.locator('g.h').count(), 0);
  await page.keyboard.press('Escape');
  same('hits after Escape', await page.locator('g.h').count(), 0);

  // Day and night.
  const day = await page.evaluate(fill, '.b');
  await page.emulateMedia({ colorScheme: 'dark' });
  const night = await page.evaluate(fill, '.b');
  same('colours of the ground', [day, night], ['rgb(255, 255, 255)', 'rgb(27, 27, 29)']);
  same('colour of letters by night', await page.evaluate(fill, 'g text'), 'rgb(230, 230, 230)');
  await page.emulateMedia({ colorScheme: 'light' });

  // As an image.
  await page.goto('about:blank');
  await page.goto(url.replace(/[^/]*$/, ''));
  const size = await page.evaluate((src) => new Promise((done) => {
    const img = document.body.appendChild(new Image());
    img.onload = () => done([img.naturalWidth, img.naturalHeight > 100]);
    img.onerror = () => done('no image');
    img.src = src;
  }), url);
  same('as an image', size, [1200, true]);
  same('errors', seen.errors, []);
  holds('no request but for the file', seen.requests.every((r) => r.startsWith('file:') || r === 'about:blank'));
});
