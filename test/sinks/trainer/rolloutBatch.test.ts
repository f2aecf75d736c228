import { expect, test } from '@jest/globals';
import { sequenceOf } from '../../../sinks/trainer/rolloutBatch.ts';
import { rollout } from '../../support/records.ts';

test('a rollout masks its prompt and what tools wrote, and shifts what is per token behind the prompt', () => {
  const made = rollout({
    prompt: Int32Array.of(7, 8),
    tokens: Int32Array.of(1, 2, 3, 4, 5),
    logProbs: Float32Array.of(-1, -2, 0, 0, -5),
    segments: [
      { kind: 'policy', start: 0, end: 2, version: 0, entropy: null, tool: 'search' },
      { kind: 'tool', start: 2, end: 4, version: 0, entropy: null, tool: 'search' },
      { kind: 'policy', start: 4, end: 5, version: 0, entropy: null, tool: null },
    ],
  });
  const sequence = sequenceOf(made, [0.5, 0.25, 0, 0, -0.25]);
  expect([...sequence.tokens]).toEqual([7, 8, 1, 2, 3, 4, 5]);
  expect([...sequence.mask]).toEqual([0, 0, 1, 1, 0, 0, 1]);
  expect([...sequence.oldLogProbs]).toEqual([0, 0, -1, -2, 0, 0, -5]);
  expect([...sequence.advantages]).toEqual([0, 0, 0.5, 0.25, 0, 0, -0.25]);
});
