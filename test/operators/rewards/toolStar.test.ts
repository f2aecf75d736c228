import { describe, expect, test } from '@jest/globals';
import { accuracy } from '../../../operators/rewards/accuracy.ts';
import { toolStarOutcome, type VerifyAnswer } from '../../../operators/rewards/toolStar.ts';
import { verifiedMath } from '../../../operators/rewards/verifiedMath.ts';
import { mathVerdict } from '../../oracles/toolStarReward.ts';
import { paperTools } from '../../support/paperTools.ts';
import { question, rollout } from '../../support/records.ts';

const respond = (box: string) => `<think>a</think><answer>\\boxed{${box}}</answer>`;
const math = question({ ability: 'math', answers: ['x^2+5x'] });
const group = (texts: string[], of = math) => ({
  ...{ question: of, tools: paperTools, texts, lengths: texts.map(() => 9) },
  rollouts: texts.map((text) => rollout({ finish: text.endsWith('>') ? 'answer' : 'length' })),
});
const says =
  (verdict: boolean | null): VerifyAnswer =>
  async () =>
    verdict;
const scores = (rewards: readonly { readonly score: number }[]) => rewards.map((one) => one.score);

describe('Tool-Star’s released reward', () => {
  test('is 1, 0.1, or 0 for a fault of form and for a response that ran out of tokens', async () => {
    const texts = [respond('x^2 + 5x'), respond('7'), '7', `${respond('x^2+5x')} and`];
    expect(scores(await toolStarOutcome()(group(texts)))).toEqual([1, 0.1, 0, 0]);
  });

  test('agrees with a second writing where forms decide', async () => {
    for (const [answer, reference] of [
      ...[
        ['11.0', '11'],
        ['1.875', '\\frac{15}{8}'],
        ['25 \\text{ cm}', '25'],
        ['3', '4'],
      ],
      ...[
        ['\\text{falcon}', 'falcon'],
        ['x(5+x)', 'x^2+5x'],
        ['13,102', '13102'],
      ],
    ] as [string, string][]) {
      const of = question({ ability: 'math', answers: [reference] });
      const [reward] = await toolStarOutcome()(group([respond(answer)], of));
      const expected = mathVerdict(`${respond(answer)}<|end|>`, reference, paperTools, '<|end|>');
      expect(reward!.score).toBe(expected.score);
    }
  });

  test('takes the verifier’s word, and forms where it has none', async () => {
    const texts = [respond('x(x+5)')];
    expect(scores(await toolStarOutcome({ verify: says(true) })(group(texts)))).toEqual([1]);
    expect(scores(await toolStarOutcome({ verify: says(false) })(group(texts)))).toEqual([0.1]);
    const same = [respond('x^2+ 5x')];
    expect(scores(await toolStarOutcome({ verify: says(null) })(group(same)))).toEqual([1]);
  });

  test('scores knowledge as deep search does', async () => {
    const of = question({ ability: 'qa', answers: ['Ada Lovelace'] });
    const rewards = await toolStarOutcome()(
      group([respond('Ada Lovelace'), respond('Bob'), 'x'], of),
    );
    expect(scores(rewards)).toEqual([1, 0, -1]);
  });
});

describe('a reward with a verifier', () => {
  test('counts an answer that is found equal as the reference', async () => {
    const texts = [respond('x(x+5)'), 'no answer', respond('x^2+5x')];
    const asked: string[] = [];
    const verify: VerifyAnswer = async (answer) => {
      asked.push(answer);
      return answer === 'x(x+5)';
    };
    expect(scores(await verifiedMath(accuracy(), verify)(group(texts)))).toEqual([1, 0, 1]);
    expect(asked).toEqual(['x(x+5)']);
  });

  test('leaves knowledge alone', async () => {
    const of = question({ ability: 'qa', answers: ['Ada'] });
    const rewards = await verifiedMath(accuracy(), says(true))(group([respond('Bob')], of));
    expect(scores(rewards)).toEqual([0]);
  });
});
