import { expect, test } from '@jest/globals';
import { type Age, growth } from '../../simulate/growth/growth.ts';

test('an endless run that is started anew keeps as many files and writes as much at every age', async () => {
  const ages: Age[] = [];
  const options = { seed: 1, rounds: 30, stretches: 3, arrivalMs: 300, lately: 20 };
  for await (const age of growth(options)) ages.push(age);
  const last = ages.at(-1)!;
  // The newest versions, the ends of two rounds, and those that a step still needs, each with its state.
  for (const { files } of ages) expect(files).toBeLessThanOrEqual(12);
  expect(last.recordsARound / ages[0]!.recordsARound).toBeCloseTo(1, 0);
  // What a start looks back on has bounds of its own, above what is here; nothing is read again and again.
  for (const [topic, records] of last.read) {
    expect([topic, records / last.rounds < 40]).toEqual([topic, true]);
  }
});
