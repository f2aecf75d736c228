/** Logs of Inspect are read back by Inspect itself, where Python has it (MILLRACE_INSPECT). */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Position } from '../../../streams/index.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { question, rollout, samples } from '../../support/records.ts';
import { scored } from '../../support/scored.ts';
import { fakeIo } from '../support/fakeIo.ts';
import { record } from '../support/syntheticRun.ts';

const folder = temporaryFolder();
const asked = (['explore', 'evaluate'] as const).map((phase) =>
  question({ id: 'train/q 1', phase, round: 2 }),
);

/** An agent that asked the policy nothing. */
const session = { ...samples.rollouts.full.session!, calls: [] };

beforeAll(async () => {
  const run = join(folder.path, 'runs', 'first');
  await mkdir(run, { recursive: true });
  await writeRunRecord(run, record);
  const log = await openLog({ folder: logFolder(run), mode: 'write', clock: { now: () => 5000 } });
  await log.commit((tx) => {
    for (const one of asked)
      for (const index of [0, 1])
        tx.append(
          topics.rollouts,
          rollout({
            ...{ id: `${one.id}/${one.phase}-2/${index}`, question: one, index, endedMs: 1500 },
            text: `<search>x</search><result>y</result>answer ${index}`,
            ...(index === 0
              ? {}
              : { status: 'failed', finish: 'failed', reason: 'tool gone', session }),
          }),
        );
  });
  await log.commit((tx) => {
    const sessionId = 'train/q 1/evaluate-2/1';
    const call = { ...samples.mcpCalls.full, sessionId, after: -1 };
    tx.append(topics.mcpCalls, { ...call, ranFor: sessionId });
    const output = '{"error":{"code":1,"message":"disk is full"}}';
    tx.append(topics.mcpCalls, { ...call, number: 3, output });
  });
  const at: Position[] = [];
  await log
    .tap(topics.rollouts, { from: { kind: 'earliest' }, follow: false })
    .forEach((one) => void at.push(one.position));
  const rewards = [0.5, 1].map((score) => ({ score, parts: { raw: score * 2 } }));
  await log.commit((tx) => {
    for (const [i, one] of asked.entries())
      tx.append(
        topics.scored,
        scored({ question: one, rewards, rollouts: at.slice(2 * i, 2 * i + 2) }),
      );
  });
  await log.close();
});
afterAll(() => folder.remove());

async function millrace(...args: readonly string[]) {
  const io = fakeIo(folder.path);
  const code = await main(['export', ...args], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const READ = `
import sys, json
from inspect_ai.log import read_eval_log, read_eval_log_sample
log = read_eval_log(sys.argv[1])
one = read_eval_log_sample(sys.argv[1], id='train/q 1', epoch=1)
two = read_eval_log_sample(sys.argv[1], id='train/q 1', epoch=2)
print(json.dumps({
  'status': log.status, 'model': log.eval.model, 'task': log.eval.task,
  'means': {s.name: s.metrics['mean'].value for s in log.results.scores},
  'samples': [[s.id, s.epoch, s.target, s.output.completion, {k: v.value for k, v in s.scores.items()},
               s.error.message if s.error else None] for s in log.samples],
  'roles': [[m.role, m.text] for m in one.messages],
  'tools': [[e.function, e.arguments, e.result, e.error.message if e.error else None, e.metadata['from_record']] for e in two.events],
}))
`;
const python = process.env.MILLRACE_INSPECT ?? 'python3';
const has = spawnSync(python, ['-c', 'import inspect_ai'], { stdio: 'ignore' }).status === 0;

test('writes a log for each phase and round, of scored groups alone', async () => {
  const { code, out } = await millrace('first.scored', '--schema', 'inspect', '--out', 'logs');
  expect([code, out]).toEqual([
    0,
    'logs/first.explore-2.eval: 2 samples\nlogs/first.evaluate-2.eval: 2 samples\n',
  ]);
  const refused = await millrace('first.rollouts', '--schema', 'inspect');
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('is for scored groups')]);
});

(has ? test : test.skip)(
  `is read by Inspect${has ? '' : ` (skipped: ${python} lacks inspect_ai)`}`,
  () => {
    const path = join(folder.path, 'logs/first.evaluate-2.eval');
    const read = execFileSync(python, ['-c', READ, path], { encoding: 'utf8', stdio: 'pipe' });
    expect(JSON.parse(read)).toEqual({
      ...{ status: 'success', model: 'millrace/first', task: 'synthetic evaluate-2' },
      // The failed rollout has no part in them.
      means: { raw: 1, reward: 0.5 },
      samples: [
        ['train/q 1', 1, ['7'], 'answer 0', { raw: 1, reward: 0.5 }, null],
        ['train/q 1', 2, ['7'], '', {}, 'tool gone'],
      ],
      roles: [
        ['user', 'How many?'],
        ['assistant', '<search>x</search>'],
        ['tool', 'y'],
        ['assistant', 'answer 0'],
      ],
      tools: [
        ['read', { path: 'a.txt' }, '🌊', null, false],
        ['read', { path: 'a.txt' }, '', 'disk is full', true],
      ],
    });
  },
  120_000,
);
