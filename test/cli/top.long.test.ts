/** `millrace top` on runs of both logs, written by this process as a job would. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { type RunRecord, writeRunRecord } from '../../cli/runRecord.ts';
import { logFolder } from '../../cli/runs.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { openAnyLog } from '../../streams/openAnyLog.ts';
import { mapEach } from '../../streams/primitives.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { reportStatus } from '../../streams/run/workerStatus.ts';
import { source, stage } from '../../streams/stage.ts';
import type { Live } from '../../summary/live.ts';
import { allTopics, topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../support/kafka.ts';
import { metric, question, rollout } from '../support/records.ts';
import { until } from '../support/until.ts';
import { fakeIo } from './support/fakeIo.ts';
import { record } from './support/syntheticRun.ts';

const moment = (): Promise<void> => new Promise((done) => setTimeout(done, 20));

function keepsTop(url: string | null): void {
  let folder: ReturnType<typeof temporaryFolder>;
  let run: string;
  let log: Log;

  const say = (over: Partial<RunRecord>): Promise<void> =>
    writeRunRecord(join(folder.path, 'runs', run), {
      ...record,
      ...(url === null ? {} : { log: url }),
      ...over,
    });
  const io = () => ({ ...fakeIo(folder.path), clock: { now: () => Date.now() } });
  const framesOf = (out: string): Live[] =>
    out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Live);

  beforeEach(async () => {
    folder = temporaryFolder();
    run = freshRun();
    const runFolder = join(folder.path, 'runs', run);
    await mkdir(runFolder, { recursive: true });
    await say({ status: 'running', starts: [{ startedMs: Date.now(), endedMs: null }] });
    log = await openAnyLog({
      topics: allTopics,
      at: url ?? logFolder(runFolder),
      run,
      mode: 'write',
    });
  });
  afterEach(async () => {
    await log.close();
    folder.remove();
  });

  /** A job that works on until it is asked to stop. */
  function work(): { stop(): Promise<void> } {
    const stopping = new AbortController();
    const reporter = reportStatus(log, {
      worker: 'main',
      host: 'here',
      pid: process.pid,
      startedMs: Date.now(),
      memoryBytes: () => process.memoryUsage.rss(),
    });
    async function* questions() {
      for (let i = 0; ; i++) yield { value: question({ id: `q${i}` }) };
    }
    const roll = mapEach(
      async () => {
        await moment();
        return rollout({
          segments: [{ kind: 'policy', start: 0, end: 30, version: 0, entropy: null, tool: null }],
        });
      },
      { concurrency: 4 },
    );
    const running = runFlow(
      flow(
        source('questions', topics.questions, questions(), { leadMax: 50 }),
        stage('rollout', topics.questions, topics.rollouts, roll, { inflightMax: 4 }),
      ),
      { log, signal: stopping.signal, onStats: reporter.onStats, statsMs: 100 },
    );
    return {
      async stop() {
        stopping.abort();
        await running;
        await reporter.end();
      },
    };
  }

  test('shows a live run with its rates, its lag and what holds it up', async () => {
    await log.commit((tx) =>
      tx.append(topics.metrics, metric({ name: 'reward/mean', value: 0.5 })),
    );
    const job = work();
    await until(async () => (await log.stats()).some(({ topic }) => topic === 'rollouts'));
    const watch = io();
    expect(await main(['top', run, '--once', '--json', '--interval', '500ms'], watch)).toBe(0);
    await job.stop();
    const [frame, ...more] = framesOf(watch.stdout());
    expect(more).toEqual([]);
    expect(frame).toMatchObject({ run, status: 'running', reward: 0.5, version: null });
    expect(frame!.workers).toMatchObject([{ worker: 'main', pid: process.pid, ended: false }]);
    expect(frame!.workers[0]!.memoryBytes).toBeGreaterThan(1e6);
    expect(frame!.tokensPerSecond.generated).toBeGreaterThan(0);
    const [rolling] = frame!.stages;
    expect(rolling).toMatchObject({ name: 'rollout', inflightMax: 4 });
    expect(rolling!.inPerSecond).toBeGreaterThan(0);
    expect(rolling!.lag).toBeGreaterThan(0);
    expect(rolling!.full).toBeGreaterThan(0.3);
    expect(frame!.sources[0]!.held).toBeGreaterThan(0.3);
  });

  test('refreshes until the run has ended', async () => {
    const job = work();
    const watch = io();
    const watching = main(['top', run, '--interval', '200ms'], watch);
    await until(() => (watch.stdout().match(/^stage /gm) ?? []).length >= 3);
    await job.stop();
    await say({ status: 'done' });
    expect(await watching).toBe(0);
    const last = watch.stdout().trimEnd().split('\n\n').slice(-2).join('\n');
    expect(last).toMatch(/ · done · /);
    expect(last).toMatch(/here · ended/);
    expect(watch.stdout()).not.toContain('\u001b');
  });

  test('paints each frame over the last on a terminal, cut to fit, and leaves the last one', async () => {
    const job = work();
    const size = { columns: 40, rows: 6 };
    const resized = new Set<() => void>();
    const watch = {
      ...io(),
      screen: () => ({ ...size }),
      onResize: (handler: () => void) => {
        resized.add(handler);
        return () => void resized.delete(handler);
      },
    };
    const watching = main(['top', run, '--interval', '100ms'], watch);
    const frames = (): string[] => watch.stdout().split('\u001b[H').slice(1);
    await until(() => frames().length >= 4);
    for (const frame of frames()) {
      const lines = frame.split('\u001b[J')[0]!.trimEnd().split('\n');
      expect(lines.length).toBeLessThanOrEqual(5);
      const texts = lines.map((line) => line.replace('\u001b[K', ''));
      expect(Math.max(...texts.map((line) => line.length))).toBeLessThan(40);
    }
    const before = frames().length;
    Object.assign(size, { columns: 30, rows: 4 });
    for (const handler of resized) handler();
    const redrawn = frames()[before]!.split('\u001b[J')[0]!.trimEnd().split('\n');
    expect(redrawn.length).toBeLessThanOrEqual(3);
    expect(Math.max(...redrawn.map((line) => line.replace('\u001b[K', '').length))).toBeLessThan(
      30,
    );
    watch.interrupt();
    expect(await watching).toBe(0);
    await job.stop();
    const [entered, left] = ['\u001b[?1049h', '\u001b[?1049l'];
    expect(watch.stdout().split(entered)).toHaveLength(2);
    const [, last] = watch.stdout().split(left);
    expect(last!.startsWith(run)).toBe(true);
    expect(last).toMatch(/ live\b[\s\S]*\nstage /);
    expect(last).not.toContain('\u001b');
    expect(resized.size).toBe(0);
  });

  test('shows a run that reports nothing', async () => {
    await log.commit((tx) => tx.append(topics.questions, question()));
    const watch = io();
    expect(await main(['top', run, '--once'], watch)).toBe(0);
    expect(watch.stdout()).toMatch(/no process has reported/);
  });
}

describe('top on the embedded log', () => keepsTop(null));
describeKafka('top over a broker', () => keepsTop(kafkaUrl));
