import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { hasCode } from '../../base/errors.ts';
import { openData } from '../../jobs/sft/data.ts';
import { type SftSettings, sftSettings } from '../../jobs/sft/settings.ts';
import { learnData, sft } from '../../jobs/sft/sft.ts';
import type { TrainSequence } from '../../model/engine.ts';
import { encodeExample } from '../../operators/dialect/encodeExample.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Log } from '../../streams/log.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import type { Topic } from '../../streams/topic.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { topics } from '../../topics/index.ts';
import { type FakeTrainer, fakeTrainer } from '../support/fakeTrainer.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type Fate, mortalLog } from '../support/mortalLog.ts';
import { tinyWords } from '../support/tinyWords.ts';

const ROWS = 11;
const said = (i: number) => `<think>So it is ${i}.</think><answer>\\boxed{${i}}</answer>`;

let folder: ReturnType<typeof temporaryFolder>;
let data: string;

beforeEach(async () => {
  folder = temporaryFolder();
  data = join(folder.path, 'data.jsonl');
  const rows = Array.from({ length: ROWS }, (_, i) => ({
    instruction: `What is ${i}?`,
    output: said(i),
  }));
  const broken = { instruction: 'What?' };
  const long = {
    conversations: [
      { from: 'human', value: 'a' },
      { from: 'gpt', value: 'b' },
      { from: 'human', value: 'c' },
      { from: 'gpt', value: 'd' },
    ],
  };
  await writeFile(data, [...rows, broken, long].map((row) => JSON.stringify(row)).join('\n'));
  await writeFile(join(folder.path, 'base.safetensors'), 'base weights');
});
afterEach(() => folder.remove());

const encode = (question: string, text: string): TrainSequence =>
  encodeExample(question, text, {
    prompt: tinyWords.encode,
    tokenizer: tinyWords,
    results: 'masked',
  });

const settingsWith = (over: Partial<SftSettings>): SftSettings =>
  sftSettings.parse({ data, epochs: 2, size: 4, lr: 1, warmupRatio: 0.5, ...over });

interface Ran {
  readonly trainer: FakeTrainer;
  readonly printed: readonly string[];
}

/** Runs the job on the log until it ends, or until the log dies. */
async function run(over: Partial<SftSettings> = {}, fate?: Fate): Promise<Ran> {
  const { path } = folder;
  const real = await openLog({ folder: join(path, 'log'), mode: 'write' });
  const mortal = fate === undefined ? null : mortalLog(real, fate);
  const log: Log = mortal?.log ?? real;
  const trainer = fakeTrainer({ before: async () => mortal?.life() });
  const printed: string[] = [];
  const print = (line: string): void => {
    printed.push(line);
  };
  const settings = { ...settingsWith(over), keepVersions: 0 };
  const clock = manualClock();
  try {
    const opened = await openData(settings, {
      tokenizer: tinyWords,
      folder: path,
      round: 1,
      print,
    });
    const flow = await sft(
      {
        ...{ run: 'test', folder: path, seed: 3, settings, log, clock, print },
        own: (resource) => resource,
      },
      { trainer, base: join(path, 'base.safetensors'), data: opened, encode },
    );
    const running = runFlow(flow, { log, clock, graceMs: 0 });
    await running.catch((error: unknown) => {
      if (mortal === null) throw error;
    });
  } finally {
    await real.close();
  }
  return { trainer, printed };
}

async function all<T>(topic: Topic<T>): Promise<T[]> {
  const log = await openLog({ folder: join(folder.path, 'log'), mode: 'read' });
  const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  const stored = await lastValueFrom(stored$.pipe(toArray()));
  await log.close();
  return stored.map(({ value }) => value);
}

const textOf = ({ tokens }: TrainSequence): string => tinyWords.decode(tokens);

