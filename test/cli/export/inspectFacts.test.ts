import { expect, test } from '@jest/globals';
import { factsOf, headerOf } from '../../../cli/export/inspect.ts';
import { rollout } from '../../support/records.ts';

test('the means of a log of Inspect leave failed rollouts out', () => {
  const samples = [
    factsOf(rollout(), { score: 1, parts: { raw: 1 } }),
    factsOf(rollout({ index: 1, status: 'failed' }), { score: 0, parts: { raw: 0 } }),
  ];
  const header = headerOf(samples, { run: 'r', job: 'arpo', version: '0', asked: 'explore-1' });
  expect(header.results).toMatchObject({
    total_samples: 2,
    scores: [
      { name: 'raw', metrics: { mean: { value: 1 } } },
      { name: 'reward', metrics: { mean: { value: 1 } } },
    ],
  });
});
