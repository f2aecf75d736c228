/**
 * Every view of a finished run in a real browser: what it says, where links and keys lead, and what must not
 * happen.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import type { ResultsData, TrajectoryData } from '../../../page/wire/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { violations } from './axe.ts';
import {
  launch,
  steady,
  until,
  type Viewer,
  view,
  type Watched,
  watched,
  withBrowser,
} from './support.ts';

/** Places of rollouts in their topic are a matter of timing, their ids are not. */
const rolloutId = encodeURIComponent('sum-28/evaluate-0/0');

const pages = [
  ['runs', '/', 'Runs'],
  ['results', '/r/tiny/results', 'tiny'],
  ['overview', '/r/tiny', 'tiny'],
  ['happened', '/r/tiny/happened', 'What happened'],
  ['metrics', '/r/tiny/metrics', 'Metrics'],
  ['topics', '/r/tiny/topics', 'Topics'],
  ['tap', '/r/tiny/topics/rollouts?limit=12', 'rollouts'],
  ['rollouts', '/r/tiny/rollouts', 'Rollouts'],
  ['pareto', '/r/tiny/pareto', 'Pareto selection'],
  ['question', '/r/tiny/q/sum-28', 'question'],
  ['trajectory', `/r/tiny/t/${rolloutId}`, 'rollout'],
  ['weights', '/r/tiny/weights', 'Weights'],
  ['version', '/r/tiny/weights/1', 'Version 1'],
  ['replay', '/r/tiny/replay', 'Replay'],
  ['diff', '/diff/tiny..other', 'tiny and other'],
] as const;

