/**
 * The page's server by real HTTP: the data of every page of a small recorded run, the headers, the stream of
 * a run that goes on.
 */
import { mkdir } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import type { Io } from '../../../cli/io.ts';
import { main } from '../../../cli/program.ts';
import { writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { checkedOptions, serveView } from '../../../cli/view/view.ts';
import type { Viewer } from '../../../page/server/http/serve.ts';
import type {
  DiffData,
  MetricsData,
  OverviewData,
  ParetoData,
  QuestionData,
  ReplayData,
  RunsData,
  TopicData,
  TopicsData,
  TrajectoryData,
  WeightsData,
} from '../../../page/wire/index.ts';
import { dataPath, pathOf, runPages, runViews } from '../../../page/wire/index.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log } from '../../../streams/log.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { weights } from '../../support/weights.ts';
import { fakeIo } from '../support/fakeIo.ts';
import { metric, question } from '../support/records.ts';
import { record } from '../support/syntheticRun.ts';

const folder = temporaryFolder();
const runs = join(folder.path, 'runs');
const token = 'a-token-for-these-tests';
const io = { ...fakeIo(folder.path), clock: systemClock };
let viewer: Viewer;

beforeAll(async () => {
  await tinyRun(runs, 'first');
  await tinyRun(runs, 'second', { settings: { keep: 6 } });
  viewer = await serve();
});
afterAll(async () => {
  await viewer.close();
  await folder.remove();
});

function serve(tickMs = 20, from: Io = io): Promise<Viewer> {
  const options = { runs, port: 0, token };
  return serveView(options, checkedOptions(options), from, { tickMs });
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly at?: Viewer;
}

function ask(
  path: string,
  { method = 'GET', headers = {}, at = viewer }: Asked = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const all = { host: `127.0.0.1:${at.port}`, authorization: `Bearer ${token}`, ...headers };
    const asking = request(
      { host: '127.0.0.1', port: at.port, path, method, headers: all },
      (from) => {
        const parts: Buffer[] = [];
        from.on('data', (part: Buffer) => parts.push(part));
        from.on('end', () => {
          resolve({
            status: from.statusCode ?? 0,
            headers: from.headers,
            body: Buffer.concat(parts),
          });
        });
      },
    );
    asking.on('error', reject);
    asking.end();
  });
}

async function data<T>(path: string): Promise<T> {
  const { status, body } = await ask(path);
  expect(`${status} ${status === 200 ? '' : body}`).toBe('200 ');
  return JSON.parse(body.toString()) as T;
}

