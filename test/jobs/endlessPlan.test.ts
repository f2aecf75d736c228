/**
 * The plan of questions without an end: the order of the finite plan, each question once, whenever the
 * process died.
 */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { systemClock } from '../../base/clock.ts';
import type { JobQuestions, RoundPlan } from '../../jobs/plan.ts';
import { type EndlessOptions, planQuestions } from '../../jobs/planQuestions.ts';
import { type EndlessQuestions, endlessQuestions } from '../../sources/endless/endlessQuestions.ts';
import type { QuestionRow } from '../../sources/questions.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { resumable } from '../../streams/resumable.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { source } from '../../streams/stage.ts';
import { type Question, topics, type Window } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { mortalLog } from '../support/mortalLog.ts';
import { samples } from '../support/records.ts';

let folder: ReturnType<typeof temporaryFolder>;
let log: Log;
let said: string[];
beforeEach(async () => {
  folder = temporaryFolder();
  log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
  said = [];
});
afterEach(async () => {
  await log.close();
  folder.remove();
});

const row = (id: string): QuestionRow => ({
  id,
  question: `${id}?`,
  answers: ['1'],
  source: 'test',
  ability: 'qa',
});

/**
 * Questions q0, q1, … without an end; every third comes twice, every fifth place holds a row that cannot be
 * read.
 */
function arriving(opened: number[] = []): EndlessQuestions {
  const from = resumable<QuestionRow>(async function* (cursor, signal) {
    opened.push(Number(cursor ?? 0));
    for (let place = Number(cursor ?? 0); !signal.aborted; place++) {
      const number = place - Math.floor(place / 3);
      const bad = { deadLetter: { ...samples.deadLetters.full, place } };
      const item = place % 5 === 4 ? bad : { value: row(`q${number}`) };
      yield { ...item, cursor: String(place + 1) };
    }
  });
  return endlessQuestions('somewhere', from);
}

const roundsOf = (count: number, over: Partial<RoundPlan>[] = [{}, {}]): RoundPlan[] =>
  over.map((one, i) => ({
    name: `round ${i + 1}`,
    phase: 'explore',
    count,
    skip: i * count,
    ...one,
  }));

const options = (over: Partial<EndlessOptions> = {}): EndlessOptions => ({
  heldOut: 2,
  seed: 7,
  log,
  clock: systemClock,
  print: (line) => void said.push(line),
  ...over,
});

async function run(on: Log, layout: readonly RoundPlan[], heldOut?: readonly QuestionRow[]) {
  const rows = {
    train: arriving(),
    ...(heldOut && { heldOut: heldOut.map((value) => ({ value })) }),
  };
  const plan = await planQuestions(rows, () => layout, options());
  await runFlow(flow(source('questions', topics.questions, plan.items)), { log: on });
  return plan;
}

async function asked(): Promise<Question[]> {
  const stored$ = log.tap(topics.questions, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
}
const shown = async (): Promise<string[]> =>
  (await asked()).map(({ id, phase, round }) => `${id} ${phase} ${round}`);

test('a plan of a finite source says why it holds out fewer questions than asked for', async () => {
  const rows = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ value: row(`q${i}`) }));
  const layout = () => roundsOf(3);
  const told = async (given: JobQuestions) => {
    said.length = 0;
    await planQuestions(given, layout, options({ heldOut: 10 }));
    return said;
  };
  expect(await told({ train: rows(20) })).toEqual([
    'heldOut=10 is too many: holding out 6 questions (the maximum is 30 % of 20)',
  ]);
  expect(await told({ train: rows(20), heldOut: rows(4) })).toEqual([
    'heldOut=10 is too many: holding out 4 questions (all in the file)',
  ]);
  expect(await told({ train: rows(40) })).toEqual([]);
});

