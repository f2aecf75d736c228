/**
 * `npm run bench:page`: the live page of a large run in a real browser, and what it costs the job.
 *
 * Views are opened on a run of `--rollouts`; then one commit every 50 ms makes it go on, with a server that
 * ticks as often, and frames and the main thread's processor time are taken; then a day of ticks is sent to
 * the page as fast as it takes them, and its heap is compared with that after the first hour; then a job runs
 * in turns with and without an open page.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import type { OverviewData } from '../page/wire/index.ts';
import type { Log } from '../streams/log.ts';
import { chromiumPath, launch } from '../test/support/chromium.ts';
import { metric, question, rollout } from '../test/support/records.ts';
import { topics } from '../topics/index.ts';
import { benchmark, count, someOf } from './options.ts';
import { dayServer, PORTION_S } from './page/day.ts';
import { fill, names, openRun, valueAt } from './page/largeRun.ts';
import { FRAME_MS, heapBytes, lookAt } from './page/look.ts';
import { folderOnDisk, median, pause, print, type Row, timeMs, type Unmeasured } from './table.ts';
import { openWatched, paced, pairs } from './watched.ts';

const PARTS = ['views', 'frames', 'day', 'job'] as const;
const { rollouts, seconds, hours, turns, only, json } = benchmark(
  'npm run bench:page',
  `The live page in the distribution's Chromium: views of a large run, frames at 20 updates a second, memory after a day of ticks,
and the rate of a job whose page is open. Needs Chromium (apt-get install chromium, or CHROMIUM=/path).`,
)
  .option('--rollouts <N>', 'rollouts of the run', count, 100_000)
  .option('--seconds <N>', 'how long each view is looked at', count, 15)
  .option('--hours <N>', "hours of the run's time whose ticks are told", count, 24)
  .option('--turns <N>', 'turns of the job with the page and without', count, 15)
  .option('--only <PARTS>', `some of ${PARTS.join()}`, someOf(PARTS), PARTS)
  .parse()
  .opts<{
    rollouts: number;
    seconds: number;
    hours: number;
    turns: number;
    only: readonly (typeof PARTS)[number][];
    json: boolean;
  }>();

const UPDATE_MS = 50;
/** Of the main thread, for one update. */
const UPDATE_LIMIT_MS = 4;
const VIEW_LIMIT_MS = 1_000;
const OPENED = 3;

interface Server {
  readonly origin: string;
  end(): void;
}

async function serve(runs: string, tickMs: number): Promise<Server> {
  const args = ['--import', 'tsx', 'bench/page/server.ts', runs, String(tickMs)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout! })) {
    return { origin: new URL(line).origin, end: () => void child.kill() };
  }
  throw new Error('the server ended before it said where it is');
}

async function openedPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  context.setDefaultTimeout(60_000);
  return context.newPage();
}

/** Until what the view is of is there. */
async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.locator('main h1').waitFor({ state: 'attached' });
  await page.getByText(/^(loading|looking for)/).waitFor({ state: 'detached' });
}

async function views(page: Page, origin: string): Promise<Row[]> {
  const [group, step] = [Math.floor(rollouts / 16), Math.floor(rollouts / 128)];
  const paths = {
    overview: '/r/large',
    metrics: '/r/large/metrics',
    'newest rollouts': '/r/large/topics/rollouts',
    'pareto selection': '/r/large/pareto',
    question: `/r/large/q/train-${group}`,
    trajectory: `/r/large/t/${encodeURIComponent(`train-${group}/practice-1/3`)}`,
    version: `/r/large/weights/${step}`,
    replay: '/r/large/replay',
  };
  const firstMs = await timeMs(() => open(page, `${origin}/r/large`));
  const note = `${rollouts.toLocaleString('en')} rollouts`;
  const rows: Row[] = [];
  for (const [what, path] of Object.entries(paths)) {
    const times: number[] = [];
    for (let i = 0; i < OPENED; i++) {
      await page.goto('about:blank');
      times.push(await timeMs(() => open(page, origin + path)));
    }
    rows.push(limit(`open: ${what}`, median(times), VIEW_LIMIT_MS, { note }));
  }
  rows.push({ ...limit('open: the first after the start', firstMs, VIEW_LIMIT_MS), goal: null });
  return rows;
}

function limit(
  what: string,
  ours: number,
  theirs: number,
  more: { unit?: string; goal?: number; note?: string } = {},
): Row {
  const row = { what, against: 'the limit', unit: 'ms', goal: 1, atMost: true, ...more };
  return { ...row, ours, theirs, ratio: ours / theirs };
}

