/** The example of a reward of one's own, as a user runs it. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { openLog } from '../../streams/embedded/openLog.ts';
import { topics } from '../../streams/topics.ts';
import { temporaryFolder } from '../support/folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SMALL = [
  ...['rounds=1', 'explore=4', 'keep=2', 'heldOut=2', 'batchGroups=2', 'rollouts=4'],
  'responseMax=120',
];

let runs: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  runs = temporaryFolder();
});
afterEach(() => runs.remove());

test('a reward from a job file is what groups are scored by', async () => {
  const settings = SMALL.flatMap((setting) => ['--set', setting]);
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      ...[join(ROOT, 'dist/cli/main.js'), 'run', join(ROOT, 'examples/own/reward.ts')],
      ...['--run', 'own', '--runs', runs.path, ...settings],
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  expect([status, stderr.includes('done;')]).toEqual([0, true]);
  const log = await openLog({ folder: join(runs.path, 'own', 'log'), mode: 'read' });
  const scored$ = log.tap(topics.scored, { from: { kind: 'earliest' }, follow: false });
  const scored = await lastValueFrom(scored$.pipe(toArray()));
  await log.close();
  const rewards = scored.flatMap(({ value }) => value.rewards);
  expect(rewards.length).toBeGreaterThan(0);
  for (const { score, parts } of rewards) {
    expect(score).toBeCloseTo(parts.raw! + 0.2 * parts.brief!);
  }
}, 120_000);
