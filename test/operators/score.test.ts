import { describe, expect, test } from '@jest/globals';
import { accuracy } from '../../operators/rewards/accuracy.ts';
import {
  type GroupForReward,
  perRollout,
  type RewardFunction,
  weighted,
} from '../../operators/rewards/reward.ts';
import { score } from '../../operators/score.ts';
import { runOperator } from '../../testing/runOperator.ts';
import { topics } from '../../topics/index.ts';
import { obeysOperatorLaws } from '../support/laws.ts';
import { paperTools } from '../support/paperTools.ts';
import { question } from '../support/records.ts';
import { group, shuffledBy } from '../support/scored.ts';

/** A reward that shows what it was given: the number that the text is. */
const spelled = ({ texts }: GroupForReward) =>
  texts.map((text) => ({ score: Number(text), parts: { raw: Number(text) } }));
const advantage = (scores: readonly number[]): number[] => scores.map((value) => value * 10);
const tools = { tags: paperTools };
const make = () => score({ tools, reward: spelled, advantage, openMax: 4 });

const one = question({ id: 'one' });
const two = question({ id: 'two', round: 1 });
const twice = question({ id: 'two', round: 2 });
const groups = [group(one, ['1', '22', '333']), group(two, ['4', '5'], 3), group(twice, ['6'])];
const rollouts = groups.flat();

obeysOperatorLaws('score', make, { topic: topics.rollouts, values: rollouts });