withBrowser('the page of a finished run', () => {
  const runs = temporaryFolder();
  let viewer: Viewer;
  let browser: Browser;
  let seen: Watched;

  beforeAll(async () => {
    await tinyRun(runs.path, 'tiny');
    await tinyRun(runs.path, 'other', { timing: 3, settings: { keep: 5 } });
    [viewer, browser] = await Promise.all([view(runs.path), launch()]);
  });

  afterAll(async () => {
    await browser?.close();
    await viewer?.kill();
    runs.remove();
  });

  const addressOf = (path: string): string => viewer.origin + path;

  async function shown(page: Page, path: string, heading: string): Promise<void> {
    await page.goto(addressOf(path));
    await page
      .getByRole('heading', { level: 1 })
      .filter({ hasText: heading })
      .waitFor({ state: 'attached' });
    await page.getByText(/^(loading|looking for)/).waitFor({ state: 'detached' });
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
  }

  describe('every view', () => {
    beforeEach(async () => {
      seen = await watched(browser, viewer);
    });
    afterEach(() => seen.context.close());

    // In the others the order of rows is a matter of timing.
    const same = pages.filter(
      ([name]) => !['tap', 'rollouts', 'happened', 'pareto', 'version'].includes(name),
    );

    test.each(same)('has the same text as before: %s', async (_, path, heading) => {
      await shown(seen.page, path, heading);
      expect(steady(await seen.page.locator('main').ariaSnapshot())).toMatchSnapshot();
      expect(seen.wrong).toEqual([]);
    });
  });

  test.each(['light', 'dark'] as const)(
    'no view breaks a rule of accessibility, %s',
    async (scheme) => {
      seen = await watched(browser, viewer, { scheme });
      const found: string[] = [];
      for (const [name, path, heading] of pages) {
        await shown(seen.page, path, heading);
        // What differs in the dark are colours.
        const rules = scheme === 'dark' ? ['color-contrast'] : undefined;
        found.push(...(await violations(seen.page, rules)).map((one) => `${name}: ${one}`));
      }
      expect(found).toEqual([]);
      expect(seen.wrong).toEqual([]);
      await seen.context.close();
    },
  );

  test('no view scrolls sideways or cuts off a table, on a desktop, a tablet or a phone, where a finger meets what is 40 px high', async () => {
    seen = await watched(browser, viewer, { width: 1400 });
    const wide: string[] = [];
    for (const [name, path, heading] of pages) {
      await shown(seen.page, path, heading);
      for (const width of [1400, 768, 390, 320]) {
        await seen.page.setViewportSize({ width, height: 900 });
        const over = await seen.page.evaluate<number>(
          'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.documentElement.scrollWidth - innerWidth))))',
        );
        if (over > 0) wide.push(`${name} at ${width} by ${over}`);
        const cut = await seen.page.evaluate<number>(
          `[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth && getComputedStyle(one).overflowX !== 'auto').length`,
        );
        if (cut > 0) wide.push(`${name} at ${width}: what is too wide is cut off`);
        if (width !== 390) continue;
        // The sign beside a name is small; what it is met by reaches beyond it.
        const low = await seen.page.evaluate<string[]>(
          `[...document.querySelectorAll('button:not(.about, .skip), .button, input:not([type=checkbox]), select, summary, label, .tabs a, .top a')]
            .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 39.5)
            .map((one) => one.outerHTML.slice(0, 120))`,
        );
        wide.push(...low.map((one) => `${name}: too low for a finger: ${one}`));
      }
    }
    expect(wide).toEqual([]);
    await seen.context.close();
  });

  test('every view fits on a sheet of A4, without bars, buttons or cut columns', async () => {
    // 210 mm less margins of 10, at 96 dots an inch.
    seen = await watched(browser, viewer, { width: 718 });
    await seen.page.emulateMedia({ media: 'print' });
    const wrong: string[] = [];
    for (const [name, path, heading] of pages) {
      await shown(seen.page, path, heading);
      const found = await seen.page.evaluate<string[]>(`[
        ...(document.documentElement.scrollWidth > innerWidth ? ['too wide'] : []),
        ...[...document.querySelectorAll('.scroll')].flatMap((one) =>
          one.scrollWidth > one.clientWidth ? [one.ariaLabel + ' is cut'] : []),
        ...(document.querySelector('.tabs')?.checkVisibility() ? ['tabs'] : []),
        ...[...document.querySelectorAll('main button:not(.sort, td *)')].some((one) => one.checkVisibility()) ? ['buttons'] : [],
      ]`);
      wrong.push(...found.map((one) => `${name}: ${one}`));
    }
    expect(wrong).toEqual([]);
    await seen.context.close();
  });

  test('what a curve says at the cursor stands beside it, not over it', async () => {
    seen = await watched(browser, viewer);
    const { page } = seen;
    await page.goto(addressOf('/r/tiny/metrics?m=reward/mean'));
    const over = page.locator('.u-over').first();
    await over.waitFor();
    const { x, y, width, height } = (await over.boundingBox())!;
    for (const share of [0.1, 0.4, 0.6, 0.9]) {
      await page.mouse.move(x + share * width, y + height / 2);
      const tip = page.locator('.tip').first();
      await tip.waitFor();
      const box = (await tip.boundingBox())!;
      const at = x + share * width;
      expect(box.x > at || box.x + box.width < at).toBe(true);
      expect(box.x).toBeGreaterThanOrEqual(x);
      expect(box.x + box.width).toBeLessThanOrEqual(x + width);
    }
    await seen.context.close();
  });

  test('results come first: accuracy as one number, and what it was; names explain themselves', async () => {
    seen = await watched(browser, viewer);
    const { page } = seen;
    await shown(page, '/', 'Runs');
    await page.getByRole('link', { name: 'tiny', exact: true }).click();
    await page.waitForURL('**/r/tiny/results');
    const data = (await (
      await page.request.get(addressOf('/r/tiny/results.json'))
    ).json()) as ResultsData;
    const headline = page.getByRole('region', { name: 'held-out accuracy' });
    const { accuracy, before } = data.headline!;
    const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
    await headline.getByText(percent(accuracy), { exact: true }).first().waitFor();
    await headline.getByText(`was ${percent(before!.accuracy)}`).waitFor();
    expect(await page.getByRole('heading', { level: 3 }).count()).toBe(data.examples.length);
    const sentence = page.getByText('mean correctness', { exact: true });
    expect(await sentence.isVisible()).toBe(false);
    await headline.getByRole('button', { name: 'about eval/accuracy' }).click();
    await sentence.waitFor();
    await page.keyboard.press('Escape');
    await sentence.waitFor({ state: 'hidden' });
    expect(seen.wrong).toEqual([]);
    await seen.context.close();
  });

  test('rollouts are sorted by a column, filtered by a value, and each row leads to its trajectory', async () => {
    seen = await watched(browser, viewer);
    const { page } = seen;
    await shown(page, '/r/tiny/rollouts', 'Rollouts');
    const cells = async (column: number): Promise<string[]> =>
      page.locator(`.rollouts tbody tr > :nth-child(${column})`).allInnerTexts();
    await page.getByRole('button', { name: 'reward', exact: true }).click();
    await page.locator('th[aria-sort="descending"]').waitFor();
    const rewards = (await cells(2)).map(Number).filter(Number.isFinite);
    expect(rewards.length).toBeGreaterThan(2);
    expect(rewards).toEqual([...rewards].sort((a, b) => b - a));
    // The worst first: of a long table only the rows that were scrolled to are there.
    await page.getByRole('button', { name: 'reward ↓', exact: true }).click();
    await page.locator('th[aria-sort="ascending"]').waitFor();
    const all = (await cells(1)).length;
    await page.getByRole('button', { name: 'wrong', exact: true }).first().click();
    await page.getByRole('button', { name: /^ended: wrong/ }).waitFor();
    expect(new Set((await cells(1)).map((text) => text.trim()))).toEqual(new Set(['✗ wrong']));
    await page.getByRole('button', { name: /^ended: wrong/ }).click();
    await page.getByRole('button', { name: /^ended: wrong/ }).waitFor({ state: 'detached' });
    await until('all rows are there again', async () => (await cells(1)).length >= all);
    const ref = await page.locator('.rollouts tbody tr').first().getAttribute('data-ref');
    await page.locator('.rollouts tbody tr').first().locator('td').nth(1).click();
    await page.waitForURL(`**/r/tiny/t/${ref}`);
    expect(seen.wrong).toEqual([]);
    await seen.context.close();
  });

  test('runs are searched, and two that are checked are compared', async () => {
    seen = await watched(browser, viewer);
    const { page } = seen;
    await shown(page, '/', 'Runs');
    await page.getByRole('searchbox').fill('oth');
    await page.getByText('1 of 2 runs').waitFor();
    expect(await page.locator('.runs tbody th').allInnerTexts()).toEqual(['other']);
    await page.getByRole('searchbox').fill('');
    await page.getByText('2 runs').waitFor();
    await page.getByRole('checkbox', { name: 'compare tiny' }).check();
    await page.getByText('Choose a run to compare with tiny.').waitFor();
    await page.getByRole('checkbox', { name: 'compare other' }).check();
    await page.getByRole('link', { name: 'Compare tiny and other' }).click();
    await page.waitForURL('**/diff/tiny..other');
    expect(seen.wrong).toEqual([]);
    await seen.context.close();
  });

  describe('keys', () => {
    beforeEach(async () => {
      seen = await watched(browser, viewer);
    });
    afterEach(() => seen.context.close());

    const path = (): string => new URL(seen.page.url()).pathname + new URL(seen.page.url()).search;

    test('go from view to view, and do nothing while the reader types', async () => {
      const { page } = seen;
      await shown(page, '/r/tiny', 'tiny');
      await page.keyboard.press('g');
      await page.keyboard.press('m');
      await page.waitForURL('**/r/tiny/metrics');
      await page.getByRole('searchbox').waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('gt');
      expect(await page.getByRole('searchbox').inputValue()).toBe('gt');
      expect(path()).toBe('/r/tiny/metrics');
      await page.keyboard.press('Escape');
      await page.keyboard.press('g');
      await page.keyboard.press('t');
      await page.waitForURL('**/r/tiny/topics');
      await page.keyboard.press('?');
      await page.getByRole('dialog').getByText('back to live').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
    });

    test('move through a trajectory: turns, neighbours, colours', async () => {
      const { page } = seen;
      await shown(page, `/r/tiny/t/${rolloutId}`, 'rollout');
      await page.keyboard.press('j');
      await page.waitForURL('**?turn=0');
      await page.keyboard.press('e');
      await page.waitForURL('**show=**');
      await page.keyboard.press('n');
      await page.getByRole('heading', { name: 'rollout 2 of 2' }).waitFor();
      expect(new URL(page.url()).searchParams.has('turn')).toBe(false);
      await page.keyboard.press('p');
      await page.getByRole('heading', { name: 'rollout 1 of 2' }).waitFor();
    });

    test('[ and ] go through the steps, and \\ returns to now', async () => {
      const { page } = seen;
      await shown(page, '/r/tiny', 'tiny');
      await page.getByRole('group', { name: 'moment' }).waitFor();
      await page.keyboard.press('[');
      await page.waitForURL('**?at=step:*');
      await page.getByText('As of').first().waitFor();
      await page.keyboard.press('\\');
      await page.waitForURL('**/r/tiny');
    });
  });

  describe('a link', () => {
    beforeEach(async () => {
      seen = await watched(browser, viewer);
    });
    afterEach(() => seen.context.close());

    test('to a record shows that record', async () => {
      await seen.page.goto(addressOf('/r/tiny/topics/rollouts?offset=3&limit=1'));
      await seen.page.locator('[data-ref="3"]').waitFor();
      expect(await seen.page.locator('[data-ref]').count()).toBe(1);
    });

    test('to a turn of a trajectory shows that turn', async () => {
      await seen.page.goto(addressOf(`/r/tiny/t/${rolloutId}?turn=0`));
      await seen.page.locator('[data-turn="0"].here').waitFor();
    });

    test('to a filter shows what it selects, or what is wrong with it', async () => {
      const { page } = seen;
      await page.goto(addressOf('/r/tiny/topics/rollouts?where=toolCalls%20%3D%200'));
      await page.getByText(/searched \d+ of \d+, found/).waitFor();
      await page.getByLabel('filter: field').fill('nonsense ===');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await page.getByLabel('filter: field').waitFor();
    });

    test('to nothing says that nothing is there', async () => {
      for (const path of [
        '/r/nobody',
        '/r/tiny/t/99999',
        '/r/tiny/topics/nothing',
        '/r/tiny/weights/77',
      ]) {
        await seen.page.goto(addressOf(path));
        await seen.page.getByRole('alert').waitFor();
      }
      for (const path of ['/nowhere', '/diff/tiny']) {
        await seen.page.goto(addressOf(path));
        await seen.page.getByRole('heading', { name: 'Page not found' }).waitFor();
        await seen.page.getByRole('link', { name: 'All runs', exact: true }).waitFor();
      }
    });
  });

  test('each part of a reward has a scale that shows its place in the group', async () => {
    seen = await watched(browser, viewer);
    const { page } = seen;
    await page.goto(addressOf(`/r/tiny/t/${rolloutId}`));
    const rows = page.locator('.parts tr');
    await rows.first().waitFor();
    // The place of this rollout and of the others, from 0 (the least of the group) to 1, as it is drawn and
    // as the numbers are.
    const { rollout, group } = await page.evaluate<Pick<TrajectoryData, 'rollout' | 'group'>>(
      `fetch('/r/tiny/t/${rolloutId}.json').then((answer) => answer.json())`,
    );
    for (const [name, part] of Object.entries(rollout.parts)) {
      const all = group.rollouts.map(({ parts }) => parts[name]!);
      const [least, most] = [Math.min(...all), Math.max(...all)];
      const row = rows.filter({ has: page.getByRole('rowheader', { name, exact: true }) });
      if (least === most) await row.getByText('all equal').waitFor();
      else {
        const x = Number(await row.locator('.this').getAttribute('cx'));
        expect((x - 5) / 54).toBeCloseTo((part - least) / (most - least), 3);
      }
    }
    await seen.context.close();
  });

  test('a server with control asks for its token, and verifies a run', async () => {
    const controlled = await view(runs.path, 0, ['--control']);
    const { page, context, wrong } = await watched(browser, controlled);
    try {
      await page.goto(`${controlled.origin}/r/tiny/replay`);
      const field = page.getByLabel('Control token');
      await field.fill('a wrong one');
      await page.getByRole('button', { name: 'Use' }).click();
      await page.getByRole('button', { name: 'Verify' }).click();
      await page.getByText('the control token is missing or wrong').waitFor();
      await field.fill(controlled.control);
      await page.getByRole('button', { name: 'Use' }).click();
      await page.getByRole('button', { name: 'Verify' }).click();
      const job = page.getByRole('region', { name: 'recomputing' });
      await job.getByText('is equal to its record, bit for bit').waitFor({ timeout: 200_000 });
      await job.getByText('done').waitFor();
      expect(await violations(page)).toEqual([]);
      // It is kept nowhere: another tab is asked again.
      await page.reload();
      await field.waitFor();
      expect(wrong).toEqual([]);
    } finally {
      await context.close();
      await controlled.kill();
    }
  });

  test('a curve has its values as a table, and follows the arrow keys', async () => {
    seen = await watched(browser, viewer);
    const { page } = seen;
    await page.goto(addressOf('/r/tiny/metrics?m=reward/mean'));
    const chart = page.getByRole('figure').first();
    await chart.locator('canvas').waitFor();
    await chart.getByRole('img').focus();
    await page.keyboard.press('ArrowLeft');
    await chart
      .locator('[aria-live]')
      .filter({ hasText: /step \d+: reward\/mean/ })
      .waitFor({ state: 'attached' });
    await chart.getByRole('button', { name: 'as table' }).click();
    await chart.getByRole('row').nth(1).waitFor();
    await seen.context.close();
  });
});
