import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log } from '../../../streams/log.ts';
import type { Topic } from '../../../streams/topic.ts';
import { topics } from '../../../topics/index.ts';
import { startChild } from '../../support/child.ts';
import { temporaryFolder } from '../../support/folder.ts';

const file = fileURLToPath(new URL('./children/settleLoop.ts', import.meta.url));
const folder = temporaryFolder();
afterAll(() => folder.remove());

async function all<T>(log: Log, topic: Topic<T>): Promise<readonly T[]> {
  const records$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(records$.pipe(toArray()))).map(({ value }) => value);
}

/** How often each number occurs. */
function counts(numbers: readonly number[]): Map<number, number> {
  const found = new Map<number, number>();
  for (const n of numbers) found.set(n, (found.get(n) ?? 0) + 1);
  return found;
}

/** Offsets that a fresh reader of the group is given: those that are not settled. */
async function unsettled(log: Log, questions: number): Promise<ReadonlySet<number>> {
  const left = new Set<number>();
  const subscription = log
    .read(topics.questions, { group: 'work', inflightMax: questions + 1 })
    .subscribe((delivery) => left.add(delivery.position.offset));
  subscription.unsubscribe();
  return left;
}

beforeAll(async () => {
  for (const ms of [150, 60, 320, 30, 210]) {
    const child = startChild(file, folder.path);
    await child.line();
    await new Promise((resolve) => setTimeout(resolve, ms));
    await child.kill();
  }
});

test('a log has every question once, in order, after five kills', async () => {
  const log = await openLog({ folder: folder.path, mode: 'write' });
  const questions = await all(log, topics.questions);
  expect(questions.length).toBeGreaterThan(100);
  expect(questions.map(({ id }) => id)).toEqual(questions.map((_, i) => `q${i}`));
  await log.close();
});

test('a log has a question settled exactly if its outputs are there, after five kills', async () => {
  const log = await openLog({ folder: folder.path, mode: 'write' });
  const questions = await all(log, topics.questions);
  const metrics = counts((await all(log, topics.metrics)).map(({ value }) => value));
  const dead = counts((await all(log, topics.deadLetters)).map(({ place }) => place));
  const left = await unsettled(log, questions.length);
  expect(left.size).toBeLessThan(questions.length);
  for (const offset of questions.keys()) {
    const outputs = [metrics.get(offset) ?? 0, dead.get(offset) ?? 0];
    const done = offset % 7 === 0 ? [0, 1] : [offset % 3 === 0 ? 2 : 1, 0];
    expect([offset, outputs]).toEqual([offset, left.has(offset) ? [0, 0] : done]);
  }
  expect(await log.lag(topics.questions, 'work')).toBe(left.size);
  await log.close();
});