/** One commit every 50 ms while a view is looked at. */
async function frames(page: Page, origin: string, log: Log, lastStep: number): Promise<Row[]> {
  let step = lastStep;
  let commits = Promise.resolve();
  const timer = setInterval(() => {
    step += 1;
    const id = `live-${step}`;
    commits = commits.then(() =>
      log.commit((tx) => {
        tx.append(
          topics.rollouts,
          rollout({ id: `${id}/practice-1/0`, question: question({ id }) }),
        );
        for (const name of names) tx.append(topics.metrics, valueAt(name, step));
      }),
    );
  }, UPDATE_MS);
  const rows: Row[] = [];
  try {
    for (const [what, path] of [
      ['overview', '/r/large'],
      ['metrics', `/r/large/metrics?m=${names.join()}`],
      ['following rollouts', '/r/large/topics/rollouts?follow=1'],
    ] as const) {
      await open(page, origin + path);
      await pause(2_000);
      const from = step;
      const { p99Ms, busyMs } = await lookAt(page, seconds);
      // It looks twice.
      const rate = (step - from) / (2 * seconds);
      const note = `${rate.toFixed(1)} updates/s`;
      rows.push(limit(`frame: ${what}, 99 % within`, p99Ms, FRAME_MS, { goal: 1.1, note }));
      rows.push(
        limit(`update: ${what}`, busyMs / rate, UPDATE_LIMIT_MS, {
          unit: 'ms CPU of the page',
          note,
        }),
      );
    }
  } finally {
    clearInterval(timer);
    await commits;
  }
  return rows;
}

/** The heap after so many hours of ticks with the heap after the first. */
async function day(page: Page, origin: string, lastStep: number): Promise<Row> {
  const data = (await (await fetch(`${origin}/r/large.json`)).json()) as OverviewData;
  const day = { behind: origin, run: 'large', mill: data.mill, names, firstStep: 2 * lastStep };
  const server = await dayServer(day);
  try {
    await open(page, `${server.origin}/r/large`);
    let after = 0;
    const portions = Math.ceil((3600 * hours) / PORTION_S);
    const hour = Math.ceil(3600 / PORTION_S);
    for (let i = 1; i <= portions; i++) {
      await shows(page, await server.portion());
      if (i === Math.min(hour, Math.ceil(portions / 2))) after = await heapBytes(page);
    }
    const ours = (await heapBytes(page)) / 1e6;
    const theirs = after / 1e6;
    return {
      ...{ what: `heap after ${hours} h of ticks`, against: 'after the first hour', unit: 'MB' },
      ...{ ours, theirs, ratio: ours / theirs, goal: 1.1, atMost: true },
      note: `${(2 * 3600 * hours).toLocaleString('en')} ticks of ten values`,
    };
  } finally {
    server.close();
  }
}

async function shows(page: Page, records: number): Promise<void> {
  const shown = `[...document.querySelectorAll('main tr a[href$="/topics/rollouts"]')][0]?.closest('tr').cells[1].textContent`;
  const wanted = records.toLocaleString('en');
  const endMs = performance.now() + 60_000;
  while ((await page.evaluate<string | undefined>(shown)) !== wanted) {
    assert.ok(performance.now() < endMs, `the page never showed ${wanted} rollouts`);
    await pause(5);
  }
}

/** The same job in turns, with its page open and with none. */
async function job(browser: Browser, runs: string): Promise<Row[]> {
  const [watched, alone] = [await openWatched(runs, 'watched'), await openWatched(runs, 'alone')];
  const server = await serve(runs, 500);
  try {
    const page = await openedPage(browser);
    return await pairs(paced, {
      ...{ watched, alone, turns },
      ...{ what: 'a job whose page is open, paced', against: 'the same without' },
      before: () => open(page, `${server.origin}/r/watched`),
      after: async () => void (await page.goto('about:blank')),
    });
  } finally {
    server.end();
    await watched.close();
    await alone.close();
  }
}

async function rowsOf(runs: string): Promise<Row[]> {
  const rows: Row[] = [];
  const browser = await launch();
  const log = await openRun(runs, 'large');
  let server: Server | undefined;
  try {
    if (only.some((part) => part !== 'job')) {
      const lastStep = await fill(log, rollouts);
      await log.commit((tx) => tx.append(topics.metrics, metric()));
      server = await serve(runs, UPDATE_MS);
      const page = await openedPage(browser);
      if (only.includes('views')) rows.push(...(await views(page, server.origin)));
      if (only.includes('frames')) {
        rows.push(...(await frames(page, server.origin, log, lastStep)));
      }
      if (only.includes('day')) rows.push(await day(page, server.origin, lastStep));
      await page.close();
    }
    server?.end();
    if (only.includes('job')) rows.push(...(await job(browser, runs)));
    return rows;
  } finally {
    server?.end();
    await browser.close();
    await log.close();
  }
}

const runs = folderOnDisk('bench-page');
try {
  const none: Unmeasured = { what: 'the page', against: 'its limits', reason: 'no Chromium' };
  print('Page', chromiumPath === undefined ? [none] : await rowsOf(runs), json);
} finally {
  rmSync(runs, { recursive: true, force: true });
}