describe('score', () => {
  test('makes one record of each group, its members in the order of their index', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const shuffled = shuffledBy(rollouts, seed);
      const { outputs, unsettled } = await runOperator(make(), topics.rollouts, shuffled);
      expect(unsettled).toBe(0);
      const first = outputs.find((scored) => scored.question.id === 'one')!;
      expect(first).toEqual({
        question: one,
        rewards: [1, 22, 333].map((value) => ({ score: value, parts: { raw: value, format: -1 } })),
        toolCalls: [0, 0, 0],
        lengths: [1, 2, 3],
        advantages: [10, 220, 3330],
        actionAdvantages: [],
        rollouts: groups[0]!.map((rollout) => ({
          partition: 0,
          offset: shuffled.indexOf(rollout),
        })),
        version: 0,
      });
      expect(outputs.map(({ question: { id, round } }) => `${id} ${round}`).sort()).toEqual([
        'one 0',
        'two 1',
        'two 2',
      ]);
    }
  });

  test('excludes failed rollouts from the comparison of the others', async () => {
    const mean = (scores: readonly number[]): number[] =>
      scores.map((score) => score - scores.reduce((a, b) => a + b, 0) / scores.length);
    const failing = (failed: readonly number[]) =>
      group(one, ['1', '22', '333']).map((rollout, i) =>
        failed.includes(i) ? { ...rollout, status: 'failed' as const, reason: 'gone' } : rollout,
      );
    const advantagesOf = async (failed: readonly number[]) => {
      const operator = score({ tools, reward: spelled, advantage: mean, openMax: 4 });
      const { outputs } = await runOperator(operator, topics.rollouts, failing(failed));
      expect(outputs[0]!.rewards).toHaveLength(3);
      return outputs[0]!.advantages;
    };
    expect(await advantagesOf([0])).toEqual([0, -155.5, 155.5]);
    expect(await advantagesOf([0, 2])).toEqual([0, 0, 0]);
    expect(await advantagesOf([0, 1, 2])).toEqual([0, 0, 0]);
  });

  test('settles a group’s rollouts together, when it is complete', async () => {
    const { commits } = await runOperator(make(), topics.rollouts, rollouts);
    expect(commits.map(({ settled }) => settled)).toEqual([[0, 1, 2], [3, 4], [5]]);
  });

  test('records the oldest version of the group', async () => {
    const mixed = group(one, ['1', '2', '3']).map((rollout, i) => ({ ...rollout, version: 5 - i }));
    const { outputs } = await runOperator(make(), topics.rollouts, mixed);
    expect(outputs[0]!.version).toBe(3);
  });

  test('gives reward and advantage the number of tokens that the policy wrote', async () => {
    const [own, called] = group(one, ['12', '34']);
    const segment = { version: 0, entropy: null, tool: null };
    const segments = [
      { ...segment, kind: 'tool' as const, start: 0, end: 1 },
      { ...segment, kind: 'policy' as const, start: 1, end: 2 },
    ];
    const seen: unknown[] = [];
    const operator = score({
      tools,
      reward: (asked) => {
        seen.push(asked.tools, asked.lengths, asked.policyLengths);
        return spelled(asked);
      },
      advantage: (scores, lengths) => {
        seen.push(lengths);
        return [...scores];
      },
      openMax: 1,
    });
    await runOperator(operator, topics.rollouts, [own!, { ...called!, segments }]);
    expect(seen).toEqual([paperTools, [2, 2], [2, 1], [2, 1]]);
  });

  test('makes a second advantage of the part for actions if asked to, and refuses a reward without it', async () => {
    const acting = (group: GroupForReward) =>
      spelled(group).map(({ score, parts }) => ({
        score,
        parts: { ...parts, action: score / 10 },
      }));
    const sharing = { tools, advantage, actionAdvantage: advantage, openMax: 4 };
    const failing = group(one, ['1', '22', '333']).map((rollout, i) =>
      i === 1 ? { ...rollout, status: 'failed' as const, reason: 'gone' } : rollout,
    );
    const operator = score({ ...sharing, reward: acting });
    const { outputs } = await runOperator(operator, topics.rollouts, failing);
    expect(outputs[0]!.actionAdvantages).toEqual([1, 0, 333]);
    expect(outputs[0]!.advantages).toEqual([10, 0, 3330]);
    const without = score({ ...sharing, reward: spelled });
    await expect(runOperator(without, topics.rollouts, rollouts)).rejects.toThrow(
      /has no part `action`.*toolPo\(\)/,
    );
  });

  describe('with an asynchronous reward', () => {
    const many = Array.from({ length: 12 }, (_, i) => group(question({ id: `q${i}` }), ['1'])[0]!);

    /** Answers after as many turns of the event loop as the timing says for the question. */
    const slow = (timing: readonly number[], counts: { now: number; most: number }) =>
      score({
        tools,
        reward: async (asked) => {
          counts.now += 1;
          counts.most = Math.max(counts.most, counts.now);
          const turns = timing[Number(asked.question.id.slice(1))]!;
          for (let turn = 0; turn < turns; turn++) {
            await new Promise((resolve) => setImmediate(resolve));
          }
          counts.now -= 1;
          return spelled(asked);
        },
        advantage,
        openMax: 1,
        concurrency: 4,
      });

    test('scores several groups at once, and keeps their order whichever is first', async () => {
      for (let seed = 0; seed < 10; seed++) {
        const counts = { now: 0, most: 0 };
        const timing = shuffledBy([...many.keys()], seed);
        const { outputs } = await runOperator(slow(timing, counts), topics.rollouts, many);
        expect(outputs.map((scored) => scored.question.id)).toEqual(
          many.map((rollout) => rollout.question.id),
        );
        expect(counts.most).toBe(4);
      }
    });

    test('ends with the error of one that rejects', async () => {
      const reward = async (): Promise<never> => {
        throw new Error('the server is away');
      };
      const operator = score({ tools, reward, advantage, openMax: 1, concurrency: 4 });
      const run = runOperator(operator, topics.rollouts, many);
      await expect(run).rejects.toThrow('the server is away');
    });

    test('refuses an answer that leaves rollouts out', async () => {
      const operator = score({ tools, reward: async () => [], advantage, openMax: 1 });
      const run = runOperator(operator, topics.rollouts, many);
      await expect(run).rejects.toThrow('0 rewards for the 1 rollout of q0');
    });
  });

  test('ends with the error of a reward that throws: its group is scored again at the next start', async () => {
    const reward = (): never => {
      throw new Error('the judge is away');
    };
    const run = runOperator(
      score({ tools, reward, advantage, openMax: 4 }),
      topics.rollouts,
      rollouts,
    );
    await expect(run).rejects.toThrow('the judge is away');
  });

  describe('if a part of the reward is required', () => {
    const brief = perRollout('brief', () => 1);
    const scored = (reward: RewardFunction) =>
      runOperator(
        score({ tools, reward, advantage, openMax: 4, partsNeeded: ['raw'] }),
        topics.rollouts,
        rollouts,
      );

    test('refuses a reward without it at the first group, with a remedy', async () => {
      await expect(scored(brief)).rejects.toMatchObject({
        code: 'REWARD_PART',
        message: expect.stringMatching(
          /no part `raw` \(its parts: brief\).*weighted\(\[.*accuracy\(\)/,
        ),
      });
    });

    test('accepts one that has it with weight 0', async () => {
      const both = weighted([
        { weight: 1, reward: brief },
        { weight: 0, reward: accuracy() },
      ]);
      const { outputs } = await scored(both);
      expect(outputs).toHaveLength(3);
      expect(outputs[0]!.rewards[0]).toEqual({ score: 1, parts: { brief: 1, raw: 0, format: -1 } });
    });

    test('requires it of every rollout', async () => {
      const some: RewardFunction = ({ texts }) =>
        texts.map((text, i) => ({ score: 0, parts: i === 0 ? { raw: text.length } : {} }));
      await expect(scored(some)).rejects.toMatchObject({ code: 'REWARD_PART' });
    });
  });
});