describe('the data of a view', () => {
  test('lists every run, newest first, with its step and its reward', async () => {
    const { runs: rows, folder: path, commands } = await data<RunsData>('/runs.json');
    expect(path).toBe(runs);
    expect(commands[0]).toBe('npx millrace run quickstart --run first');
    expect(rows.map(({ name }) => name).sort()).toEqual(['first', 'second']);
    expect(rows[0]).toMatchObject({ status: 'done', state: 'done', metric: 'reward/mean' });
    expect(rows[0]!.spark.length).toBeGreaterThan(0);
  });

  test('shows the topics, curves and settings of a run', async () => {
    const { run, mill, curves, absent, behind, settings } =
      await data<OverviewData>('/r/first.json');
    expect(run).toMatchObject({ name: 'first', state: 'done', log: 'folder' });
    expect(mill.topics.find(({ name }) => name === 'weights')?.records).toBe(run.step! + 1);
    expect(mill.health.text).toBe(`Finished after step ${run.step}.`);
    expect(curves.length + absent.length).toBe(6);
    expect(curves[0]).toMatchObject({ run: 'first', name: 'reward/mean', width: 1, odd: 0 });
    expect(behind).toBe(0);
    expect(settings.find(({ name }) => name === 'keep')?.value).toBe(7);
  });

  test('has curves over steps and time, whole and in part, next to those of another run', async () => {
    const whole = await data<MetricsData>(
      '/r/first/metrics.json?m=reward/mean,nope&with=second,third',
    );
    const [own, other] = whole.series;
    expect(own).toMatchObject({ run: 'first', name: 'reward/mean' });
    expect(other).toMatchObject({ run: 'second', name: 'reward/mean' });
    expect(own!.x).toEqual(own!.step);
    expect(own!.shown).toBe(own!.total);
    expect(whole.absent).toEqual([
      {
        name: 'nope',
        why: expect.stringMatching(/^no metric with that name was written up to step \d+$/),
      },
    ]);
    expect(whole.missing).toEqual(['third']);
    expect(whole.names.map(({ name }) => name)).toContain('policy/lag');
    const [from, to] = [own!.step[1]!, own!.step[2]!];
    const part = await data<MetricsData>(
      `/r/first/metrics.json?m=reward/mean&x=time&from=${from}&to=${to}`,
    );
    expect(part.series[0]!.step).toEqual([from, to]);
    expect(part.series[0]!.mean).toEqual(own!.mean.slice(1, 3));
    expect(part.series[0]!.x[0]).toBeGreaterThan(1e3);
    const few = await data<MetricsData>('/r/first/metrics.json?m=reward/mean&n=1');
    expect(few.series[0]!.count).toEqual([own!.total]);
  });

  test('has the records of a topic once each, backwards, forwards and filtered', async () => {
    const { topics: all } = await data<TopicsData>('/r/first/topics.json');
    const records = all.find(({ name }) => name === 'rollouts')!.records;
    for (const dir of ['back', 'on'] as const) {
      const seen: number[] = [];
      let next: string | null = `dir=${dir}`;
      while (next !== null) {
        const page: TopicData = await data(`/r/first/topics/rollouts.json?${next}&limit=30`);
        seen.push(...page.rows.map(({ offset }) => offset));
        next = page.next;
      }
      const offsets = Array.from({ length: records }, (_, i) => i);
      expect(seen).toEqual(dir === 'on' ? offsets : offsets.reverse());
    }
    const filtered = await data<TopicData>(
      '/r/first/topics/rollouts.json?where=index=1&limit=1000',
    );
    expect(filtered.where).toBe('index = 1');
    expect(filtered.scanned).toBe(records);
    expect(filtered.rows.length).toBeGreaterThan(0);
    expect(filtered.rows.length).toBeLessThan(records);
    const key = filtered.rows[0]!.key;
    const ofKey = await data<TopicData>(`/r/first/topics/rollouts.json?key=${key}&limit=1000`);
    expect(new Set(ofKey.rows.map((row) => row.key))).toEqual(new Set([key]));
    const one = await data<TopicData>('/r/first/topics/rollouts.json?offset=3&limit=1&full=1');
    expect(one.rows).toMatchObject([{ ref: '3', offset: 3, cut: false }]);
    expect(one.rows[0]!.links[0]).toEqual({ label: 'trajectory', href: '/r/first/t/3' });
    const lines = (await ask('/r/first/topics/metrics.ndjson?limit=3')).body
      .toString()
      .trim()
      .split('\n');
    expect(lines.map((line) => JSON.parse(line).ref)).toHaveLength(3);
  });

  test('shows a question and a rollout with groups, verdicts, training step and neighbours', async () => {
    const { points } = await data<ParetoData>('/r/first/pareto.json');
    const kept = points.find((point) => point.kept)!;
    const asked = await data<QuestionData>(`/r/first/q/${encodeURIComponent(kept.question)}.json`);
    expect(asked.question.id).toBe(kept.question);
    // An index found them all: nothing was left out.
    expect(asked.scanned).toBeGreaterThan(0);
    expect(asked.of).toBe(asked.scanned);
    const judged = asked.groups.find(({ verdict }) => verdict !== null)!;
    expect(judged.verdict).toMatchObject({ kept: true, why: kept.verdict, front: kept.front });
    expect(asked.groups.some(({ batch }) => batch !== null)).toBe(true);
    const group = asked.groups.find(({ batch }) => batch !== null)!;
    expect(group.rollouts).toHaveLength(group.size);
    const { ref, id } = group.rollouts[1]!;
    const read = await data<TrajectoryData>(`/r/first/t/${ref}.json`);
    expect(read.rollout).toMatchObject({ ref, id, reward: group.rollouts[1]!.reward });
    expect(read.before).toBe(group.rollouts[0]!.ref);
    expect(read.after).toBe(group.rollouts[2]!.ref);
    expect(read.group.batch).toEqual(group.batch);
    expect(read.turns.map(({ text }) => text).join('')).not.toBe('');
    expect(read.turns.flatMap(({ calls }) => calls)).toHaveLength(read.rollout.toolCalls);
    // The tiny run has no tokenizer: that is said.
    expect(read.tokens).toBeNull();
    expect(read.tokensWhy).toContain('tokenizer');
    expect((await ask(`/r/first/t/${ref}/tokens.bin`)).status).toBe(404);
    const byId = await data<TrajectoryData>(`/r/first/t/${encodeURIComponent(id)}.json`);
    expect(byId.rollout.ref).toBe(ref);
  });

  test('shows the Pareto fronts of a round over the chosen axes', async () => {
    const { rounds, points, verdicts, total } = await data<ParetoData>(
      '/r/first/pareto.json?round=1&x=reward&y=spreadCalls',
    );
    expect(rounds.map(({ round }) => round)).toContain(1);
    expect(points).toHaveLength(total);
    expect(Object.values(verdicts).reduce((a, b) => a + b, 0)).toBe(total);
    expect(points.every(({ x, reward }) => x === reward)).toBe(true);
    const byStep = await data<ParetoData>('/r/first/pareto.json?step=1');
    expect(byStep.round).toBe(1);
  });

  test('lists each version of the weights with its step, parent and batch', async () => {
    const { steps, commands, verified } = await data<ReplayData>('/r/first/replay.json');
    expect(steps[0]).toMatchObject({ step: 0, version: 0 });
    expect(verified).toBeNull();
    expect(commands[0]!.command).toBe('npx millrace replay first --verify');
    const second = await data<WeightsData>('/r/first/weights/2.json');
    expect(second).toMatchObject({ version: 2, parent: 1, step: 2, before: 1, after: 3 });
    expect(second.digest).toBe(steps[2]!.digest);
    expect(second.batch).toMatchObject({ step: 2 });
    expect(second.batch!.groups.length).toBeGreaterThan(0);
    expect(second.metrics.map(({ name }) => name)).toContain('reward/mean');
    expect(second.rollouts.first.every(({ versions }) => versions.includes(2))).toBe(true);
  });

  test('shows how two runs differ in settings, answers and records', async () => {
    let diff: DiffData;
    do diff = await data<DiffData>('/diff/first..second.json');
    while (diff.divergence.state === 'pending');
    expect(diff.settings).toEqual([{ name: 'keep', a: 7, b: 6 }]);
    expect(diff.paired?.questions).toBe(3);
    expect(diff.paired?.figures.map(({ name }) => name)).toContain('accuracy');
    const { solvedToFailed, failedToSolved, flips } = diff.paired!;
    expect(flips).toHaveLength(solvedToFailed + failedToSolved);
    expect(diff.divergence).toMatchObject({ state: 'differs', topic: 'rollouts', version: 0 });
    expect((await data<DiffData>('/diff/first..first.json')).divergence.state).toMatch(
      /pending|same/,
    );
  });

  test('names the folder of runs in every command if it is not the usual one', async () => {
    const at = await serve(20, { ...io, runs: '../a b' });
    const commandsAt = async (path: string): Promise<string[]> => {
      const { body } = await ask(path, { at });
      const found = JSON.stringify(JSON.parse(body.toString())).match(/npx millrace [^"`]*/g);
      return found ?? [];
    };
    try {
      const views = runPages.filter((page) => runViews[page].id === undefined);
      for (const page of views) {
        const commands = await commandsAt(dataPath(pathOf({ page, run: 'first', id: '' })));
        expect({ page, commands: commands.length }).not.toEqual({ page, commands: 0 });
        for (const command of commands) expect(command).toContain(" --runs '../a b' ");
      }
      expect(await commandsAt('/r/first/topics/scored.json?limit=3&where=question.id=x')).toEqual([
        "npx millrace tap --runs '../a b' first.scored --from -3 -n 3",
      ]);
      expect(await commandsAt('/r/first/weights/2.json')).toEqual([
        "npx millrace tap --runs '../a b' first.weights",
      ]);
      expect(await commandsAt('/diff/first..second.json')).toEqual([
        "npx millrace diff --runs '../a b' first second",
      ]);
    } finally {
      await at.close();
    }
  });

  test('as of a step has nothing later than that step', async () => {
    const then = await data<OverviewData>('/r/first.json?at=step:2');
    const live = await data<OverviewData>('/r/first.json');
    expect(then.at).toMatchObject({ step: 2, version: 2 });
    expect(then.run).toMatchObject({ step: 2, version: 2 });
    const records = (of: OverviewData, topic: string) =>
      of.mill.topics.find(({ name }) => name === topic)!.records;
    expect(records(then, 'weights')).toBe(3);
    expect(records(then, 'rollouts')).toBeLessThan(records(live, 'rollouts'));
    expect(Math.max(...then.curves[0]!.step)).toBe(2);
    const rows = await data<TopicData>('/r/first/topics/weights.json?at=step:2');
    expect(rows.rows.map(({ offset }) => offset)).toEqual([2, 1, 0]);
    const byOffset = await data<OverviewData>(`/r/first.json?at=offset:${then.at!.ref}`);
    expect(byOffset.at).toEqual(then.at);
  });

  test.each([
    ['/r/third.json', 404, 'NO_RUN'],
    ['/r/first/topics/nope.json', 404, 'NO_TOPIC'],
    ['/r/first/t/999999.json', 404, 'NOT_FOUND'],
    ['/r/first/t/x.json', 404, 'NOT_FOUND'],
    ['/r/first/q/nobody.json', 404, 'NOT_FOUND'],
    ['/r/first/weights/999.json', 404, 'NOT_FOUND'],
    ['/r/first.json?at=yesterday', 400, 'USAGE'],
    ['/r/first/topics/rollouts.json?where=reward', 400, 'USAGE'],
    ['/r/first/topics/rollouts.json?limit=100000', 400, 'USAGE'],
    ['/r/first/pareto.json?x=nope', 400, 'USAGE'],
    ['/r/first/metrics.json?x=nope', 400, 'USAGE'],
    ['/r/..%2f..%2fetc.json', 404, 'NOT_FOUND'],
    ['/r/%2e%2e%2fetc.json', 400, 'USAGE'],
    ['/r/a%20b.json', 400, 'USAGE'],
    ['/r/first/topics/..%2frun.json', 404, 'NO_TOPIC'],
    ['/../../etc/passwd', 404, 'NOT_FOUND'],
    ['/assets/..%2f..%2fpackage.json', 404, 'NOT_FOUND'],
    ['/r/first/%ff.json', 404, 'NOT_FOUND'],
    ['/r/first/q/%ff.json', 400, 'USAGE'],
  ])('at %s is answered with %d %s', async (path, status, code) => {
    const answer = await ask(path);
    expect(`${answer.status} ${JSON.parse(answer.body.toString()).error.code}`).toBe(
      `${status} ${code}`,
    );
  });

  test.each([
    [
      '/r/first/t/999999.json',
      /^rollouts has no record at offset 999,999: partition 0 has offsets 0 to \d+$/,
    ],
    ['/r/first/t/3-0.json', /^there is no partition 3: rollouts has only partition 0$/],
    ['/r/first/t/x.json', /^there is no rollout "x" in this run$/],
    [
      '/r/first/weights/999.json',
      /^there is no version 999 of the weights in this run; the newest is \d+$/,
    ],
    ['/r/first/topics/rollouts.json?limit=100000', /^limit= takes 1 to 1,000$/],
  ])('at %s says what there is', async (path, message) => {
    const { body } = await ask(path);
    expect(JSON.parse(body.toString()).error.message).toMatch(message);
  });
});

describe('every answer', () => {
  test.each(['/', '/runs.json', '/r/first', '/r/third.json', '/r/first/t/3'])(
    'to %s lets a browser do nothing but show it',
    async (path) => {
      const { headers } = await ask(path);
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types millrace",
      );
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
      });
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    },
  );

  test('to HEAD has the headers and no body', async () => {
    const { status, headers, body } = await ask('/runs.json', { method: 'HEAD' });
    expect(status).toBe(200);
    expect(Number(headers['content-length'])).toBeGreaterThan(0);
    expect(body).toHaveLength(0);
  });

  test('without permission is a refusal with a reason and the safe headers', async () => {
    const rebound = await ask('/runs.json', { headers: { host: `evil.example:${viewer.port}` } });
    expect(rebound.status).toBe(403);
    expect(rebound.body.toString()).not.toContain('first');
    const stranger = await ask('/', { headers: { authorization: '', accept: 'text/html' } });
    expect(stranger.status).toBe(401);
    expect(stranger.body.toString()).toContain('open the link that `millrace view` printed');
    expect(stranger.headers['content-security-policy']).toContain("default-src 'none'");
    const posted = await ask('/runs.json', { method: 'POST' });
    expect(posted).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });

  test('to the link sets the cookie and redirects to the clean address, which the cookie opens', async () => {
    const { pathname, search } = new URL(viewer.link);
    const welcome = await ask(pathname + search, { headers: { authorization: '' } });
    expect(welcome).toMatchObject({ status: 303, headers: { location: '/' } });
    const [cookie = ''] = welcome.headers['set-cookie'] as readonly string[];
    expect(cookie).toContain('; HttpOnly; SameSite=Strict');
    const opened = await ask('/runs.json', {
      headers: { authorization: '', cookie: cookie.split(';')[0]! },
    });
    expect(opened.status).toBe(200);
  });
});

