import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { logFolder } from '../../cli/runs.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { topics } from '../../topics/index.ts';
import { until } from '../support/until.ts';
import { fakeIo } from './support/fakeIo.ts';
import { record, writeSyntheticRun } from './support/syntheticRun.ts';

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  const runs = join(cwd, 'runs');
  await writeSyntheticRun({ runs, name: 'old' });
  const starts = [{ startedMs: 5000, endedMs: null }];
  await writeSyntheticRun({ runs, name: 'live' }, { status: 'running', starts }, 2);
});
afterAll(() => rm(cwd, { recursive: true }));

async function millrace(...args: string[]) {
  const io = fakeIo(cwd, 100_000);
  const code = await main(args, io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('millrace tap', () => {
  it('prints every record of a topic and ends', async () => {
    const { code, out } = await millrace('tap', 'old.rollouts', '-o', 'ndjson');
    expect(code).toBe(0);
    expect(linesOf(out).map(({ id }) => id)).toHaveLength(9);
    expect(linesOf(out)[0].tokens).toHaveLength(20);
  });

  it('begins at --from, filters, picks fields and stops after -n', async () => {
    const args = ['-o', 'ndjson', '--fields', 'question.id,question.round'];
    const last = await millrace('tap', 'old.scored', '--from', '-2', ...args);
    expect(linesOf(last.out).map((line) => line['question.round'])).toEqual([2, 2]);
    const few = await millrace(
      'tap',
      'scored',
      '--run',
      'old',
      '--where',
      "k === 'q-1'",
      '-n',
      '2',
      ...args,
    );
    expect(linesOf(few.out)).toEqual([
      { 'question.id': 'q-1', 'question.round': 0 },
      { 'question.id': 'q-1', 'question.round': 1 },
    ]);
    const late = await millrace('tap', 'old.scored', '--from', '@21000', '-o', 'ndjson');
    expect(linesOf(late.out)).toHaveLength(6);
    expect((await millrace('tap', 'old.scored', '-n', '0')).out).toBe('');
  });

  it('reads the newest run when none is named, and says so', async () => {
    const { err, out } = await millrace('tap', 'scored', '-o', 'ndjson');
    expect(err).toBe('using run live, the newest');
    expect(linesOf(out)).toHaveLength(6);
  });

  it('follows a live run and ends at an interrupt with 0', async () => {
    const io = fakeIo(cwd);
    const writer = await openLog({ folder: logFolder(join(cwd, 'runs/live')), mode: 'write' });
    const following = main(
      ['tap', 'live.dead-letters', '-f', '--from', 'earliest', '-o', 'ndjson'],
      io,
    );
    await writer.commit((tx) =>
      tx.append(topics.deadLetters, {
        origin: 'f',
        place: 1,
        key: 'k',
        field: '',
        reason: 'r',
        payload: '',
      }),
    );
    await until(() => io.stdout() !== '');
    io.interrupt();
    expect(await following).toBe(0);
    expect(linesOf(io.stdout())).toHaveLength(1);
    await writer.close();
  });

  it('says on how many records --where failed', async () => {
    const { err } = await millrace('tap', 'old.scored', '--where', 'v.none.at');
    expect(err).toMatch(
      /--where failed on 9 records, which do not count as matches; first at scored offset 0/,
    );
  });

  it('names the topics and runs that exist', async () => {
    expect(await millrace('tap', 'old.rolouts')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /no topic "rolouts"\. Did you mean rollouts\? Topics: questions, /,
      ),
    });
    expect(await millrace('tap', 'odl.rollouts')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no run "odl" in .*\. Did you mean old\? Runs: live, old/),
    });
    expect(await millrace('topics', '--runs', 'elsewhere')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Start one with `npx millrace run JOB`/),
    });
  });

  it('refuses a wrong command line with 2', async () => {
    expect((await millrace('tap', 'old.rollouts', '-o', 'yaml')).code).toBe(2);
    expect((await millrace('tap', 'old.rollouts', '--run', 'live')).code).toBe(2);
    expect((await millrace('tap', 'a/b.rollouts')).code).toBe(2);
    expect(await millrace('tap')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/missing required argument.*\nadd --help to see/),
    });
    expect(await millrace('tap', 'old')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/old is a run; .*old\.rollouts.*'old\.\*'/),
    });
  });
});