describe('fine-tuning on a file', () => {
  test('trains on every usable row once an epoch, each time in another order', async () => {
    const { trainer, printed } = await run();
    const seen = trainer.steps.map(({ sequences }) => sequences.map(textOf));
    expect(seen.map((step) => step.length)).toEqual([3, 4, 4, 3, 4, 4]);
    const epochs = [seen.slice(0, 3).flat(), seen.slice(3).flat()];
    const rows = Array.from({ length: ROWS }, (_, i) => textOf(encode(`What is ${i}?`, said(i))));
    for (const epoch of epochs) expect(new Set(epoch)).toEqual(new Set(rows));
    expect(epochs[0]).not.toEqual(epochs[1]);
    expect(printed[0]).toMatch(
      /^data: 11 conversations \(and 2 unusable rows, see the dead letters\)/,
    );
    expect(printed.at(-1)).toMatch(/step 6 of 6 · 4 examples/);
  });

  test('makes a dead letter of every invalid row, and of every row that does not fit', async () => {
    await run();
    const dead = await all(topics.deadLetters);
    expect(dead.map(({ place, field, reason }) => [place, field, reason])).toEqual([
      [12, 'output', 'is missing'],
      [13, '', expect.stringMatching(/^has more than one question and answer/)],
    ]);
  });

  test('has a learning rate that rises and falls over all steps', async () => {
    const { trainer } = await run();
    const half = (x: number) => (1 + Math.cos(Math.PI * x)) / 2;
    const wanted = [0.5 / 3, 1.5 / 3, 2.5 / 3, half(0.5 / 3), half(1.5 / 3), half(2.5 / 3)];
    for (const [i, { lr }] of trainer.steps.entries()) expect(lr).toBeCloseTo(wanted[i]!, 12);
    const reference = await rerun({ rateAt: 'start' });
    expect(reference.trainer.steps[0]!.lr).toBe(0);
  });

  test('measures the held-out loss before, and after each epoch', async () => {
    const held = join(folder.path, 'held.json');
    await writeFile(held, JSON.stringify([{ instruction: 'What is 1?', output: said(1) }]));
    const { trainer } = await run({ heldOut: held });
    const losses = (await all(topics.metrics)).filter(({ name }) => name === 'heldout/loss');
    expect(losses.map(({ step }) => step)).toEqual([0, 3, 6]);
    const { mask } = encode('What is 1?', said(1));
    const targets = mask.reduce((sum, one) => sum + one, 0);
    const tokens = (await all(topics.metrics)).filter(({ name }) => name === 'heldout/tokens');
    expect(tokens.map(({ value }) => value)).toEqual([targets, targets, targets]);
    expect(trainer.scores).toHaveLength(3);
  });

  test('drops what is too long, or cuts it', async () => {
    const length = encode('What is 1?', said(1)).tokens.length;
    const dropped = await run({ tokensMax: length });
    const kept = dropped.trainer.steps.flatMap(({ sequences }) => sequences);
    // 10 has two digits
    expect(kept).toHaveLength(2 * (ROWS - 1));
    const cut = await rerun({ tokensMax: length, tooLong: 'cut' });
    const all = cut.trainer.steps.flatMap(({ sequences }) => sequences);
    expect(all).toHaveLength(2 * ROWS);
    expect(Math.max(...all.map(({ tokens }) => tokens.length))).toBe(length);
  });

  test.each([1, 3, 5, 8, 11, 14])(
    'ends with the same weights when its process dies after %i commits',
    async (commits) => {
      await run();
      const whole = (await all(topics.weights)).map(({ digest }) => digest);
      await again();
      await run({}, { commitsLeft: commits, lastIsWritten: commits % 2 === 0 });
      await run();
      expect((await all(topics.weights)).map(({ digest }) => digest)).toEqual(whole);
      expect(await all(topics.demonstrations)).toHaveLength(ROWS);
      expect(await all(topics.deadLetters)).toHaveLength(2);
    },
  );

  test('refuses a file that has changed since the run began', async () => {
    await run({}, { commitsLeft: 4, lastIsWritten: true });
    await writeFile(data, (await readFile(data, 'utf8')).replace('What is 3', 'What is 4'));
    const changed = await run().catch((error: unknown) => error);
    expect(hasCode(changed, 'DATA_FILE')).toBe(true);
    expect(changed).toMatchObject({
      message: expect.stringMatching(/has changed since the run began/),
    });
  });

  test('says at once what is wrong with its data', async () => {
    const nothing = join(folder.path, 'nothing.jsonl');
    await writeFile(nothing, '{"text": 1}\n');
    await expect(run({ data: nothing })).rejects.toThrow(
      /no usable row in .*nothing\.jsonl; first row: .*nothing\.jsonl 1: has none of the fields messages/,
    );
    await expect(run({ data: 'nosuch.jsonl' })).rejects.toThrow(
      /data file nosuch\.jsonl does not exist/,
    );
    await expect(run({ prompt: 'data' })).rejects.toThrow(
      /has no chat template .* set prompt=policy/,
    );
  });
});

test('as the first method of a job it is a round of its own that asks no questions', async () => {
  const settings = settingsWith({ tooLong: 'cut', tokensMax: 9 });
  const place = { tokenizer: tinyWords, folder: folder.path, round: 1, print: () => undefined };
  const method = learnData(settings, await openData(settings, place));
  const planned = method({ train: 5, before: [], seed: 1 });
  expect(planned.rounds).toEqual([{ name: 'fine-tuning on data', phase: null, count: 0, skip: 0 }]);
  expect(planned.loop.training).toMatchObject({ tokensMax: 9, tooLong: 'cut' });
  expect(Object.keys(planned.loop.rates ?? {})).toEqual(['sft']);
  const late = () => method({ train: 5, before: planned.rounds, seed: 1 });
  expect(late).toThrow(/learnData must be the first method of a job/);
});

/** Forgets the run, keeps the files that it was given. */
async function again(): Promise<void> {
  for (const part of ['log', 'weights', 'data.json', 'metrics.jsonl', 'metrics.csv']) {
    await rm(join(folder.path, part), { recursive: true, force: true });
  }
}

async function rerun(over: Partial<SftSettings>): Promise<Ran> {
  await again();
  return run(over);
}
