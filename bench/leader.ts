/**
 * What one leader encodes and sends: `npm run bench:leader`.
 *
 * A step as the trainer sink makes it: the groups of a batch are read from a log on disk, made into
 * sequences, and trained on by a service over HTTP, in another process, that computes nothing. Once as with
 * our service, with packed numbers and in one pass, and once as with all others, with JSON and in two.
 * Processor time covers all threads of this process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { sleepClock } from '../base/sleepClock.ts';
import { type Datum, passBody } from '../model/tinker/encode.ts';
import { packedBody } from '../model/tinker/packed.ts';
import { TinkerTrainer } from '../model/tinker/trainer.ts';
import { rolloutBatch } from '../sinks/trainer/rolloutBatch.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import type { Log } from '../streams/log.ts';
import { samples } from '../test/support/records.ts';
import { type Batch, type Rollout, type Scored, topics } from '../topics/index.ts';
import { benchmark, count } from './options.ts';
import { folderOnDisk, median, print, type Row, timeMs } from './table.ts';

/** The leader's processor time per trained token, next to its time with JSON. */
const TIMES_GOAL = 10;
const GROUP = 8;
const PROMPT = 500;

interface Options {
  readonly rollouts: number;
  readonly tokens: number;
  readonly steps: number;
  readonly json: boolean;
}

const options = benchmark(
  'npm run bench:leader',
  `What one leader encodes and sends to a training service: tokens a second, and processor time per million of
them, by our service beside others.`,
)
  .option('--rollouts <N>', 'rollouts of a step', count, 256)
  .option('--tokens <N>', 'response tokens of each', count, 4000)
  .option('--steps <N>', 'steps, of which the middle one counts; odd', count, 3)
  .parse()
  .opts<Options>();

function rollout(row: number): Rollout {
  const { tokens } = options;
  // Four segments of the policy, with results of tools between them.
  const quarter = Math.floor(tokens / 4);
  const segments = Array.from({ length: 4 }, (_, i) => {
    const [start, end] = [i * quarter, i === 3 ? tokens : (i + 1) * quarter];
    const middle = start + Math.floor((end - start) * 0.65);
    const part = { version: 0, entropy: null, tool: null };
    return [
      { kind: 'policy' as const, start, end: middle, ...part },
      { kind: 'tool' as const, start: middle, end, ...part },
    ];
  }).flat();
  const ids = (length: number): Int32Array =>
    Int32Array.from({ length }, (_, i) => (row * 7919 + i * 104_729) % 150_000);
  return {
    ...samples.rollouts.full,
    ...{ id: `q${Math.floor(row / GROUP)}/explore-1/${row % GROUP}`, index: row % GROUP },
    ...{ groupSize: GROUP, prompt: ids(PROMPT), tokens: ids(tokens), segments },
    logProbs: Float32Array.from({ length: tokens }, (_, i) => -0.5 - 0.4 * Math.sin(row + i)),
    ...{ text: 'word '.repeat(tokens), status: 'done', finish: 'answer', parent: null },
    ...{ episode: null, world: null, session: null },
  };
}

async function written(log: Log): Promise<Batch> {
  const { rollouts } = options;
  const groups = Math.ceil(rollouts / GROUP);
  for (let group = 0; group < groups; group++) {
    const rows = Array.from({ length: GROUP }, (_, i) => group * GROUP + i);
    await log.commit((tx) => {
      for (const row of rows) tx.append(topics.rollouts, rollout(row));
      const reward = { score: 1, parts: { raw: 1 } };
      const scored: Scored = {
        ...samples.scored.full,
        rollouts: rows.map((offset) => ({ partition: 0, offset })),
        rewards: rows.map(() => reward as Scored['rewards'][number]),
        advantages: rows.map((row) => Math.sin(row)),
        actionAdvantages: [],
        toolCalls: rows.map(() => 3),
        lengths: rows.map(() => options.tokens),
      };
      tx.append(topics.scored, scored);
    });
  }
  return {
    ...samples.batches.minimal,
    ...{ step: 1, version: 0, kind: 'policy', examples: [], heldOut: [] },
    groups: Array.from({ length: groups }, (_, offset) => ({
      questionId: `q${offset}`,
      scored: { partition: 0, offset },
    })),
  };
}

interface Measured {
  /** Milliseconds, of processor time and on the clock. */
  readonly processorMs: number;
  readonly ms: number;
  readonly tokens: number;
}