/** Events of a stream, as they come. */
class Reader {
  readonly events: { readonly event: string; readonly id: string; readonly data: unknown }[] = [];
  #text = '';
  #wake = (): void => undefined;
  #close = (): void => undefined;

  static async open(
    query: string,
    headers: Readonly<Record<string, string>> = {},
    at = viewer,
  ): Promise<Reader> {
    const reader = new Reader();
    await new Promise<void>((resolve, reject) => {
      const all = { authorization: `Bearer ${token}`, ...headers };
      const asking = request(
        { host: '127.0.0.1', port: at.port, path: `/stream?${query}`, headers: all },
        (from) => {
          reader.#close = () => from.destroy();
          from.on('data', (part: Buffer) => reader.#take(part.toString()));
          from.on('error', () => undefined);
          from.on('close', () => reader.#wake());
          resolve();
        },
      );
      asking.on('error', reject);
      asking.end();
    });
    return reader;
  }

  /** The first event of this kind that is so, from the first on. */
  async until<T>(
    event: string,
    isIt: (data: T) => boolean,
  ): Promise<{ readonly id: string; readonly data: T }> {
    for (;;) {
      const found = this.events.find((one) => one.event === event && isIt(one.data as T));
      if (found !== undefined) return found as { id: string; data: T };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#close();
  }

  #take(text: string): void {
    this.#text += text;
    const blocks = this.#text.split('\n\n');
    this.#text = blocks.pop()!;
    for (const block of blocks) {
      const field = (name: string): string =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2) ?? '';
      if (field('event') !== '') {
        this.events.push({
          event: field('event'),
          id: field('id'),
          data: JSON.parse(field('data')),
        });
      }
    }
    this.#wake();
  }
}

interface Points {
  readonly series: Readonly<
    Record<string, readonly (readonly [number, number, number, number | null])[]>
  >;
}

describe('the stream', () => {
  let log: Log;

  beforeAll(async () => {
    const path = join(runs, 'live');
    await mkdir(path, { recursive: true });
    await writeRunRecord(path, {
      ...record,
      status: 'running',
      starts: [{ startedMs: Date.now(), endedMs: null }],
    });
    log = await openLog({ folder: logFolder(path), mode: 'write' });
    await write(0);
  });
  afterAll(() => log.close());

  async function write(...steps: readonly number[]): Promise<void> {
    await log.commit((tx) => {
      for (const step of steps) {
        tx.append(topics.metrics, metric('reward/mean', step, 1, step / 10, 1000 + step));
        tx.append(topics.metrics, metric('loss', step, 1, Number.NaN, 1000 + step));
        tx.append(topics.questions, question(`q${step}`));
      }
    });
  }

  const stepsIn = ({ series }: Points, name = 'reward/mean') =>
    (series[name] ?? []).map(([step]) => step);

  test('begins with a greeting and the overview, then sends new values of what was requested', async () => {
    const reader = await Reader.open('run=live:reward/mean,loss&run=nope');
    const hello = await reader.until<{ runs: { name: string }[]; missing: string[] }>(
      'hello',
      () => true,
    );
    expect(hello.data.runs.map(({ name }) => name)).toEqual(['live']);
    expect(hello.data.missing).toEqual(['nope']);
    await reader.until('mill', () => true);
    await write(1);
    const { data } = await reader.until<Points>('points', (points) => stepsIn(points).includes(1));
    expect(data.series['reward/mean']).toEqual([[1, 1001, 0, 0.1]]);
    expect(data.series.loss).toEqual([[1, 1001, 0, null]]);
    await reader.until<{ ends: { questions: number } }>('head', ({ ends }) => ends.questions === 2);
    reader.close();
  });

  test('resumes where its reader stopped, even at a restarted server', async () => {
    const reader = await Reader.open('run=live:reward/mean');
    await write(2);
    const { id } = await reader.until<Points>('points', (points) => stepsIn(points).includes(2));
    reader.close();
    await write(3, 4);
    const other = await serve();
    const again = await Reader.open('run=live:reward/mean', { 'last-event-id': id }, other);
    await write(5);
    await again.until<Points>('points', (points) => stepsIn(points).includes(5));
    const steps = again.events
      .filter(({ event }) => event === 'points')
      .flatMap(({ data }) => stepsIn(data as Points));
    expect(steps).toEqual([3, 4, 5]);
    again.close();
    await other.close();
  });

  test('announces new weights and the end of the run', async () => {
    const reader = await Reader.open('run=live');
    await reader.until('mill', () => true);
    await log.commit((tx) => {
      tx.append(topics.weights, weights(6, 0));
    });
    await reader.until<{ kind: string; text: string }>(
      'state',
      ({ kind, text }) => kind === 'weights' && text === 'Step 6 made version 6.',
    );
    await writeRunRecord(join(runs, 'live'), { ...record, status: 'done' });
    await reader.until<{ kind: string }>('state', ({ kind }) => kind === 'finished');
    reader.close();
  });

  test('announces new runs', async () => {
    const reader = await Reader.open('runs=1&run=late');
    await reader.until<{ missing: string[] }>('hello', ({ missing }) => missing.includes('late'));
    await tinyRun(runs, 'late');
    await reader.until<{ runs: { name: string }[] }>('runs', ({ runs: rows }) =>
      rows.some(({ name }) => name === 'late'),
    );
    await reader.until<{ missing: string[] }>('hello', ({ missing }) => missing.length === 0);
    reader.close();
  });
});

describe('millrace view', () => {
  test('leaves a port to the program that has it', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const told = fakeIo(folder.path);
    expect(await main(['view', '--runs', runs, '--port', String(port)], told)).toBe(2);
    expect(told.stderr().join('\n')).toContain(
      'another program is using it, so choose another --port',
    );
    await new Promise((resolve) => other.close(resolve));
  });

  test.each([
    [['--host', '0.0.0.0'], 'give --token and --trusted-origin'],
    [['--host', '0.0.0.0', '--token', token], 'give --token and --trusted-origin'],
    [['--host', '0.0.0.0', '--no-token', '--trusted-origin', 'https://a.example'], 'give --token'],
    [['--token', 'short'], '--token takes 16 to 512'],
    [
      ['--trusted-origin', 'https://a.example/path'],
      '--trusted-origin takes only scheme, name and port',
    ],
    [['nobody'], 'no run "nobody"'],
  ])('refuses %j', async (args, why) => {
    const told = fakeIo(folder.path);
    expect(await main(['view', ...args, '--runs', runs], told)).not.toBe(0);
    expect(told.stderr().join('\n')).toContain(why);
  });
});