describe('the plan of endless questions', () => {
  test('holds the first ones out, asks each other one once as it comes, and the held-out ones after every round', async () => {
    const plan = await run(log, roundsOf(3));
    const ids = [...new Set((await asked()).map(({ id }) => id))];
    expect(ids).toHaveLength(8);
    const [a, b, ...rest] = ids;
    expect(await shown()).toEqual([
      ...[`${a} evaluate 0`, `${b} evaluate 0`],
      ...rest.slice(0, 3).map((id) => `${id} explore 1`),
      ...[`${a} evaluate 1`, `${b} evaluate 1`],
      ...rest.slice(3).map((id) => `${id} explore 2`),
      ...[`${a} evaluate 2`, `${b} evaluate 2`],
    ]);
    expect(plan).toMatchObject({ heldOut: 2, sizes: [2, 5, 5] });
    expect(said[0]).toBe('taking questions from somewhere as they arrive; the job needs 8');
  });

  test('is the same when the process dies after any commit', async () => {
    await run(log, roundsOf(3));
    const whole = await shown();
    const other = await openLog({ folder: join(folder.path, 'other'), mode: 'write' });
    await log.close();
    log = other;
    for (let died = 0; died < 40; died++) {
      const { log: mortal } = mortalLog(log, { commitsLeft: 1, lastIsWritten: died % 2 === 0 });
      const ended = await run(mortal, roundsOf(3)).then(
        () => true,
        () => false,
      );
      if (ended) break;
    }
    await run(log, roundsOf(3));
    expect(await shown()).toEqual(whole);
  });

  test('takes the held-out questions from a file if there is one, and bad rows are dead letters once', async () => {
    await run(log, roundsOf(2), [row('h0'), row('h1'), row('h2')]);
    await run(log, roundsOf(2), [row('h0'), row('h1'), row('h2')]);
    const held = (await shown()).filter((line) => line.includes('evaluate 1'));
    expect(held).toEqual(['h0 evaluate 1', 'h1 evaluate 1']);
    expect(await asked()).toHaveLength(2 * 3 + 4);
    const letters$ = log.tap(topics.deadLetters, { from: { kind: 'earliest' }, follow: false });
    const places = (await lastValueFrom(letters$.pipe(toArray()))).map(({ value }) => value.place);
    expect(places).toEqual([4]);
  });

  test('asks a question of an earlier round again if a round says so, even after a restart', async () => {
    const again = roundsOf(3, [{}, { skip: 1, count: 2 }]);
    for (let i = 0; i < 30; i++) {
      const { log: mortal } = mortalLog(log, { commitsLeft: 1, lastIsWritten: true });
      await run(mortal, again).catch(() => undefined);
    }
    await run(log, again);
    const ids = (round: number) =>
      shown().then((lines) =>
        lines.flatMap((line) => (line.endsWith(`explore ${round}`) ? [line.split(' ')[0]] : [])),
      );
    expect(await ids(2)).toEqual((await ids(1)).slice(1));
  });

  test('opens its source after the last question in the log', async () => {
    const opened: number[] = [];
    const plan = () => planQuestions({ train: arriving(opened) }, () => roundsOf(100), options());
    const { log: mortal } = mortalLog(log, { commitsLeft: 1, lastIsWritten: true });
    const part = async () => flow(source('questions', topics.questions, (await plan()).items));
    await runFlow(await part(), { log: mortal }).catch(() => undefined);
    const before = (await asked()).length;
    await runFlow(await part(), { log });
    expect(opened[0]).toBe(0);
    expect(opened[1]).toBeGreaterThanOrEqual(before);
  });

  test('says that there are too few when the source ends', async () => {
    const few = endlessQuestions(
      'three rows',
      resumable(async function* () {
        for (let i = 0; i < 3; i++) yield { value: row(`q${i}`), cursor: String(i) };
      }),
    );
    const plan = await planQuestions({ train: few }, () => roundsOf(3), options());
    const run = runFlow(flow(source('questions', topics.questions, plan.items)), { log });
    await expect(run).rejects.toThrow(
      'three rows ended after 3 questions of 8 needed; resume the run when there are more',
    );
  });

  test('says what it waits for, and goes on when it comes', async () => {
    let come = (): void => undefined;
    const slow = endlessQuestions(
      'the post',
      resumable(async function* () {
        yield { value: row('q0'), cursor: '1' };
        await new Promise<void>((resolve) => {
          come = resolve;
        });
        for (let i = 1; i < 9; i++) yield { value: row(`q${i}`), cursor: String(i) };
      }),
    );
    const clock = { now: () => 0 };
    const print = (line: string): void => {
      said.push(line);
      if (line.startsWith('waiting')) come();
    };
    const plan = await planQuestions({ train: slow }, () => roundsOf(3), options({ clock, print }));
    await runFlow(flow(source('questions', topics.questions, plan.items)), { log });
    expect(said).toContain('waiting for questions from the post: received 1 of 8 needed');
  });
});

