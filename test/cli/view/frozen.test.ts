/** `report`'s page in one file: the data of a run within, allowed by digests alone, bounded. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { findRun, withLog } from '../../../cli/runs.ts';
import type { Answer } from '../../../cli/view/answers.ts';
import type { Assets } from '../../../cli/view/assets.ts';
import { frozenPage } from '../../../cli/view/frozenPage.ts';
import { viewedOf } from '../../../cli/view/openView.ts';
import { freeze } from '../../../views/page/freeze.ts';
import { RunView } from '../../../views/page/runView.ts';
import {
  type Frozen,
  frozenKey,
  type OverviewTwin,
  type TrajectoryTwin,
  type WeightsTwin,
} from '../../../views/page/wire.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { fakeIo } from '../support/fakeIo.ts';

const folder = temporaryFolder();
const runs = join(folder.path, 'runs');
const io = fakeIo(folder.path);

beforeAll(async () => {
  await tinyRun(runs, 'first');
});
afterAll(() => folder.remove());

async function frozen(over: { trajectoriesMax?: number; bytesMax?: number } = {}): Promise<Frozen> {
  const run = await findRun(io, runs, 'first');
  return withLog(run, async (log) => {
    const view = new RunView(viewedOf(run, log, io));
    await view.ready();
    try {
      return await freeze(view, {
        ...{ trajectoriesMax: 10, bytesMax: 20e6, millrace: '0' },
        ...over,
      });
    } finally {
      view.stop();
    }
  });
}

function file(body: string, type = 'text/plain'): Answer {
  return { status: 200, type, body };
}

const built: Assets = {
  index: file(
    '<link rel="stylesheet" href="/assets/a.css"><script type="module" src="/assets/a.js">',
  ),
  file: (path) =>
    ({ '/assets/a.css': file('p{}'), '/assets/a.js': file('"</script>"') })[path] ?? null,
};

describe('a frozen page', () => {
  test('holds the twins that its pages ask for, and says what is left out', async () => {
    const { twins, start, leftOut } = await frozen();
    expect(start).toBe('/r/first');
    const overview = twins['/r/first.json'] as OverviewTwin;
    expect(overview.run.name).toBe('first');
    for (const page of ['metrics', 'topics', 'pareto', 'replay', 'topics/rollouts']) {
      expect(Object.keys(twins)).toContain(`/r/first/${page}.json`);
    }
    expect(twins[frozenKey('/r/first/pareto.json', { stage: '1', x: 'calls' })]).toBeDefined();
    expect((twins['/r/first/weights/2.json'] as WeightsTwin).version).toBe(2);
    const trajectories = Object.keys(twins).filter((key) => /\/t\/\d+\.json$/.test(key));
    expect(trajectories).toHaveLength(10);
    const { question } = twins[trajectories[0]!] as TrajectoryTwin;
    expect(twins[`/r/first/q/${encodeURIComponent(question.id)}.json`]).toBeDefined();
    const all = overview.mill.topics.find(({ name }) => name === 'rollouts')!.records;
    expect(leftOut).toBe(`It holds 10 of ${all} trajectories.`);
  });

  test('is never larger than it may be, and says so', async () => {
    const { twins, bins, leftOut } = await frozen({ trajectoriesMax: 200, bytesMax: 60_000 });
    expect(JSON.stringify({ twins, bins }).length).toBeLessThan(61_000);
    expect(leftOut).toMatch(
      /^It holds \d+ of \d+ trajectories, since the file holds at most 58.6 KiB\.$/,
    );
  });

  test('runs its own script and style by their digests, and data cannot end them', async () => {
    const hostile = { ...(await frozen()), leftOut: '</script><script>alert(1)</script>' };
    const page = frozenPage(built, hostile)!;
    const between = (from: string, to: string): string => page.split(from)[1]!.split(to)[0]!;
    const policy = between('http-equiv="Content-Security-Policy" content="', '"');
    const digest = (text: string): string =>
      `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(
      `script-src ${digest(between('<script type="module">', '</script>'))};`,
    );
    expect(policy).toContain(`style-src ${digest(between('<style>', '</style>'))};`);
    expect(page.match(/<script/g)).toHaveLength(2);
    const data = JSON.parse(between('id="millrace-frozen">', '</script>')) as Frozen;
    expect(data).toEqual(JSON.parse(JSON.stringify(hostile)));
  });

  test('is none where the page was not built', async () => {
    const none: Assets = { index: null, file: () => null };
    expect(frozenPage(none, await frozen())).toBeNull();
  });
});

test('report writes it beside the report', async () => {
  const told = fakeIo(folder.path);
  expect(await main(['report', 'first', '--runs', runs], told)).toBe(0);
  expect(told.stderr()).toContain(`page: ${join(runs, 'first', 'page.html')}`);
  const page = await readFile(join(runs, 'first', 'page.html'), 'utf8');
  expect(page).toContain('id="millrace-frozen"');
});
