/** Groups of folded and unfolded episodes, from the log to the weights of their tokens. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { prepareLoss } from '../../../model/losses/losses.ts';
import { rolloutBatch } from '../../../sinks/trainer/rolloutBatch.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log } from '../../../streams/log.ts';
import { type Action, type EpisodeRecord, type Rollout, topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { batch, rollout } from '../../support/records.ts';
import { practised, rewards, scored } from '../../support/scored.ts';

const folder = temporaryFolder();
let log: Log;
beforeAll(async () => {
  log = await openLog({ folder: join(folder.path, 'log'), mode: 'write' });
});
afterAll(async () => {
  await log.close();
  folder.remove();
});

const question = practised(0, 1);

/** Ten tokens, the fourth a tool's; folds before the given ones, each into another prompt. */
function folded(
  index: number,
  at: readonly number[],
  actions: readonly Partial<Action>[],
): Rollout {
  const segment = { version: 0, entropy: null, tool: null };
  const episode: EpisodeRecord = {
    mode: 'repaired',
    actions: actions.map((over) => ({ ...ACTION, ...over })),
    folds: at.map((place, i) => ({ ...FOLD, at: place, prompt: new Int32Array(3 + i).fill(9) })),
    limits: [],
  };
  return rollout({
    id: `p0/practice-1/${index}`,
    question,
    index,
    groupSize: 3,
    prompt: Int32Array.of(7, 8),
    tokens: Int32Array.from({ length: 10 }, (_, i) => 10 * index + i),
    logProbs: new Float32Array(10).fill(-1),
    segments: [
      { ...segment, kind: 'policy', start: 0, end: 3 },
      { ...segment, kind: 'tool', start: 3, end: 4 },
      { ...segment, kind: 'policy', start: 4, end: 10 },
    ],
    episode,
  });
}

const ACTION: Action = {
  kind: 'call',
  start: 1,
  end: 3,
  name: 'f',
  input: '{}',
  response: '1',
  ok: true,
  offered: true,
  fault: '',
  turn: 0,
};
const FOLD = { dropped: 1, episodic: '', working: '', tool: '', madeUp: [] };

test('all contexts of a folded rollout are trained with its advantages, and the rollout counts once', async () => {
  const rollouts = [
    folded(0, [], [{}]),
    folded(1, [4, 7], [{}, { kind: 'fold', start: 6, end: 7 }]),
    folded(2, [5], [{ kind: 'search', start: 8, end: 10 }]),
  ];
  await log.commit((tx) => {
    for (const one of rollouts) tx.append(topics.rollouts, one);
    tx.append(
      topics.scored,
      scored({
        question,
        rewards: rewards([1, 0, 0]),
        advantages: [0.5, -0.25, -0.25],
        actionAdvantages: [2, -1, 4],
      }),
    );
  });
  const groups = [{ questionId: 'p0', scored: { partition: 0, offset: 0 } }];
  const options = { log, attribution: 'soft', whiten: false, miniBatches: 1 } as const;
  const { steps, numbers } = await rolloutBatch(batch({ groups }), options);
  const sequences = steps[0]!.map(({ sequence }) => sequence);
  expect(sequences.map((one) => one.rollout)).toEqual([undefined, 1, 1, 1, 2, 2]);
  expect(sequences.map((one) => one.tokens.length)).toEqual([12, 6, 6, 7, 7, 8]);
  const learnt = sequences.map(({ mask, advantages }) =>
    [...advantages].filter((_, place) => mask[place] === 1),
  );
  expect(learnt).toEqual([
    [0.5, 2.5, 2.5, ...Array(6).fill(0.5)],
    [-0.25, -1.25, -1.25],
    [-0.25, -0.25, -1.25],
    [-0.25, -0.25, -0.25],
    [-0.25, -0.25, -0.25, -0.25],
    [-0.25, -0.25, -0.25, -0.25, -0.25],
  ]);
  expect(numbers['folds/mean']).toBeUndefined();

  const loss = await prepareLoss({
    name: 'clipped',
    settings: { aggregation: 'seq-mean-token-sum' },
  });
  const targets = sequences.map((one) => ({
    ...one,
    places: [...one.mask.keys()].filter((place) => one.mask[place] === 1),
  }));
  const { weights } = loss.feeds(targets)([0, 1, 2, 3, 4, 5]);
  expect([...(weights!.data as Float64Array)]).toEqual(Array(27).fill(1 / 3));

  const searching = await rolloutBatch(batch({ groups }), { ...options, searchActions: true });
  const last = searching.steps[0]!.at(-1)!.sequence;
  expect([...last.advantages].slice(-3)).toEqual([-0.25, 3.75, 3.75]);
});
