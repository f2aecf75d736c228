/**
 * A job whose tools are called through topics is the same job: the same records, the same weights, also when
 * it was killed.
 */

import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { openLog } from '../../streams/embedded/openLog.ts';
import { temporaryFolder } from '../support/folder.ts';
import { readRun, type TinyOptions, tinyCalibration } from '../support/tinyCalibration.ts';

const folders: { readonly path: string; remove(): void }[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove();
});

function fresh(): string {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
}

async function outcome(folder: string) {
  const { weights, rollouts, toolCalls, scored } = await readRun(folder);
  const calls = toolCalls.map(({ rolloutId, turn, input, output }) => [
    rolloutId,
    turn,
    input,
    output,
  ]);
  return {
    digests: weights.map(({ digest }) => digest),
    texts: Object.fromEntries(rollouts.map(({ id, text }) => [id, text])),
    calls: calls.toSorted(),
    scores: Object.fromEntries(
      scored.map(({ question, rewards }) => [
        `${question.id} ${question.phase} ${question.round}`,
        rewards.map(({ score }) => score),
      ]),
    ),
  };
}

async function carriedCalls(folder: string): Promise<number> {
  const log = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  const stats = await log.stats();
  await log.close();
  return stats.find(({ topic }) => topic === 'tool-replies')?.records ?? 0;
}

test.each([
  ['from start to end', null],
  ['killed on the way', { commitsLeft: 40, lastIsWritten: true }],
])('tool calls through topics %s', async (_, fate) => {
  const [direct, through] = [fresh(), fresh()];
  await tinyCalibration({ folder: direct });
  const options: TinyOptions = { folder: through, settings: { toolCalls: 'topics' } };
  if (fate !== null) {
    const first = await tinyCalibration({ ...options, timing: 3, fate });
    expect(first.end).toBe('killed');
  }
  await tinyCalibration({ ...options, timing: 5 });
  const made = await outcome(through);
  expect(made).toEqual(await outcome(direct));
  expect(await carriedCalls(through)).toBeGreaterThanOrEqual(made.calls.length);
  expect(await carriedCalls(direct)).toBe(0);
});
