/**
 * A run whose records are on Kafka, in a real browser: the list knows how it is, every view reads it, and it
 * is live.
 */
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { deleteTopics } from '../../support/deleteTopics.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { freshRun, kafkaUrl, noKafka } from '../../support/kafka.ts';
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

const suite = noKafka === null ? withBrowser : describe.skip;

suite(`the page of a run on Kafka${noKafka === null ? '' : ` (${noKafka})`}`, () => {
  const runs = temporaryFolder();
  const run = freshRun();
  let viewer: Viewer;
  let browser: Browser;
  let seen: Watched;
  let job: ChildProcess;

  beforeAll(async () => {
    const args = ['--run', run, '--runs', runs.path, '--log', kafkaUrl];
    const settings = ['--set', 'count=400', '--set', 'workMs=100'];
    job = command('run', 'test/page/browser/live.job.ts', ...args, ...settings);
    job.stderr!.resume();
    [viewer, browser] = await Promise.all([view(runs.path), launch()]);
    seen = await watched(browser, viewer);
    seen.context.setDefaultTimeout(60_000);
  });

  afterAll(async () => {
    await end(job);
    await browser?.close();
    await viewer?.kill();
    await deleteTopics(run);
    runs.remove();
  });

  test('is listed as live, not as silent', async () => {
    const row = seen.page.getByRole('row').filter({ hasText: run });
    await row.locator('.state', { hasText: 'live' }).waitFor();
    expect(seen.wrong).toEqual([]);
  });

  test('is updated in the overview, and in its topics', async () => {
    const { page } = seen;
    await page.goto(`${viewer.origin}/r/${run}`);
    const curve = page.getByRole('figure').filter({ hasText: 'reward/mean' }).getByRole('status');
    await curve.waitFor();
    const before = await curve.textContent();
    await until('the curve went on', async () => (await curve.textContent()) !== before);
    await page.goto(`${viewer.origin}/r/${run}/topics/rollouts`);
    await page.locator('[data-ref]').first().waitFor();
    expect(seen.wrong).toEqual([]);
  });

  test('links a number to its record: a trajectory and its question', async () => {
    const { page } = seen;
    const id = encodeURIComponent('n-0/explore-0/0');
    await page.goto(`${viewer.origin}/r/${run}/t/${id}`);
    await page.locator('.turn-text').first().waitFor();
    await page.goto(`${viewer.origin}/r/${run}/q/n-0`);
    await page.getByRole('heading', { name: 'question n-0' }).waitFor();
    await page.goto(`${viewer.origin}/r/${run}/weights/1`);
    await page.getByRole('heading', { name: 'Version 1' }).waitFor();
    expect(seen.wrong).toEqual([]);
  });
});
