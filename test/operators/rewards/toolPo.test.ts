import { describe, expect, test } from '@jest/globals';
import { type ToolPoOptions, toolPo } from '../../../operators/rewards/toolPo/toolPo.ts';
import type { Action, Fold, Rollout } from '../../../topics/index.ts';
import { question, rollout } from '../../support/records.ts';

const action: Action = {
  kind: 'call',
  start: 0,
  end: 1,
  name: 'weather',
  input: '{"city":"Ulm"}',
  response: '{"temperature":3}',
  ok: true,
  offered: true,
  fault: '',
  turn: 0,
};
const fold: Fold = {
  at: 1,
  prompt: new Int32Array(1),
  dropped: 1,
  episodic: '',
  working: '',
  tool: '',
  madeUp: [],
};

function episode(actions: readonly Partial<Action>[], folds = 0, over: Partial<Rollout> = {}) {
  const all = actions.map((one) => ({ ...action, ...one }));
  const made = {
    mode: 'repaired',
    actions: all,
    folds: Array(folds).fill(fold),
    limits: [],
  };
  return rollout({ episode: made as Rollout['episode'], ...over });
}

const right = ({ texts }: { readonly texts: readonly string[] }) =>
  texts.map((text) => ({ score: Number(text), parts: { raw: Number(text) } }));

async function rewardsOf(
  rollouts: readonly Rollout[],
  lengths: readonly number[],
  options: ToolPoOptions = {},
) {
  const group = { question: question(), tools: [], texts: rollouts.map(() => '1'), lengths };
  const reward = toolPo({ success: right, ...options });
  return reward({ ...group, policyLengths: lengths, rollouts });
}

describe('the ToolPO reward', () => {
  const rollouts = [
    episode([{}, { ok: false }, { kind: 'search', name: null }]),
    episode([{}, {}, { kind: 'fold', name: null }], 1),
    episode([]),
    rollout(),
  ];
  const lengths = [1000, 800, 1200, 1400];

  test('scores by success, and gives the value of actions and its parts', async () => {
    const [direct, folded, ...plain] = await rewardsOf(rollouts, lengths);
    expect(direct).toEqual({
      score: 1,
      parts: { raw: 1, calls: 1, fold: 0, action: 1, attempted: 2, right: 1 },
    });
    expect(folded).toEqual({
      score: 1,
      parts: { raw: 1, calls: 2, fold: 0.2, action: 2.2, attempted: 2, right: 2 },
    });
    const none = { raw: 1, calls: 0, fold: 0, action: 0, attempted: 0, right: 0 };
    for (const { parts } of plain) expect(parts).toEqual(none);
  });

  test('weights calls and folds, and credits as set', async () => {
    const options = { callWeight: 0.5, foldWeight: 2, credit: 'mean' } as const;
    const made = await rewardsOf(rollouts, lengths, options);
    expect(made[0]!.parts).toMatchObject({ calls: 0.5, right: 1, action: 0.25 });
    expect(made[1]!.parts).toMatchObject({ calls: 1, right: 2, action: 0.5 + 0.4 });
    const each = await rewardsOf(rollouts, lengths, { credit: 'distinct' });
    expect(each.map(({ parts }) => parts.calls)).toEqual([1, 1, 0, 0]);
  });

  test('uses the gold calls of the question if there are any', async () => {
    const gold = () => ({ kind: 'tools', tools: ['weather', 'time'] }) as const;
    const [made] = await rewardsOf([episode([{}, {}, { name: 'time' }])], [9], { gold });
    expect(made!.parts).toMatchObject({ attempted: 3, right: 2 });
  });

  test('does not compare a folded rollout with a failed one', async () => {
    const failed = { status: 'failed', finish: 'failed' } as const;
    const made = await rewardsOf([episode([], 0, failed), episode([], 1)], [10, 90]);
    expect(made.map(({ parts }) => parts.fold)).toEqual([0, 0]);
  });
});
