/** Servers that are to load adapters need a trainer that writes them. */
import { expect, test } from '@jest/globals';
import { engineSettings } from '../../../jobs/parts/engines.ts';
import { checkPublished } from '../../../jobs/parts/published.ts';
import { trainerSettings } from '../../../jobs/parts/trainers.ts';

const adapters = engineSettings.parse({ server: 'vllm', urls: 'http://one', publish: 'adapter' });
const whole = engineSettings.parse({ server: 'vllm', urls: 'http://one', publish: 'full' });
const trainer = (given: object) => trainerSettings.parse(given);

test.each([{}, { adapterRank: 8 }, { adapterAs: 'adapter' }])(
  'a trainer of whole policies (%j) is refused at the start',
  (given) => {
    expect(() => checkPublished(trainer(given), adapters)).toThrow(
      /trainer\.adapterRank=16 and trainer\.adapterAs=adapter/,
    );
    expect(() => checkPublished(trainer(given), whole)).not.toThrow();
  },
);

test('a training service that trains all weights is refused at the start', () => {
  const given = trainer({ kind: 'tinker', url: 'http://two', rank: 0 });
  expect(() => checkPublished(given, adapters)).toThrow(/: set trainer\.rank=16, or/);
  expect(() => checkPublished(given, whole)).not.toThrow();
});

test.each([
  { adapterRank: 8, adapterAs: 'adapter' },
  { kind: 'tinker', url: 'http://two' },
])('a trainer of adapters (%j) is accepted at the start', (given) => {
  expect(() => checkPublished(trainer(given), adapters)).not.toThrow();
  expect(() => checkPublished(trainer({}), engineSettings.parse({}))).not.toThrow();
});
