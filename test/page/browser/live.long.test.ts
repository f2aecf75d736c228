/**
 * A live run in a real browser: from an empty folder over its first record to its end, killed and resumed
 * while the page is open, with a server that goes away and comes back, and with text that would like to be
 * markup.
 */
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { temporaryFolder } from '../../support/folder.ts';
import {
  command,
  end,
  launch,
  until,
  type Viewer,
  view,
  type Watched,
  watched,
  withBrowser,
} from './support.ts';

const job = 'test/page/browser/live.job.ts';

withBrowser('the page of a live run', () => {
  const runs = temporaryFolder();
  let viewer: Viewer;
  let browser: Browser;
  let seen: Watched;
  let run: ChildProcess | undefined;
  const start = (): ChildProcess => {
    const child = command(
      'run',
      job,
      '--run',
      'live',
      '--runs',
      runs.path,
      '--set',
      'count=150',
      '--set',
      'workMs=100',
    );
    child.stderr!.resume();
    return child;
  };

  beforeAll(async () => {
    [viewer, browser] = await Promise.all([view(runs.path), launch()]);
    seen = await watched(browser, viewer);
  });

  afterAll(async () => {
    if (run !== undefined) await end(run);
    await browser?.close();
    await viewer?.kill();
    runs.remove();
  });

  test('goes from an empty folder to the first record, curves and weights', async () => {
    const { page } = seen;
    await page.getByText('No runs yet').waitFor();
    run = start();
    await page.getByRole('link', { name: 'live' }).click({ timeout: 50_000 });
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByRole('figure').getByText('reward/mean').waitFor({ timeout: 50_000 });
    // The curve goes on by itself.
    const value = page.getByRole('figure').filter({ hasText: 'reward/mean' }).getByRole('status');
    const before = await value.textContent();
    await until('the curve went on', async () => (await value.textContent()) !== before);
    expect(seen.wrong).toEqual([]);
  });

  test('follows the newest records of a topic until the reader scrolls', async () => {
    const { page } = seen;
    await page.goto(`${viewer.origin}/r/live/topics/rollouts`);
    await page.locator('[data-ref]').first().waitFor();
    const first = await page.locator('[data-ref]').first().getAttribute('data-ref');
    await page.keyboard.press('f');
    await page.waitForURL('**follow=1');
    const newest = page.locator('[data-ref]').first();
    await until(
      'newer records came',
      async () => (await newest.getAttribute('data-ref')) !== first,
    );
    await page.keyboard.press('f');
    await page.waitForURL((url) => !url.searchParams.has('follow'));
  });

  test('shows a killed run as silent with how to resume it, and follows it to its end once resumed', async () => {
    const { page } = seen;
    await page.goto(`${viewer.origin}/r/live`);
    await page.getByText('live', { exact: true }).first().waitFor();
    await end(run!);
    await page
      .getByText(/resume/i)
      .first()
      .waitFor({ timeout: 40_000 });
    await page.locator('.state', { hasText: 'silent' }).waitFor();
    run = start();
    await page.locator('.state', { hasText: 'done' }).waitFor({ timeout: 80_000 });
    expect(seen.wrong).toEqual([]);
  });

  test('shows what a policy wrote as text: no markup, no dialog, no request, nothing invisible', async () => {
    const { page } = seen;
    for (const address of [
      '/r/live/t/0',
      '/r/live/topics/rollouts?offset=0&limit=1',
      '/r/live/q/n-0',
    ]) {
      await page.goto(viewer.origin + address);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const row = page.locator('[data-ref="0"] .row-head');
      if ((await row.count()) > 0) await row.click();
    }
    await page.goto(`${viewer.origin}/r/live/t/0`);
    const text = page.locator('.turn-text').first();
    await text.waitFor();
    const shown = await text.textContent();
    expect(shown).toContain('<img src=x onerror="globalThis.owned = 1"><script>');
    expect(shown).toContain('user⟨U+202E⟩txt.exe ⟨U+001B⟩[31mred');
    expect(shown).toContain('zero⟨U+200B⟩width');
    expect(await page.evaluate('globalThis.owned')).toBeUndefined();
    expect(await page.locator('main img, main script, main a[href^="javascript"]').count()).toBe(0);
    expect(seen.wrong).toEqual([]);
  });

  test('reports a server that goes away, and recovers with it', async () => {
    const { page } = seen;
    await page.goto(`${viewer.origin}/r/live`);
    await page.locator('.state').waitFor();
    const { port } = viewer;
    await viewer.kill();
    await page.getByText('No connection to the server.').waitFor({ timeout: 30_000 });
    // What was read is still there.
    await page.getByRole('heading', { name: 'The mill' }).waitFor();
    viewer = await view(runs.path, port);
    await page
      .getByText('No connection to the server.')
      .waitFor({ state: 'detached', timeout: 40_000 });
    await page.goto(`${viewer.origin}/r/live/topics`);
    await page.getByRole('heading', { name: 'Topics' }).waitFor();
    expect(seen.wrong).toEqual([]);
  });

  test('shares one stream among many tabs, so that the eighth still loads', async () => {
    const tabs = [];
    for (let i = 0; i < 8; i++) {
      const tab = await seen.context.newPage();
      await tab.goto(`${viewer.origin}/r/live`);
      await tab.getByRole('heading', { name: 'The mill' }).waitFor();
      tabs.push(tab);
    }
    expect(tabs).toHaveLength(8);
    expect(seen.wrong).toEqual([]);
  });
});
