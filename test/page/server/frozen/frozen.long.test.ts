/**
 * `report`'s page in one file: the report and the data of a run within, allowed by digests alone, bounded.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../../../cli/program.ts';
import { findRun, type Run, withLog } from '../../../../cli/runs.ts';
import { withView } from '../../../../cli/view/host.ts';
import { freeze } from '../../../../page/server/frozen/freeze.ts';
import { FILE_MAX, frozenPage } from '../../../../page/server/frozen/frozenPage.ts';
import {
  type ReportFile,
  type ReportFileOptions,
  reportFile,
} from '../../../../page/server/frozen/reportFile.ts';
import type { Answer } from '../../../../page/server/http/answers.ts';
import type { Assets } from '../../../../page/server/http/assets.ts';
import { now } from '../../../../page/server/run/moment.ts';
import type { RunView } from '../../../../page/server/run/runView.ts';
import { weightsData } from '../../../../page/server/views/weights.ts';
import {
  type Frozen,
  frozenKey,
  type OverviewData,
  type TrajectoryData,
  type WeightsData,
} from '../../../../page/wire/index.ts';
import { html } from '../../../../summary/html/html.ts';
import { reportPage } from '../../../../summary/html/reportPage.ts';
import { type Summary, summarise } from '../../../../summary/summary.ts';
import { fakeIo } from '../../../cli/support/fakeIo.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { tinyRun } from '../../../support/tinyRun.ts';

const folder = temporaryFolder();
const runs = join(folder.path, 'runs');
const io = fakeIo(folder.path);

beforeAll(async () => {
  await tinyRun(runs, 'first');
});
afterAll(() => folder.remove());

function viewed<T>(run: Run, use: (view: RunView) => Promise<T>): Promise<T> {
  return withLog(run, (log) => withView(run, log, io, use));
}

async function frozen(over: { trajectoriesMax?: number; bytesMax?: number } = {}): Promise<Frozen> {
  return (await frozenOrNull(over))!;
}

async function frozenOrNull(over: {
  trajectoriesMax?: number;
  bytesMax?: number;
}): Promise<Frozen | null> {
  const run = await findRun(io, runs, 'first');
  const usual = { trajectoriesMax: 10, bytesMax: 20e6, millrace: '0' };
  return viewed(run, (view) => freeze(view, { ...usual, ...over }));
}

function file(body: string, type = 'text/plain'): Answer {
  return { status: 200, type, body };
}

const report = { title: '</title>', body: html`<p>${'</template><script>'}</p>` };

const built: Assets = {
  index: file(
    '<link rel="stylesheet" href="/assets/a.css"><script type="module" src="/assets/a.js">',
  ),
  file: (path) =>
    ({ '/assets/a.css': file('p{}'), '/assets/a.js': file('"</script>"') })[path] ?? null,
};

describe('a frozen page', () => {
  test('holds the data that its views ask for, and says what is left out', async () => {
    const { json, start, leftOut } = await frozen();
    expect(start).toBe('/r/first/results');
    const overview = json['/r/first.json'] as OverviewData;
    expect(overview.run.name).toBe('first');
    for (const page of ['metrics', 'topics', 'pareto', 'replay', 'topics/rollouts']) {
      expect(Object.keys(json)).toContain(`/r/first/${page}.json`);
    }
    expect(json[frozenKey('/r/first/pareto.json', { round: '1', x: 'calls' })]).toBeDefined();
    expect((json['/r/first/weights/2.json'] as WeightsData).version).toBe(2);
    const trajectories = Object.keys(json).filter((key) => /\/t\/\d+\.json$/.test(key));
    expect(trajectories).toHaveLength(10);
    const { question } = json[trajectories[0]!] as TrajectoryData;
    expect(json[`/r/first/q/${encodeURIComponent(question.id)}.json`]).toBeDefined();
    const all = overview.mill.topics.find(({ name }) => name === 'rollouts')!.records;
    expect(leftOut).toBe(`It holds 10 of ${all} trajectories.`);
  });

  test('counts rollouts of all its weights as a page about each of them does', async () => {
    const { json } = await frozen();
    const run = await findRun(io, runs, 'first');
    await viewed(run, async (view) => {
      const { marks } = view.timeline;
      expect(marks.length).toBeGreaterThan(2);
      for (const { version } of marks) {
        const [alone] = await weightsData(view, now, [version]);
        const { rollouts } = json[`/r/first/weights/${version}.json`] as WeightsData;
        expect(rollouts).toEqual(alone?.rollouts);
      }
    });
  });

  test('never exceeds its limit, and says so', async () => {
    const { json, bins, leftOut } = await frozen({ trajectoriesMax: 200, bytesMax: 60_000 });
    expect(JSON.stringify({ json, bins }).length).toBeLessThan(61_000);
    expect(leftOut).toMatch(
      /^It holds \d+ of \d+ trajectories, since the file holds at most 58.6 KiB\.$/,
    );
    expect(await frozenOrNull({ bytesMax: 1_000 })).toBeNull();
  });

  test('runs its own script and style by their digests, and data cannot close their tags', async () => {
    const hostile = { ...(await frozen()), leftOut: '</script><script>alert(1)</script>' };
    const page = frozenPage(built, hostile, report)!;
    const between = (from: string, to: string): string => page.split(from)[1]!.split(to)[0]!;
    const policy = between('http-equiv="Content-Security-Policy" content="', '"');
    const digest = (text: string): string =>
      `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(
      `script-src ${digest(between('<script type="module">', '</script>'))};`,
    );
    const styles = [...page.matchAll(/<style>(.*?)<\/style>/gs)].map((match) => digest(match[1]!));
    expect(styles).toHaveLength(2);
    expect(policy).toContain(`style-src ${styles.join(' ')};`);
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(page.match(/<\/template>|<\/title>/g)).toHaveLength(2);
    const data = JSON.parse(between('id="millrace-frozen">', '</script>')) as Frozen;
    expect(data).toEqual(JSON.parse(JSON.stringify(hostile)));
  });

  test('does not exist if the page was not built', async () => {
    const none: Assets = { index: null, file: () => null };
    expect(frozenPage(none, await frozen(), report)).toBeNull();
  });
});

describe('the file of millrace report', () => {
  let summary: Summary;
  beforeAll(async () => {
    const run = await findRun(io, runs, 'first');
    summary = await withLog(run, (log) => summarise(log, run.name, run.record, io.clock));
  });

  async function fileOf(options: Partial<ReportFileOptions>): Promise<ReportFile> {
    const run = await findRun(io, runs, 'first');
    const usual = { version: '0', assets: built };
    return reportFile(summary, (use) => viewed(run, use), { ...usual, ...options });
  }

  test('is the static report and the page in one', async () => {
    const told = fakeIo(folder.path);
    expect(await main(['report', 'first', '--runs', runs], told)).toBe(0);
    expect(told.stderr()).toContain(`page: ${join(runs, 'first', 'report.html')}`);
    expect(await readdir(join(runs, 'first'))).not.toContain('page.html');
    const page = await readFile(join(runs, 'first', 'report.html'), 'utf8');
    expect(page).toContain('id="millrace-frozen"');
    const body = reportPage(summary).split('<body>\n')[1]!.split('\n</body>')[0]!;
    expect(page.split('</style>\n')[2]!.split('\n</template>')[0]).toBe(body);
  });

  test('is the static report alone if the page was not built, and says so', async () => {
    const none: Assets = { index: null, file: () => null };
    expect(await fileOf({ assets: none })).toEqual({
      page: reportPage(summary),
      note: 'The file has only the report, without the live page: the page has not been built (`npm run build`).',
    });
  });

  test('is the static report alone if it would exceed its limit, and says so', async () => {
    const alone = {
      page: reportPage(summary),
      note: expect.stringMatching(
        /^The file has only the report, without the live page: with the page it would be larger than [\d.]+ [KM]iB\.$/,
      ),
    };
    // Not even the overview goes in.
    expect(await fileOf({ bytesMax: 1_000_000 })).toEqual(alone);
    // The data go in, and the page around them is larger than was thought.
    const large: Assets = {
      ...built,
      file: (path) => (path === '/assets/a.js' ? file('x'.repeat(FILE_MAX)) : built.file(path)),
    };
    expect(await fileOf({ assets: large })).toEqual(alone);
  });
});
