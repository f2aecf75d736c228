/**
 * Tools called through topics answer as in one process, on both logs, also where the worker that had a call
 * is killed.
 */
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { MillraceError } from '../../../base/errors.ts';
import { callTools } from '../../../operators/callTools.ts';
import {
  answerCalls,
  type ToolRequest,
  throughTopics,
  toolTopics,
} from '../../../operators/tools/throughTopics.ts';
import type { Tool } from '../../../operators/tools/tool.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { flow } from '../../../streams/flow.ts';
import { openKafkaLog } from '../../../streams/kafka/openKafkaLog.ts';
import type { Log } from '../../../streams/log.ts';
import { runFlow } from '../../../streams/run/runFlow.ts';
import { stage } from '../../../streams/stage.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { allTopics } from '../../../topics/index.ts';
import { startChild } from '../../support/child.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { describeKafka, freshRun, kafkaUrl } from '../../support/kafka.ts';
import { obeysOperatorLaws } from '../../support/laws.ts';

const upper: Tool = {
  ...{ name: 'upper', about: 'Writes in capitals.', concurrencyMax: 2, pure: false },
  run: async (input) => {
    if (input === 'down') throw new MillraceError('TOOL_DOWN', 'it cannot be reached');
    if (input === 'wrong') throw new Error('it is no word');
    return { output: input.toUpperCase(), ok: true };
  },
  close: async () => undefined,
};
const box = () => callTools([upper], { clock: manualClock() });
const asked: readonly ToolRequest[] = [0, 1, 2].map((turn) => ({
  ...{ rolloutId: 'r', turn, tool: 'upper', input: `a${turn}`, files: [] },
}));

obeysOperatorLaws('answerCalls', () => answerCalls(box(), { concurrency: 2 }), {
  topic: toolTopics.requests,
  values: asked,
});

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

const never = new AbortController().signal;
/** Every sleep lasts until the test rings. */
const held = () => impatientClock(() => true);

function suite(open: () => Promise<Log>): void {
  /** The client and, with `work`, the stage that answers it. */
  async function started(work: boolean, clock = held()) {
    const log = await open();
    ended.push(() => log.close());
    const notes: string[] = [];
    const tools = throughTopics(box(), { log, clock, report: (note) => notes.push(note) });
    ended.push(() => tools.close());
    if (work) {
      const stop = new AbortController();
      const { requests, replies } = toolTopics;
      const answers = stage('tools', requests, replies, answerCalls(box(), { concurrency: 4 }));
      const run = runFlow(flow(answers), {
        log,
        signal: stop.signal,
        forever: true,
        graceMs: 1_000,
      });
      ended.push(async () => {
        stop.abort();
        await run;
      });
    }
    return { log, tools, notes, clock };
  }

  test('a call through topics gives what it gives in one process', async () => {
    const { tools } = await started(true);
    const direct = box();
    expect(tools.tags).toEqual(direct.tags);
    const calls = ['one', 'wrong', '', 'two', 'one'];
    const origin = (turn: number) => ({ rolloutId: `r${turn % 2}`, turn });
    const through = await Promise.all(
      calls.map((input, turn) => tools.call('upper', input, never, origin(turn))),
    );
    const here = await Promise.all(calls.map((input) => direct.call('upper', input, never)));
    const timeless = (called: object) => ({ ...called, ms: 0 });
    expect(through.map(timeless)).toEqual(here.map(timeless));
    await expect(tools.call('upper', 'down', never, origin(9))).rejects.toMatchObject({
      code: 'TOOL_DOWN',
      message: 'it cannot be reached',
    });
    expect(await tools.call('other', 'x', never, origin(10))).toMatchObject({ ok: false });
  });

  test('a long wait for a tool worker is explained once, and can be aborted', async () => {
    const { tools, notes, clock } = await started(false);
    const off = new AbortController();
    const calls = [0, 1].map((turn) =>
      tools.call('upper', 'one', off.signal, { rolloutId: 'r', turn }),
    );
    await clock.held();
    clock.ring();
    while (notes.length === 0) await new Promise((resolve) => setImmediate(resolve));
    off.abort(new Error('no longer wanted'));
    for (const call of calls) await expect(call).rejects.toThrow('no longer wanted');
    const late = tools.call('upper', 'one', off.signal, { rolloutId: 'r', turn: 2 });
    await expect(late).rejects.toThrow('no longer wanted');
    expect(notes).toEqual([
      'a tool call has been waiting 30 s for a worker: start one with the same command and --only tools',
    ]);
  });

  test('an answer to another call of the same number is ignored', async () => {
    const { log, tools } = await started(false);
    const call = tools.call('upper', 'new', never, { rolloutId: 'r', turn: 0 });
    const reply = { rolloutId: 'r', turn: 0, tool: 'upper', ok: true, attempts: 1, cached: false };
    const rest = { ms: 0, failure: '' };
    await log.commit((tx) => {
      tx.append(toolTopics.replies, { ...reply, ...rest, input: 'old', output: 'OLD' });
      tx.append(toolTopics.replies, { ...reply, ...rest, input: 'new', output: 'NEW' });
    });
    expect(await call).toMatchObject({ output: 'NEW' });
  });
}

describe('on the embedded log', () => {
  suite(() => {
    const folder = temporaryFolder();
    ended.push(async () => folder.remove());
    return openLog({ folder: folder.path, mode: 'write' });
  });
});

describeKafka('on Kafka', () => {
  suite(() =>
    openKafkaLog({
      topics: allTopics,
      url: kafkaUrl,
      run: freshRun(),
      mode: 'write',
      worker: 'test',
    }),
  );

  const file = fileURLToPath(new URL('./children/toolWorker.ts', import.meta.url));

  test('a killed tool worker leaves no call without its single answer', async () => {
    const run = freshRun();
    const url = `${kafkaUrl}?partitions=4`;
    const log = await openKafkaLog({ topics: allTopics, url, run, mode: 'write', worker: 'asker' });
    ended.push(() => log.close());
    const tools = throughTopics(box(), { log, clock: held(), report: () => undefined });
    ended.push(() => tools.close());
    const workers = ['a', 'b'].map((worker) => startChild(file, url, run, worker));
    for (const worker of workers) ended.push(() => worker.kill());
    for (const worker of workers) await worker.line();
    const inputs = Array.from({ length: 40 }, (_, i) => `word ${i}`);
    const calls = inputs.map((input, i) =>
      tools.call('upper', input, never, { rolloutId: `r${i}`, turn: 0 }),
    );
    await Promise.race(calls);
    await workers[0]!.kill();
    const outputs = (await Promise.all(calls)).map(({ output }) => output);
    expect(outputs).toEqual(inputs.map((input) => input.toUpperCase()));
    const replies$ = log.tap(toolTopics.replies, { from: { kind: 'earliest' }, follow: false });
    const replies = (await lastValueFrom(replies$.pipe(toArray()))).map(({ value }) => value.input);
    expect(replies.toSorted()).toEqual(inputs.toSorted());
  });
});
