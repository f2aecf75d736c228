/**
 * A run as large as one asks for, on disk as a job would have left it: groups of eight rollouts, judged, a
 * metric and a version a step.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { draws } from '../../base/draws.ts';
import { writeRunRecord } from '../../cli/runRecord.ts';
import { logFolder } from '../../cli/runs.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Log, Tx } from '../../streams/log.ts';
import { metric, question, rollout, samples } from '../../test/support/records.ts';
import { topics } from '../../topics/index.ts';

const GROUP = 8;
const GROUPS_A_STEP = 8;
const TOKENS = 120;
const START_MS = 1_790_000_000_000;
/** The overview's curves, and as many that no one looks at. */
export const names = ['reward/mean', 'accuracy/mean', 'tools/mean', 'entropy/mean', 'policy/lag'];
const others = ['loss', 'kl/behaviour', 'clip/fraction', 'len/response', 'format/valid'];

const coin = draws('bench page');
const like = rollout({
  tokens: Int32Array.from({ length: TOKENS }, (_, i) => (i * 7919) % 50_000),
  logProbs: Float32Array.from({ length: TOKENS }, (_, i) => -1 / (1 + (i % 40))),
  segments: [{ kind: 'policy', start: 0, end: TOKENS, version: 0, entropy: 0.4, tool: null }],
  text: 'the quick brown fox jumps over the lazy dog. '.repeat(8),
  groupSize: GROUP,
  endedMs: 900,
});

export async function openRun(runs: string, name: string): Promise<Log> {
  const folder = join(runs, name);
  mkdirSync(folder, { recursive: true });
  await writeRunRecord(folder, {
    millrace: '0',
    job: { name: 'bench', file: 'bench' },
    seed: 1,
    settings: {},
    status: 'running',
    starts: [{ startedMs: START_MS, endedMs: null }],
    reason: '',
  });
  return openLog({ folder: logFolder(folder), mode: 'write' });
}

/** Writes the run; its steps begin at 1. Returns the last of them. */
export async function fill(log: Log, rollouts: number): Promise<number> {
  const steps = Math.ceil(rollouts / GROUP / GROUPS_A_STEP);
  for (let step = 1; step <= steps; step++) await log.commit((tx) => addStep(tx, step));
  return steps;
}

/** What one step leaves in the log. */
function addStep(tx: Tx, step: number): void {
  for (let group = 0; group < GROUPS_A_STEP; group++) addGroup(tx, step, group);
  tx.append(topics.batches, {
    ...samples.batches.full,
    step,
    groups: [],
    examples: [],
    heldOut: [],
  });
  const version = { version: step, parent: step - 1, step, uri: `weights/${step}` };
  tx.append(topics.weights, { ...samples.weights.full, ...version });
  for (const name of [...names, ...others]) tx.append(topics.metrics, valueAt(name, step));
}

export function valueAt(name: string, step: number, atMs = START_MS + 1000 * step) {
  const value = 1 - 1 / (1 + step / 200) + 0.1 * coin.under(name).uniform(step);
  return metric({ name, step, round: 1, value, atMs });
}

function addGroup(tx: Tx, step: number, group: number): void {
  const number = (step - 1) * GROUPS_A_STEP + group;
  const asked = question({ id: `train-${number}`, phase: 'practice', round: 1 });
  const calls = Array.from({ length: GROUP }, (_, i) => coin.integer(number * GROUP + i, 5));
  calls.forEach((toolCalls, index) => {
    const id = `${asked.id}/practice-1/${index}`;
    tx.append(topics.rollouts, {
      ...like,
      id,
      question: asked,
      index,
      toolCalls,
      version: step - 1,
    });
  });
  const right = calls.map((_, i) => coin.under('right').integer(number * GROUP + i, 2));
  tx.append(topics.scored, {
    ...samples.scored.minimal,
    question: asked,
    rewards: right.map((raw) => ({ score: raw, parts: { raw } })),
    toolCalls: calls,
    lengths: calls.map(() => TOKENS),
    advantages: right.map((raw) => raw - 0.5),
    rollouts: calls.map((_, i) => ({ partition: 0, offset: number * GROUP + i })),
    version: step - 1,
  });
  tx.append(topics.selected, {
    ...samples.selected.minimal,
    ...{
      question: asked,
      objectives: [coin.under('x').uniform(number), coin.under('y').uniform(number)],
    },
    ...{ front: coin.under('front').integer(number, 30), distance: 1, kept: number % 2 === 0 },
    ...{ why: number % 2 === 0 ? 'selected' : 'dominated', index: number, of: number + 1 },
    ...{ version: step - 1, scored: { partition: 0, offset: number } },
  });
}
