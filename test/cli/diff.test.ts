import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { temporaryFolder } from '../support/folder.ts';
import { readRun, sloppy } from '../support/tinyCalibration.ts';
import { tinyRun } from '../support/tinyRun.ts';
import { fakeIo } from './support/fakeIo.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
afterAll(() => temporary.remove());

async function diff(...args: string[]): Promise<{ code: number; out: string }> {
  const io = fakeIo(process.cwd());
  const code = await main(['diff', ...args, '--runs', runs], io);
  return { code, out: io.stdout() };
}

async function compared(a: string, b: string) {
  const { code, out } = await diff(a, b, '--json');
  const found = JSON.parse(out);
  expect(code).toBe(found.divergence === null ? 0 : 1);
  return found;
}

beforeAll(async () => {
  await tinyRun(runs, 'first', { timing: 1 });
});

describe('millrace diff', () => {
  test('finds no difference between runs whose records are merely in another order', async () => {
    await tinyRun(runs, 'shuffled', { timing: 2, settings: { concurrency: 5 } });
    const [first, second] = [await readRun(`${runs}/first`), await readRun(`${runs}/shuffled`)];
    expect(first.rollouts.map(({ id }) => id)).not.toEqual(second.rollouts.map(({ id }) => id));
    const found = await compared('first', 'shuffled');
    expect(found.divergence).toBeNull();
    expect(found.same.rollouts).toEqual({
      equal: first.rollouts.length,
      all: first.rollouts.length,
    });
    expect(found.started).toEqual([{ setting: 'concurrency', a: 2, b: 5 }]);
    expect((await diff('first', 'shuffled')).out).toContain('have the same records');
  });

  test('shows the earliest record that differs, not the first in the log', async () => {
    const script: typeof sloppy = (line) =>
      line.version === 2 ? '<think>No.</think><answer>3</answer><|end|>' : sloppy(line);
    await tinyRun(runs, 'other', { script });
    const { divergence, metrics } = await compared('first', 'other');
    expect(divergence).toMatchObject({
      moment: 2,
      difference: { kind: 'differs', topic: 'rollouts' },
    });
    const { code, out } = await diff('first', 'other');
    expect(code).toBe(1);
    expect(out).toMatch(
      /they first differ under policy version 2, at rollouts, \S+ \(offset \d+\), field tokens\.\d+\n {2}first +\d+\n {2}other +\d+/,
    );
    const accuracy = metrics.filter(({ name }: { name: string }) => name === 'eval/accuracy');
    expect(accuracy.map(({ round }: { round: number }) => round)).toEqual([0, 1, 2]);
    expect(accuracy[0].a).toBe(accuracy[0].b);
  });

  test('shows weights that differ although their records are equal', async () => {
    await tinyRun(runs, 'faster', { settings: { lr: 1 } });
    const { divergence } = await compared('first', 'faster');
    expect(divergence).toMatchObject({ moment: 0, difference: { topic: 'weights', id: '1' } });
  });

  test('shows records that only one run has', async () => {
    const fate = { commitsLeft: 60, lastIsWritten: true };
    await tinyRun(runs, 'short', { fate });
    const { out } = await diff('first', 'short');
    expect(out).toMatch(/they first differ .*: only first has \S+/);
    expect((await diff('short', 'first')).out).toMatch(/they first differ .*: only first has \S+/);
  });
});
