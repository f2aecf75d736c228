import { expect, test } from '@jest/globals';
import { episodeOf } from '../../../operators/deepAgent/episode.ts';
import { sequencesIn } from '../../../sinks/trainer/rolloutBatch.ts';
import { rollout } from '../../support/records.ts';

test('a training sequence masks the prompt and tool text of a rollout, and shifts values per token after the prompt', () => {
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
  const [sequence, ...more] = sequencesIn(made, [0.5, 0.25, 0, 0, -0.25]);
  expect(more).toEqual([]);
  expect([...sequence!.tokens]).toEqual([7, 8, 1, 2, 3, 4, 5]);
  expect([...sequence!.mask]).toEqual([0, 0, 1, 1, 0, 0, 1]);
  expect([...sequence!.oldLogProbs]).toEqual([0, 0, -1, -2, 0, 0, -5]);
  expect([...sequence!.advantages]).toEqual([0, 0, 0.5, 0.25, 0, 0, -0.25]);
});

test('a fold begins a new training sequence, whose context is masked, with every response token in exactly one', () => {
  const made = rollout({
    prompt: Int32Array.of(7, 8),
    tokens: Int32Array.of(1, 2, 3, 4),
    logProbs: Float32Array.of(-1, -2, 0, -4),
    segments: [
      { kind: 'policy', start: 0, end: 2, version: 0, entropy: null, tool: null },
      { kind: 'tool', start: 2, end: 3, version: 0, entropy: null, tool: 'search' },
      { kind: 'policy', start: 3, end: 4, version: 1, entropy: null, tool: null },
    ],
    episode: {
      mode: 'repaired',
      actions: [],
      folds: [{ ...FOLD, at: 2, prompt: Int32Array.of(7, 9, 9) }],
      limits: [],
    },
  });
  const sequences = sequencesIn(made, [0.5, 0.25, 9, -0.25]);
  expect(sequences.map(({ tokens }) => [...tokens])).toEqual([
    [7, 8, 1, 2],
    [7, 9, 9, 3, 4],
  ]);
  expect(sequences.map(({ mask }) => [...mask])).toEqual([
    [0, 0, 1, 1],
    [0, 0, 0, 0, 1],
  ]);
  expect(sequences.map(({ oldLogProbs }) => [...oldLogProbs])).toEqual([
    [0, 0, -1, -2],
    [0, 0, 0, 0, -4],
  ]);
  expect([...sequences[1]!.advantages]).toEqual([0, 0, 0, 9, -0.25]);
  const { rounds } = episodeOf(made);
  expect(rounds.map(({ tokens, mask, version }) => [[...tokens], [...mask], version])).toEqual([
    [[1, 2], [1, 1], 0],
    [[3, 4], [0, 1], 1],
  ]);
});

const FOLD = { dropped: 2, episodic: '', working: '', tool: '', madeUp: [] };