describe('a reward that is not a finite number', () => {
  const operator = (reward: RewardFunction, over: object = {}) =>
    score({ tools, reward, advantage, openMax: 4, ...over });
  const scoring = (reward: RewardFunction, over: object = {}) =>
    runOperator(operator(reward, over), topics.rollouts, group(one, ['1', '22', '333']));
  const bad = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

  test('ends the stage, and names the part that made it and the rollout', async () => {
    for (const value of bad) {
      const brief = perRollout('brief', ({ text }) => (text === '22' ? value : 1));
      const reward = weighted([
        { weight: 1, reward: accuracy() },
        { weight: 0.2, reward: brief },
      ]);
      await expect(scoring(reward)).rejects.toMatchObject({
        code: 'REWARD',
        message: expect.stringMatching(
          new RegExp(`rollout one/explore-0/1 has the part \`brief\` = ${value};.*v\\.id ===`),
        ),
        context: { question: 'one', rollout: 'one/explore-0/1' },
      });
    }
  });

  test('is refused in the score, even if it is not a number at all', async () => {
    const scores = (score: unknown) => () =>
      ['', '', ''].map(() => ({ score: score as number, parts: { raw: 1 } }));
    for (const value of bad) {
      await expect(scoring(scores(value))).rejects.toThrow(`has the score ${value}`);
    }
    await expect(scoring(scores(undefined))).rejects.toThrow('has the score undefined');
    await expect(scoring(scores('1'))).rejects.toThrow('has the score "1"');
    const bare = () => [1, 1, 1] as unknown as ReturnType<typeof spelled>;
    await expect(scoring(bare)).rejects.toThrow('rollout one/explore-0/0 is 1');
    const none = () => undefined as unknown as ReturnType<typeof spelled>;
    await expect(scoring(none)).rejects.toThrow('gave undefined rewards for the 3 rollouts');
  });

  test('is refused for a rollout that failed too: the mean of the step would not be finite', async () => {
    const failing = group(one, ['1', '22']).map((rollout, i) =>
      i === 1 ? { ...rollout, status: 'failed' as const, reason: 'gone' } : rollout,
    );
    const perToken = perRollout('dense', ({ text }) => (text === '22' ? Number.NaN : 1));
    await expect(runOperator(operator(perToken), topics.rollouts, failing)).rejects.toThrow(
      'one/explore-0/1 (it failed: gone) has the part `dense` = NaN',
    );
  });

  test('is refused as an advantage too', async () => {
    const nowhere = (scores: readonly number[]) => scores.map(() => Number.NaN);
    await expect(scoring(spelled, { advantage: nowhere })).rejects.toThrow(
      'the advantage of rollout one/explore-0/0 is NaN',
    );
    await expect(scoring(spelled, { advantage: () => [1] })).rejects.toThrow(
      'the advantage gave 1 advantage for the 3 rollouts of one',
    );
  });

  test('cannot come from a weight, or from a term that leaves rollouts out', async () => {
    expect(() => weighted([{ weight: Number.NaN, reward: spelled }])).toThrow(
      'term 1 of the weighted reward has the weight NaN',
    );
    const short = weighted([
      { weight: 1, reward: spelled },
      { weight: 1, reward: () => [] },
    ]);
    await expect(scoring(short)).rejects.toThrow(
      'term 2 of the weighted reward gave 0 rewards for the 3 rollouts of question one',
    );
  });
});

test('a reward that throws is reported with its kind, the question and the line of the user’s file', async () => {
  const reward = ({ rollouts: given }: GroupForReward) =>
    given!.map((rollout) => ({ score: rollout.episode!.folds.length, parts: {} }));
  const run = runOperator(
    score({ tools, reward, advantage, openMax: 4 }),
    topics.rollouts,
    group(one, ['1']),
  );
  await expect(run).rejects.toMatchObject({
    code: 'REWARD',
    message: expect.stringMatching(
      /^the reward failed on one\/\S+: TypeError: Cannot read prop.*\(\/.*score\.test\.ts:\d+:\d+\)$/,
    ),
  });
});

test('every response is checked for its format, which needs an answer', async () => {
  const right = '<think>so</think><answer>\\boxed{1}</answer>';
  const texts = [right, 'nothing but words', '<think>so</think>', right.replace('boxed', 'box')];
  const format = async (reward: RewardFunction, over: object = {}) => {
    const operator = score({ tools, reward, advantage, openMax: 1, ...over });
    const { outputs } = await runOperator(operator, topics.rollouts, group(one, texts));
    return outputs[0]!.rewards.map(({ parts }) => parts.format);
  };
  expect(await format(accuracy())).toEqual([0, -1, -1, -1]);
  expect(await format(accuracy(), { formatFault: () => null })).toEqual([0, 0, 0, 0]);
  const own: RewardFunction = () => texts.map(() => ({ score: 0, parts: { raw: 0, format: 0 } }));
  expect(await format(own)).toEqual([0, 0, 0, 0]);
});