async function stepped(
  log: Log,
  batch: Batch,
  wire: 'losses' | 'packed' | 'json',
): Promise<Measured> {
  const path = new URL('./trainer/service.ts', import.meta.url).pathname;
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', path, '0', '1', wire === 'losses' ? 'once' : 'twice', wire],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  try {
    const [line] = await once(child.stdout, 'data');
    const trainer = await TinkerTrainer.create({
      ...{ url: String(line).trim(), policy: 'simulated', clock: sleepClock(systemClock) },
      reduction: 'sum',
    });
    try {
      return await middle(trainer, log, batch);
    } finally {
      await trainer.close();
    }
  } finally {
    child.kill();
  }
}

async function middle(trainer: TinkerTrainer, log: Log, batch: Batch): Promise<Measured> {
  const step = async (): Promise<number> => {
    const how = { log, attribution: 'soft', whiten: false, miniBatches: 1 } as const;
    const { steps } = await rolloutBatch(batch, how);
    const sequences = steps.flat().map(({ sequence }) => sequence);
    const { tokens } = await trainer.step({ sequences, loss: { name: 'clipped' }, lr: 1e-5 });
    return tokens;
  };
  // Workers, graphs and compiled code exist from the second step on.
  await step();
  const all: Measured[] = [];
  for (let i = 0; i < options.steps; i++) {
    const used = process.cpuUsage();
    const startMs = performance.now();
    const tokens = await step();
    const { user, system } = process.cpuUsage(used);
    all.push({ processorMs: (user + system) / 1000, ms: performance.now() - startMs, tokens });
  }
  const at = median(all.map(({ processorMs }) => processorMs));
  return all.find(({ processorMs }) => processorMs === at)!;
}

/** A million tokens in one body, on this thread. */
async function encoded(encode: (data: readonly Datum[]) => Uint8Array) {
  const data = Array.from({ length: 64 }, (_, row): Datum => {
    const { tokens, logProbs } = rollout(row);
    const places = Array.from({ length: tokens.length - 1 }, (_, i) => i + 1);
    const advantages = new Float32Array(places.length).fill(Math.sin(row));
    return { tokens, values: { places, advantages, logProbs, weights: null } };
  });
  const tokens = data.reduce((sum, one) => sum + one.tokens.length, 0);
  encode(data);
  const times = [];
  for (let i = 0; i < 5; i++) times.push(await timeMs(() => encode(data)));
  return { ms: median(times), tokens, bytes: encode(data).length };
}

const folder = folderOnDisk('leader');
const log = await openLog({ folder: join(folder, 'log'), mode: 'write', clock: systemClock });
const rows: Row[] = [];
try {
  const batch = await written(log);
  const ours = await stepped(log, batch, 'losses');
  const packed = await stepped(log, batch, 'packed');
  const json = await stepped(log, batch, 'json');
  const perMillion = ({ processorMs, tokens }: Measured): number => (1000 * processorMs) / tokens;
  const speed = ({ ms, tokens }: Measured): number => (1000 * tokens) / ms;
  const head = { route: 'forward_backward', modelId: 'model', number: 1 } as const;
  const body = (data: readonly Datum[]) => ({ ...head, lossFn: 'importance_sampling', data });
  const [bytes, text] = [
    await encoded((data) => packedBody(body(data))),
    await encoded((data) => passBody(body(data))),
  ];
  const against = 'with JSON, two passes';
  rows.push(
    {
      ...{ what: 'processor time per million trained tokens', against, goal: TIMES_GOAL },
      ...{ ratio: perMillion(json) / perMillion(ours), unit: 's' },
      ...{ ours: perMillion(ours), theirs: perMillion(json) },
    },
    {
      ...{ what: 'the same in two passes, packed', against, goal: null },
      ...{ ratio: perMillion(json) / perMillion(packed), unit: 's' },
      ...{ ours: perMillion(packed), theirs: perMillion(json) },
    },
    {
      ...{ what: 'tokens a second through a step', against, goal: null },
      ...{ ratio: speed(ours) / speed(json), unit: 'tokens/s' },
      ...{ ours: speed(ours), theirs: speed(json) },
    },
    {
      ...{ what: 'tokens a second as bytes, one thread', against, goal: null },
      ...{ ratio: text.ms / bytes.ms, unit: 'tokens/s' },
      ...{ ours: (1000 * bytes.tokens) / bytes.ms, theirs: (1000 * text.tokens) / text.ms },
      note: `${(bytes.bytes / bytes.tokens).toFixed(1)} and ${(text.bytes / text.tokens).toFixed(1)} bytes a token`,
    },
  );
} finally {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
}
print('leader', rows, options.json);