describe('millrace topics', () => {
  it('lists records and sizes', async () => {
    const { out } = await millrace('topics', 'old');
    expect(out).toMatch(/^topic +records +size +lag\n/);
    expect(out).toMatch(/\nrollouts +9 +\d/);
  });

  it('gives the same as JSON', async () => {
    const { out } = await millrace('topics', 'old', '--json');
    const { topics: listed, ...rest } = JSON.parse(out);
    expect(rest).toEqual({ run: 'old', status: 'done' });
    expect(listed).toContainEqual({
      topic: 'scored',
      records: 9,
      bytes: expect.any(Number),
      lag: {},
    });
  });
});

describe('millrace report', () => {
  it('prints one JSON object with before, after, rounds and seconds', async () => {
    const { code, out } = await millrace('report', 'old', '--json');
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(out)).toMatchObject({
      run: 'old',
      seed: record.seed,
      before: {
        accuracy: 2 / 3,
        meanToolCalls: 3,
        meanToolCallsCorrect: 3,
        formatValid: 2 / 3,
        questions: 3,
      },
      after: {
        accuracy: 2 / 3,
        meanToolCalls: 2 / 3,
        meanToolCallsCorrect: 0.5,
        formatValid: 1,
        questions: 3,
      },
      rounds: [
        { round: 1, steps: 3, reward: 2, accuracy: 2 / 3, seconds: 20 },
        { round: 2, steps: 3, reward: 5, accuracy: 2 / 3, seconds: 20 },
      ],
      seconds: 60,
    });
  });

  it('prints tables for people', async () => {
    const { out } = await millrace('report', 'old');
    expect(out).toMatch(
      /3 held-out questions · 1 rollout each\n +before +95 % +after +95 % +change +95 %\naccuracy +66\.7 % +21–94 +66\.7 % +21–94 +0\.0 points +−64 to \+64\ntool calls +3\.00 +.* +0\.67 +.* +−2\.33 /,
    );
    expect(out).toMatch(/\n2 +3 +5\.000 /);
    expect(out.match(/^accuracy /gm)).toHaveLength(1);
  });

  it('shows the complete part of a live run', async () => {
    const { out } = await millrace('report', 'live', '--json');
    const report = JSON.parse(out);
    expect(report.status).toBe('running');
    expect(report.rounds).toHaveLength(1);
    expect(report.after).toMatchObject({ questions: 3 });
  });

  it('writes a page that loads nothing from outside and shows hostile text as text', async () => {
    await millrace('report', 'old');
    const file = await readFile(join(cwd, 'runs/old/report.html'), 'utf8');
    expect(file).toMatch(/^<!doctype html>/);
    expect(file).toContain(`content="default-src 'none'; script-src 'sha256-`);
    const page = file.split('<template shadowrootmode="open">')[1]!.split('</template>')[0]!;
    expect(page.match(/<figure>/g)!.length).toBeGreaterThanOrEqual(4);
    expect(page.match(/<pre>/g)).toHaveLength(6);
    expect(page).toContain('&lt;/b&gt;&lt;script&gt;alert(1)&lt;/script&gt;\ufffd[31m');
    expect(page).not.toMatch(/<script|<link|<img|@import|url\(|\bhref=|\bsrc=|\bon\w+=/i);
    expect(page).toContain('prefers-color-scheme: dark');
  });
});

describe('millrace', () => {
  it.each(['run', 'tap', 'topics', 'report'])('explains %s with an example', async (name) => {
    const { code, out } = await millrace(name, '--help');
    expect(code).toBe(0);
    expect(out).toContain(`millrace ${name} `);
    expect(out).toMatch(/Examples?:/);
  });

  it('points at the command that was probably meant', async () => {
    expect(await millrace('repotr')).toMatchObject({
      code: 2,
      err: expect.stringContaining('report'),
    });
  });
});
