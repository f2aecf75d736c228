/**
 * Every view looks as it did: the pictures of the documentation are what the page draws, of recorded answers
 * of real runs, in fonts that are the same on every machine.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContext } from 'playwright-core';
import { pictureDiffers } from './pictures.ts';
import { readRecorded, serveRecorded } from './recorded/recorded.ts';
import { launch, withBrowser } from './support.ts';

const folder = 'docs/pictures';
const fonts = {
  Inter: 'node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2',
  Mono: 'node_modules/@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2',
};
/** Letters of two builds of Chromium differ at their edges. */
const SHARE = 0.01;

/** Before the page draws: its fonts are those, from bytes, which no policy forbids. */
function withFonts(): string {
  const loads = Object.entries(fonts).map(([name, path]) => {
    const bytes = readFileSync(path).toString('base64');
    return `document.fonts.add(new FontFace('${name}', Uint8Array.from(atob('${bytes}'), (c) => c.charCodeAt(0)), { weight: '100 900' }));`;
  });
  return `${loads.join('\n')}
    const style = new CSSStyleSheet();
    style.replaceSync('html { font-family: Inter, sans-serif } :root { --mono: Mono, monospace }');
    document.adoptedStyleSheets = [style];`;
}

withBrowser('pictures of all views', () => {
  const recorded = readRecorded();
  let served: Awaited<ReturnType<typeof serveRecorded>>;
  let browser: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    [served, browser] = await Promise.all([serveRecorded(recorded), launch()]);
    context = await browser.newContext({
      ...{ viewport: { width: 1200, height: 680 }, deviceScaleFactor: 1, colorScheme: 'light' },
      ...{ reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-GB' },
    });
    await context.addInitScript(withFonts());
  });
  afterAll(async () => {
    await browser?.close();
    served?.close();
  });

  test.each(recorded.views)('has $name unchanged', async ({ name, path }) => {
    const page = await context.newPage();
    await page.goto(served.origin + path);
    await page.locator('main > *').first().waitFor({ state: 'attached' });
    await page.getByText(/^(loading|looking for)/).waitFor({ state: 'detached' });
    // Drawn once the frame has come in which its place was known.
    await page.evaluate(
      'document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))))',
    );
    const now = await page.screenshot({ animations: 'disabled' });
    const picture = { path: `${folder}/${name}.webp`, now, share: SHARE };
    expect(await pictureDiffers(browser, picture)).toBeNull();
    await page.close();
  });

  test('are small: 60 kB each, 600 kB together', () => {
    const sizes = readdirSync(folder).map((name) => statSync(`${folder}/${name}`).size);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(60_000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(600_000);
  });
});
