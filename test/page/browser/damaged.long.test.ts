/**
 * Runs that a disk or a user has damaged, in a real browser: each view says what is damaged and what to do,
 * and none is empty.
 */
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { main } from '../../../cli/program.ts';
import { fakeIo } from '../../cli/support/fakeIo.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { launch, type Viewer, view, type Watched, watched, withBrowser } from './support.ts';

/** What each run has suffered. */
const damages: Readonly<Record<string, (folder: string) => void>> = {
  // Every text of a rollout has another byte.
  texts(folder) {
    const path = join(folder, 'log/log.mdb');
    const bytes = readFileSync(path);
    for (let at = bytes.indexOf('<answer>'); at >= 0; at = bytes.indexOf('<answer>', at + 1)) {
      bytes[at + 1]! ^= 0x20;
    }
    writeFileSync(path, bytes);
  },
  pages(folder) {
    const path = join(folder, 'log/log.mdb');
    const bytes = readFileSync(path);
    for (let at = 20 * 4096; at < bytes.length; at += 3 * 4096) bytes[at + 20]! ^= 0x40;
    writeFileSync(path, bytes);
  },
  cut: (folder) => truncateSync(join(folder, 'log/log.mdb'), 100_000),
  nothing: (folder) => rmSync(join(folder, 'log'), { recursive: true }),
  record: (folder) => writeFileSync(join(folder, 'run.json'), '{"millrace": "0.1'),
  killed(folder) {
    const path = join(folder, 'run.json');
    const text = readFileSync(path, 'utf8');
    const killed = text.replace('"done"', '"running"').replace('"endedMs": 1', '"endedMs": null');
    writeFileSync(path, killed);
  },
  weights(folder) {
    truncateSync(join(folder, 'weights/000005.safetensors'), 20);
    rmSync(join(folder, 'weights/000004.safetensors'));
  },
};

/** Views, and what of each damage they say. */
const views = ['', '/metrics', '/topics', '/topics/rollouts', '/pareto', '/q/sum-28', '/replay'];

withBrowser('the page of a damaged run', () => {
  const runs = temporaryFolder();
  let viewer: Viewer;
  let browser: Browser;
  let seen: Watched;

  beforeAll(async () => {
    await tinyRun(runs.path, 'whole');
    for (const [name, damage] of Object.entries(damages)) {
      cpSync(join(runs.path, 'whole'), join(runs.path, name), { recursive: true });
      damage(join(runs.path, name));
    }
    [viewer, browser] = await Promise.all([view(runs.path), launch()]);
    seen = await watched(browser, viewer);
  });

  afterAll(async () => {
    await browser?.close();
    await viewer?.kill();
    runs.remove();
  });

  /** The state by a command. */
  async function stateBy(
    command: string,
    run: string,
    ...more: readonly string[]
  ): Promise<string> {
    const io = fakeIo(runs.path, Date.now());
    await main([command, run, '--runs', runs.path, '--json', ...more], io);
    return (JSON.parse(io.stdout()) as { readonly state: string }).state;
  }

  /** Everything that a view says, once it has said something. */
  async function said(path: string): Promise<string> {
    const { page } = seen;
    await page.goto(viewer.origin + path);
    await page.locator('main > *').first().waitFor({ state: 'attached' });
    await page.getByText(/^(loading|looking for)/).waitFor({ state: 'detached' });
    const text = await page.evaluate<string>('document.querySelector("main").innerText');
    expect(text.trim()).not.toBe('');
    expect(text).not.toMatch(/\n\s+at .*:\d+:\d+|TypeError|undefined|\[object/);
    return text;
  }

  test.each([
    ['pages', /has a damaged page.*millrace doctor/],
    ['cut', /is cut short.*millrace doctor/],
    ['nothing', /There is no log in/],
    ['record', /run\.json is damaged/],
  ])('shows in every view that log or record is lost: %s', async (run, what) => {
    for (const path of views) expect(await said(`/r/${run}${path}`)).toMatch(what);
    expect(seen.wrong).toEqual([]);
  });

  test('reports changed records where they would be, and then in the overview', async () => {
    const { page } = seen;
    expect(await said('/r/texts/topics/rollouts?limit=3')).toMatch(/cannot be read|checksum/);
    expect(await said('/r/texts/q/sum-28')).toMatch(/2 of 2 rollouts cannot be read/);
    expect(await said('/r/texts/t/0')).toMatch(/checksum does not match/);
    await page.goto(`${viewer.origin}/r/texts`);
    const sentence = page.locator('.sentence', { hasText: /records of this run cannot be read/ });
    await sentence.filter({ hasText: /millrace doctor --runs \S+ texts/ }).waitFor();
    await sentence.filter({ hasText: 'Finished after step 5' }).waitFor();
    expect(seen.wrong).toEqual([]);
  });

  test('shows weights with a truncated file as damaged, and missing ones as not kept or lost', async () => {
    expect(await said('/r/weights/weights/5')).toMatch(
      /Damaged: it has .*Restore it from a backup/,
    );
    expect(await said('/r/weights/weights/4')).toMatch(/deleted or lost/);
    expect(await said('/r/weights/weights/3')).not.toMatch(/Damaged|deleted or lost/);
  });

  test.each([
    ['whole', 'done'],
    ['killed', 'silent'],
    ['cut', 'damaged'],
    ['texts', 'damaged'],
  ])('calls run %s %s, in the list and its head as doctor and top do', async (run, state) => {
    const { page } = seen;
    await page.goto(viewer.origin);
    const row = page
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name: run, exact: true }) });
    // Of texts the list reads none that is damaged.
    if (run !== 'texts')
      await row
        .getByText(new RegExp(`${state}$`))
        .first()
        .waitFor();
    // What could not be read at all has no head; what is damaged in part says so once it was met.
    if (run !== 'cut') {
      await page.goto(`${viewer.origin}/r/${run}/q/sum-28`);
      await page.goto(`${viewer.origin}/r/${run}`);
      await page.locator('header .state').getByText(state).waitFor();
    }
    expect(await stateBy('doctor', run)).toBe(state);
    // Top looks at the newest records alone.
    if (run !== 'texts' && run !== 'cut') expect(await stateBy('top', run, '--once')).toBe(state);
  });

  test('lists damaged runs with what is wrong', async () => {
    const text = await said('/');
    expect(text).toMatch(/record\s+.*run\.json is damaged/);
    expect(text).toMatch(/cut\s+.*is cut short/s);
    expect(text).toMatch(/whole/);
    expect(seen.wrong).toEqual([]);
  });
});
