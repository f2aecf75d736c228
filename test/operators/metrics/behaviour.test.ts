import { expect, test } from '@jest/globals';
import { behaviour } from '../../../operators/metrics/behaviour.ts';
import { question } from '../../support/records.ts';
import { scored } from '../../support/scored.ts';

const parts = (right: number, attempted: number) => ({
  score: 0,
  parts: { raw: 0, right, attempted },
});

test('right calls are reported, by share and by response, for rewards that know them', () => {
  const asked = question({ phase: 'evaluate' });
  const groups = [
    scored({ question: asked, rewards: [parts(2, 3), parts(0, 0)] }),
    scored({ question: asked, rewards: [parts(1, 2), parts(0, 1)] }),
  ];
  expect(behaviour(groups)).toMatchObject({
    'eval/tools_right': 3 / 6,
    'eval/tools_right_mean': 3 / 4,
  });
  const silent = [scored({ question: asked, rewards: [parts(0, 0)] })];
  expect(behaviour(silent)).toMatchObject({ 'eval/tools_right': 0 });
  const unknown = [scored({ question: asked })];
  expect(behaviour(unknown)).not.toHaveProperty('eval/tools_right');
});
