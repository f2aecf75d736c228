import { describe, expect, test } from '@jest/globals';
import { feedback } from '../../streams/feedback.ts';
import { flow, partOf } from '../../streams/flow.ts';
import { mapEach } from '../../streams/primitives.ts';
import { sink, source, stage } from '../../streams/stage.ts';
import { topics } from '../../topics/index.ts';

describe('a part of a flow', () => {
  const weights = feedback(topics.weights);
  const whole = flow(
    source('questions', topics.questions, []),
    stage(
      'rollout',
      topics.questions,
      topics.questions,
      mapEach(async (q) => q, { concurrency: 1 }),
    ),
    sink(
      'trainer',
      topics.batches,
      weights,
      mapEach(async () => null as never, { concurrency: 1 }),
    ),
  );
  const names = (names: Parameters<typeof partOf>[1]): string[] => {
    const { sources, stages } = partOf(whole, names);
    return [...sources, ...stages].map(({ name }) => name);
  };

  test('is the named parts, or all but these', () => {
    expect(names({ only: ['rollout'] })).toEqual(['rollout']);
    expect(names({ except: ['rollout'] })).toEqual(['questions', 'trainer']);
    expect(names({ only: ['rollout', 'trainer'], except: ['trainer'] })).toEqual(['rollout']);
  });

  test('keeps listening when the others finish', () => {
    expect(partOf(whole, { only: ['rollout'] }).feedbacks).toEqual([weights]);
  });

  test('is refused with the known names if one is unknown', () => {
    expect(() => partOf(whole, { only: ['rolout'] })).toThrow(
      /rolout.*questions, rollout, trainer/,
    );
  });
});