describe('rounds that are cut by time', () => {
  /**
   * Question i comes i seconds after the first, and a minute later from the fourth on; then none comes any
   * more.
   */
  function ticking(count: number, lives: { nowMs: number }): EndlessQuestions {
    return endlessQuestions(
      'a queue',
      resumable<QuestionRow>(async function* (cursor, signal) {
        for (let i = Number(cursor ?? 0); i < count && !signal.aborted; i++) {
          lives.nowMs = Math.max(lives.nowMs, 1000 * i + (i < 4 ? 0 : 60_000));
          yield { value: row(`q${i}`), cursor: String(i + 1) };
        }
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      }),
    );
  }
  const timed = (count: number, rounds: number): RoundPlan[] =>
    roundsOf(
      count,
      Array.from({ length: rounds }, () => ({ lengthMs: 5000 })),
    );
  const windowsOf = async (): Promise<Window[]> => {
    const stored$ = log.tap(topics.windows, { from: { kind: 'earliest' }, follow: false });
    return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
  };
  async function take(on: Log, layout: readonly RoundPlan[], time: { nowMs: number }, count = 15) {
    const clock = { now: () => time.nowMs };
    const rows = { train: ticking(count, time), heldOut: [{ value: row('h') }] };
    const plan = await planQuestions(rows, () => layout, options({ clock }));
    await runFlow(flow(source('questions', topics.questions, plan.items)), { log: on });
  }

  test('takes what comes in its time up to its limit, and records how many that were', async () => {
    await take(log, timed(6, 3), { nowMs: 0 });
    expect(await windowsOf()).toEqual([
      { round: 1, size: 4, beganMs: 0, cutMs: 64_000, why: 'time' },
      { round: 2, size: 5, beganMs: 64_000, cutMs: 69_000, why: 'time' },
      { round: 3, size: 5, beganMs: 69_000, cutMs: 74_000, why: 'time' },
    ]);
  });

  test('is the same when the process dies after any commit', async () => {
    const time = { nowMs: 0 };
    await take(log, timed(3, 3), time);
    const whole = { asked: await shown(), windows: await windowsOf() };
    expect(whole.windows.map(({ size, why }) => `${size} ${why}`)).toEqual([
      ...['3 full', '1 time', '3 full'],
    ]);
    await log.close();
    log = await openLog({ folder: join(folder.path, 'other'), mode: 'write' });
    const again = { nowMs: 0 };
    for (let died = 0; died < 40; died++) {
      const { log: mortal } = mortalLog(log, { commitsLeft: 1, lastIsWritten: died % 2 === 0 });
      await take(mortal, timed(3, 3), again).catch(() => undefined);
    }
    await take(log, timed(3, 3), again);
    expect({ asked: await shown(), windows: await windowsOf() }).toEqual(whole);
  });

  test('ends by the clock of the process, without another question', async () => {
    const layout = roundsOf(9, [{ lengthMs: 40 }]);
    const rows = { train: ticking(2, { nowMs: 0 }), heldOut: [{ value: row('h') }] };
    const plan = await planQuestions(rows, () => layout, options());
    await runFlow(flow(source('questions', topics.questions, plan.items)), { log });
    expect(await windowsOf()).toMatchObject([{ round: 1, size: 2, why: 'time' }]);
    expect(await shown()).toEqual([
      ...['h evaluate 0', 'q0 explore 1', 'q1 explore 1', 'h evaluate 1'],
    ]);
    expect(said[0]).toBe('taking questions from a queue as they arrive; the job needs at most 9');
  });
});
