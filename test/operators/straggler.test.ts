/**
 * One rollout that takes very much longer than all others delays itself alone, and a crash meanwhile costs
 * itself alone.
 */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import type { CallTool } from '../../operators/callTools.ts';
import { rollout } from '../../operators/rollout.ts';
import { score } from '../../operators/score.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { type FlowEnd, runFlow } from '../../streams/run/runFlow.ts';
import { stage } from '../../streams/stage.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { question } from '../support/records.ts';
import { rolloutOptions } from '../support/rolloutOptions.ts';

const QUESTIONS = 40;
const SLOW = 3;
/** Fewer than there are questions, so that others have to take the places of those that have ended. */
const CONCURRENCY = 8;

let folder: ReturnType<typeof temporaryFolder>;
let log: Log;

const open = (): Promise<Log> => openLog({ folder: folder.path, mode: 'write' });

beforeEach(async () => {
  folder = temporaryFolder();
  log = await open();
});
afterEach(async () => {
  await log.close();
  folder.remove();
});

async function all<T>(topic: Topic<T>): Promise<readonly T[]> {
  const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
}

interface Running {
  readonly end: Promise<FlowEnd>;
  /** Questions whose tool was called, in order. */
  readonly called: readonly string[];
}

/** Each rollout calls a tool; that of one question is answered when `slow` resolves. */
function run(slow: Promise<void>, signal = new AbortController().signal): Running {
  const called: string[] = [];
  const options = rolloutOptions(
    ({ context }) =>
      context.includes('</result>') ? '<answer>2</answer><|end|>' : '<search>one</search>',
    { samples: () => 1, concurrency: CONCURRENCY },
  );
  const call: CallTool['call'] = async (tool, input, aborted, origin) => {
    const id = origin!.rolloutId.split('/')[0]!;
    called.push(id);
    if (id === `q${SLOW}`) await slow;
    return options.tools.call(tool, input, aborted, origin);
  };
  const rolled = rollout({ ...options, tools: { ...options.tools, call } });
  const scored = score({
    tools: options.tools,
    reward: async ({ texts }) => texts.map(() => ({ score: 1, parts: {} })),
    advantage: (scores) => scores.map(() => 0),
    openMax: QUESTIONS,
  });
  const end = runFlow(
    flow(
      stage('rollout', topics.questions, topics.rollouts, rolled),
      stage('score', topics.rollouts, topics.scored, scored),
    ),
    { log, signal, graceMs: 0 },
  );
  return { end, called };
}

const ids = (scored: readonly { readonly question: { readonly id: string } }[]): string[] =>
  scored.map(({ question: { id } }) => id);

test('while one rollout is slow all others are committed, and a restart after a crash repeats it alone', async () => {
  await log.commit((tx) => {
    for (let i = 0; i < QUESTIONS; i++) tx.append(topics.questions, question({ id: `q${i}` }));
  });
  const others = log
    .tap(topics.scored, { from: { kind: 'earliest' }, follow: true })
    .pipe(take(QUESTIONS - 1), toArray());
  const stop = new AbortController();
  const first = run(new Promise(() => undefined), stop.signal);
  const committed = await firstValueFrom(others);
  expect(ids(committed.map(({ value }) => value))).not.toContain(`q${SLOW}`);
  expect(new Set(ids(committed.map(({ value }) => value))).size).toBe(QUESTIONS - 1);

  // The commit tells what is finished above the one that is not.
  const { settled } = await log.standing!();
  expect(settled.questions!.rollout).toEqual({
    low: SLOW,
    above: [[SLOW + 1, QUESTIONS]],
  });

  stop.abort();
  await first.end;
  await log.close();
  log = await open();
  const second = run(Promise.resolve());
  expect(await second.end).toBe('quiescent');
  expect(second.called).toEqual([`q${SLOW}`]);
  const scored = ids(await all(topics.scored));
  expect(scored).toHaveLength(QUESTIONS);
  expect(scored.at(-1)).toBe(`q${SLOW}`);
});
