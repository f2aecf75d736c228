import { expect, test } from '@jest/globals';
import type { Weights } from '../../../streams/records.ts';
import { recordDifference } from '../../../streams/replay/difference.ts';
import { weights } from '../../support/weights.ts';

const kept: Weights = { ...weights(2, 0), state: 'tinker://one/2' };

test('where a service keeps a state says nothing of it, what engines load does', () => {
  const other = (over: Partial<Weights>) => recordDifference('weights', kept, { ...kept, ...over });
  expect(other({ state: 'tinker://two/7' })).toBeNull();
  expect(other({ state: '' })).toMatchObject({ field: 'state' });
  expect(other({ state: 'tinker://two/7', digest: 'cd' })).toMatchObject({ field: 'digest' });
  expect(other({ uri: 'w3' })).toMatchObject({ field: 'uri' });
});
