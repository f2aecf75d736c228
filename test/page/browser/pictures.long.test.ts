/**
 * What is drawn looks as it did: curves, the mill, the scatter and the branch tree of a run that never
 * changes, light and dark.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { frozenPage } from '../../../page/server/frozen/frozenPage.ts';
import { loadAssets } from '../../../page/server/http/assets.ts';
import { html } from '../../../summary/html/html.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { fixedRun } from './fixedRun.ts';
import { pictureDiffers } from './pictures.ts';
import { launch, withBrowser } from './support.ts';

/** View, what of it is a drawing, and which of them. */
const drawings = [
  ['curve', '/r/fixed', '.chart .u-over', 0],
  ['mill', '/r/fixed', 'svg.mill-drawing', 0],
  ['curves', '/r/fixed/metrics', '.chart .u-over', 0],
  ['scatter', '/r/fixed/pareto', '.scatter canvas', 0],
  ['branches', '/r/fixed/q/q', '.group-body svg', 0],
] as const;

withBrowser('the page', () => {
  const folder = temporaryFolder();
  let browser: Browser;

  beforeAll(async () => {
    const page = frozenPage(loadAssets(), fixedRun, { title: 'fixed', body: html`` });
    writeFileSync(join(folder.path, 'report.html'), page!);
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    folder.remove();
  });

  /** The view with its letters left out: what is measured by text has the size of a machine's fonts. */
  async function opened(context: BrowserContext, path: string): Promise<Page> {
    const page = await context.newPage();
    // Letters on a canvas are left out where it is drawn.
    await page.addInitScript('CanvasRenderingContext2D.prototype.fillText = () => {};');
    await page.goto(`${pathToFileURL(join(folder.path, 'report.html')).href}#${path}`);
    await page.locator('main > *').first().waitFor({ state: 'attached' });
    await page.evaluate(`(() => {
      const style = new CSSStyleSheet();
      style.replaceSync('svg text { visibility: hidden } .note, .tip { display: none }');
      document.adoptedStyleSheets = [style];
    })()`);
    return page;
  }

  describe.each(['light', 'dark'] as const)('in the %s colour scheme', (colorScheme) => {
    let context: BrowserContext;
    beforeAll(async () => {
      const viewport = { width: 1280, height: 900 };
      const look = { colorScheme, reducedMotion: 'reduce', deviceScaleFactor: 1 } as const;
      context = await browser.newContext({ viewport, ...look, timezoneId: 'UTC' });
    });
    afterAll(() => context?.close());

    test.each(drawings)('has %s unchanged', async (name, path, selector, which) => {
      const page = await opened(context, path);
      const part = page.locator(selector).nth(which);
      await part.waitFor();
      // Drawn once the frame has come in which its place was known.
      await page.evaluate(
        'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))',
      );
      const now = await part.screenshot({ animations: 'disabled' });
      const kept = `test/page/browser/__pictures__/${name}-${colorScheme}.png`;
      expect(await pictureDiffers(browser, { path: kept, now })).toBeNull();
      await page.close();
    });
  });
});
