/**
 * `report.html` opened as the file that it is, with a script and without: the same results, and what must not
 * happen.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { main } from '../../../cli/program.ts';
import { fakeIo } from '../../cli/support/fakeIo.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { violations } from './axe.ts';
import { type Look, launch, type Watched, watched, withBrowser } from './support.ts';

withBrowser('report.html', () => {
  const runs = temporaryFolder();
  let link = '';
  let browser: Browser;
  let seen: Watched;

  beforeAll(async () => {
    const folder = await tinyRun(runs.path, 'tiny');
    const io = fakeIo(runs.path);
    expect(await main(['report', 'tiny', '--runs', runs.path], io)).toBe(0);
    expect(io.stderr().join()).not.toContain('alone');
    link = pathToFileURL(join(folder, 'report.html')).href;
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    runs.remove();
  });
  afterEach(() => seen.context.close());

  async function opened(look: Look = {}, at = ''): Promise<Page> {
    seen = await watched(browser, { link: link + at, origin: 'null' }, look);
    return seen.page;
  }

  const heading = (page: Page, name: string): Locator =>
    page.getByRole('heading', { name, exact: true });
  const tab = (page: Page, name: string): Locator => page.getByRole('link', { name, exact: true });

  /**
   * Of the report: its letters' colour, its width, and what the page's own style would have made of a chart.
   */
  const look = (page: Page): Promise<unknown> =>
    page.evaluate(`(() => {
      const root = document.getElementById('millrace-results').shadowRoot;
      const style = (name) => getComputedStyle(root.querySelector(name));
      return [style('h2').color, style('h2').fontSize, style('.muted').color, style('table').width,
        style('.grid').stroke, style('polyline').fill, root.querySelectorAll('svg').length];
    })()`);

  test.each(['light', 'dark'] as const)('is complete without a script, %s', async (scheme) => {
    const page = await opened({ scheme, script: false });
    await heading(page, 'tiny').waitFor();
    await heading(page, 'Settings').waitFor();
    await page.getByText('The other views of this file need JavaScript').waitFor();
    expect(await page.getByRole('figure').count()).toBeGreaterThan(3);
    expect(await tab(page, 'Overview').count()).toBe(0);
    expect(seen.wrong).toEqual([]);
  });

  test.each(['light', 'dark'] as const)(
    'is an accessible view of the page with a script, %s',
    async (scheme) => {
      const page = await opened({ scheme });
      await heading(page, 'tiny').waitFor();
      await heading(page, 'Settings').waitFor();
      await page
        .getByText('Finished after step')
        .or(page.locator('header .state'))
        .first()
        .waitFor();
      expect(await tab(page, 'Results').getAttribute('aria-current')).toBe('page');
      expect(await page.getByText('need JavaScript').count()).toBe(0);
      expect(await page.locator('main').count()).toBe(1);
      expect(await violations(page)).toEqual([]);
      expect(seen.wrong).toEqual([]);
    },
  );

  test.each(['light', 'dark'] as const)('looks the same with a script, %s', async (scheme) => {
    const without = await opened({ scheme, script: false });
    await heading(without, 'Settings').waitFor();
    const before = await look(without);
    await seen.context.close();
    const page = await opened({ scheme });
    await tab(page, 'Results').waitFor();
    expect(await look(page)).toEqual(before);
    expect(seen.wrong).toEqual([]);
  });

  describe('has views that', () => {
    test('are changed by tabs, keys and the back button', async () => {
      const page = await opened();
      await tab(page, 'Metrics').click();
      await heading(page, 'Metrics').waitFor();
      expect(await heading(page, 'Settings').count()).toBe(0);
      await page.keyboard.press('g');
      await page.keyboard.press('s');
      await heading(page, 'Settings').waitFor();
      expect(new URL(page.url()).hash).toBe('#/r/tiny/results');
      await page.goBack();
      await heading(page, 'Metrics').waitFor();
      await tab(page, 'Results').click();
      await heading(page, 'Settings').waitFor();
      expect(seen.wrong).toEqual([]);
    });

    test('have addresses; the results exist only as of the end', async () => {
      const page = await opened({}, '#/r/tiny/weights?at=step:1');
      await heading(page, 'Weights').waitFor();
      await page.getByText('As of').first().waitFor();
      await tab(page, 'Results').click();
      await heading(page, 'Settings').waitFor();
      await page.keyboard.press('[');
      expect(new URL(page.url()).hash).toBe('#/r/tiny/results');
      expect(await page.getByText('As of').count()).toBe(0);
      expect(await page.getByRole('group', { name: 'moment' }).count()).toBe(0);
    });

    test('do not scroll sideways on a phone', async () => {
      const page = await opened({ width: 390 });
      await heading(page, 'Settings').waitFor();
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 900 });
        const over = await page.evaluate<number>(
          'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.documentElement.scrollWidth - innerWidth))))',
        );
        expect(over).toBeLessThanOrEqual(0);
      }
      expect(await violations(page)).toEqual([]);
    });
  });
});
