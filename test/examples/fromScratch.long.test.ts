/** The example of a job of your own, as a user runs and copies it. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../topics/index.ts';
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

test('a job file from scratch has its questions asked, its tool called, and groups scored by its reward', async () => {
  const settings = SMALL.flatMap((setting) => ['--set', setting]);
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      ...[join(ROOT, 'dist/cli/main.js'), 'run', join(ROOT, 'examples/fromScratch/job.ts')],
      ...['--run', 'own', '--runs', runs.path, ...settings],
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  expect([status, stderr.includes('done;')]).toEqual([0, true]);
  const log = await openLog({ folder: join(runs.path, 'own', 'log'), mode: 'read' });
  const all = async <T>(topic: Topic<T>): Promise<T[]> => {
    const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
    return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
  };
  const [scored, rollouts, calls] = [
    await all(topics.scored),
    await all(topics.rollouts),
    await all(topics.toolCalls),
  ];
  await log.close();

  expect(new Set(scored.map(({ question }) => question.source))).toEqual(new Set(['products']));
  const scores = scored.flatMap(({ rewards }) => rewards.map(({ score }) => score));
  expect(scores.some((score) => score > 0)).toBe(true);
  for (const { question, rewards, rollouts: positions } of scored) {
    for (const [i, { score, parts }] of rewards.entries()) {
      const { text, tokens } = rollouts[positions[i]!.offset]!;
      const right = text.includes(`\\boxed{${question.answers[0]}}`);
      expect(score).toBeCloseTo(Number(right) - tokens.length / 1000);
      expect(parts.raw).toBe(Number(right));
    }
  }
  const made = calls.filter(({ tool }) => tool === 'python');
  expect(made.length).toBeGreaterThan(0);
  for (const { input, output } of made) {
    const numbers = input.match(/\d+/g) ?? [];
    expect(output).toBe(String(numbers.reduce((all, number) => all * Number(number), 1)));
  }
});

test('millrace init copies a job file, as a module even if the project does not use modules', () => {
  writeFileSync(join(runs.path, 'package.json'), '{"private":true}');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'dist/cli/main.js'), 'init', 'from-scratch', 'my'],
    { cwd: runs.path, encoding: 'utf8' },
  );
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^wrote job\.ts, questions\.csv, /)]);
  expect(stderr).toMatch(
    /^try one question: npx millrace try my\/job\.ts --settings \S+\nrun it with: npx millrace run my\/job\.ts --settings \S+\n$/,
  );
  const copied = (file: string) => readFileSync(join(runs.path, 'my', file), 'utf8');
  for (const file of ['job.ts', 'questions.csv']) {
    expect(copied(file)).toBe(readFileSync(join(ROOT, 'examples/fromScratch', file), 'utf8'));
  }
  // A default that is a file of the package is not written: it is elsewhere on the next machine.
  expect(copied('settings.yaml')).toMatch(/^# policy: +# initial policy/m);
  expect(JSON.parse(copied('package.json'))).toEqual({ private: true, type: 'module' });
});
