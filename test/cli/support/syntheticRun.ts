/** A run on disk as a job would have left it: three evaluations, two rounds of three steps. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunRecord, writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log } from '../../../streams/log.ts';
import { topics } from '../../../topics/index.ts';
import { metric, question, reward, rollout, scored } from './records.ts';

export const record: RunRecord = {
  millrace: '0.1.0',
  job: { name: 'synthetic', file: 'job.ts' },
  seed: 7,
  settings: { lr: 0.1 },
  status: 'done',
  starts: [{ startedMs: 1000, endedMs: 61_000 }],
  reason: '',
};

/** What each of three questions got, by round: correct, tool calls, and the text. */
export interface Outcome {
  readonly correct: boolean;
  readonly calls: number;
  readonly text?: string;
  readonly format?: number;
}

export const outcomes: readonly (readonly Outcome[])[] = [
  [
    { correct: false, calls: 3, format: -1 },
    { correct: true, calls: 4 },
    { correct: true, calls: 2 },
  ],
  [
    { correct: true, calls: 2 },
    { correct: true, calls: 2 },
    { correct: false, calls: 1 },
  ],
  [
    { correct: true, calls: 1 },
    { correct: true, calls: 0 },
    { correct: false, calls: 1, text: '<think></b><script>alert(1)</script>\u001b[31m <answer>no' },
  ],
];

export interface RunAt {
  readonly runs: string;
  readonly name: string;
}

/** Writes the run folder. `rounds` = how many evaluations are scored; all are asked. */
export async function writeSyntheticRun(
  { runs, name }: RunAt,
  over: Partial<RunRecord> = {},
  rounds = outcomes.length,
): Promise<void> {
  const folder = join(runs, name);
  await mkdir(folder, { recursive: true });
  await writeRunRecord(folder, { ...record, ...over });
  let nowMs = 1000;
  const clock = { now: () => nowMs };
  const log = await openLog({ folder: logFolder(folder), mode: 'write', clock });
  for (const [round, group] of outcomes.entries()) {
    nowMs = 1000 + round * 20_000;
    if (round > 0 && round < rounds) await writeSteps(log, round, nowMs);
    for (const [index, outcome] of group.entries()) {
      await writeOutcome(log, { round, index, outcome, measured: round < rounds });
    }
  }
  await log.close();
}

async function writeSteps(log: Log, round: number, atMs: number): Promise<void> {
  await log.commit((tx) => {
    for (const step of [1, 2, 3].map((n) => n + 3 * (round - 1))) {
      tx.append(topics.metrics, metric('reward/mean', step, round, step, atMs));
      tx.append(topics.metrics, metric('accuracy/mean', step, round, step / 6, atMs));
      tx.append(topics.metrics, metric('tools/mean', step, round, 4 - step / 3, atMs));
      tx.append(topics.metrics, metric('entropy/mean', step, round, 1 / step, atMs));
      tx.append(topics.metrics, metric('policy/lag', step, round, 0, atMs));
    }
    tx.append(topics.metrics, metric('eval/accuracy', round, round, 0.5, atMs));
  });
}

interface Written {
  readonly round: number;
  readonly index: number;
  readonly outcome: Outcome;
  readonly measured: boolean;
}

async function writeOutcome(log: Log, { round, index, outcome, measured }: Written): Promise<void> {
  const asked = question(`q-${index}`, 'evaluate', round);
  const { correct, calls, text = `<think>round ${round}</think>`, format = 0 } = outcome;
  const stats = await log.stats();
  const offset = stats.find(({ topic }) => topic === 'rollouts')?.records ?? 0;
  await log.commit((tx) => {
    tx.append(topics.questions, asked);
    if (!measured) return;
    tx.append(
      topics.rollouts,
      rollout({ question: asked, text, toolCalls: calls, version: round }),
    );
    tx.append(
      topics.scored,
      scored({
        question: asked,
        rewards: [reward(correct ? 1 : 0, format)],
        toolCalls: [calls],
        lengths: [10 * (round + 1)],
        rollouts: [{ partition: 0, offset }],
      }),
    );
  });
}
