/** An evolve action from outside of the package: everything here comes from its public face. */
import { expect, test } from '@jest/globals';
import { topics } from '../../../api/index.ts';
import { defaultActions, type EvolveAction, evolve } from '../../../api/operators.ts';
import { runOperator } from '../../../testing/runOperator.ts';
import { question } from '../../support/records.ts';

const secondOpinion: EvolveAction = {
  name: 'second-opinion',
  on: 'incorrect',
  async apply({ question, parent, ask, continueFrom }) {
    const doubt = await ask('critic', `What is doubtful here?\n${question.question}\n${parent}`);
    return doubt === '' ? null : continueFrom(`${parent}<think>But ${doubt}`);
  },
};

test('a user can add an evolve action', async () => {
  const operator = evolve({
    models: {
      policy: async ({ continuation }) =>
        continuation.endsWith('But is it 6?')
          ? ' It is 7.</think><answer>\\boxed{7}</answer>'
          : '<think>It is 6.</think><answer>\\boxed{6}</answer>',
      analyst: async () => '',
      critic: async ({ name, prompt }) => {
        if (name.startsWith('judge'))
          return prompt.includes('Prediction:\n7') ? 'Correct' : 'Incorrect';
        return name === '1/second-opinion' ? 'is it 6?' : '';
      },
    },
    tools: { tags: ['python'], call: () => Promise.reject(new Error('nobody calls')) },
    actions: [...defaultActions, secondOpinion],
    rounds: 1,
    quotas: { python: 1 },
    seed: 1,
    concurrency: 1,
  });
  const { outputs } = await runOperator(operator, topics.questions, [question()]);
  expect(outputs.at(-1)).toMatchObject({ action: 'second-opinion', parent: 0, correct: true });
});
