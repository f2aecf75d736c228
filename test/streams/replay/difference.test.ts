import { expect, test } from '@jest/globals';
import { recordDifference } from '../../../streams/replay/difference.ts';
import { type ToolCall, topics, type Weights } from '../../../topics/index.ts';
import { metric, question, toolCall } from '../../support/records.ts';
import { scored } from '../../support/scored.ts';
import { weights } from '../../support/weights.ts';

const kept: Weights = { ...weights(2, 0), state: 'tinker://one/2' };

test('the place of a state in a service is not a difference, the place that engines load is', () => {
  const other = (over: Partial<Weights>) =>
    recordDifference(topics.weights, kept, { ...kept, ...over });
  expect(other({ state: 'tinker://two/7' })).toBeNull();
  expect(other({ state: '' })).toMatchObject({ field: 'state' });
  expect(other({ state: 'tinker://two/7', digest: 'cd' })).toMatchObject({ field: 'digest' });
  expect(other({ uri: 'w3' })).toMatchObject({ field: 'uri' });
});

test('an unrecorded format is not a difference, another format is', () => {
  const told = (format?: number, score = 1) => {
    const parts = format === undefined ? { raw: 1 } : { raw: 1, format };
    return scored({ question: question(), rewards: [{ score, parts }] });
  };
  const compare = (recorded: object, made: object) =>
    recordDifference(topics.scored, recorded, made);
  expect(compare(told(), told(-1))).toBeNull();
  expect(compare(told(0), told(-1))).toMatchObject({ field: 'rewards.0.parts.format' });
  expect(compare(told(0), told())).toMatchObject({ field: 'rewards.0.parts.format' });
  expect(compare(told(), told(0, 0.5))).not.toBeNull();
  const valid = (value: number, name = 'eval/format_valid') => metric({ name, value });
  expect(recordDifference(topics.metrics, valid(1), valid(0.5))).toBeNull();
  expect(recordDifference(topics.metrics, valid(0.4), valid(0.5))).not.toBeNull();
  expect(recordDifference(topics.metrics, valid(1, 'loss'), valid(0.5, 'loss'))).not.toBeNull();
});

test('the attempts and the cache of a tool call are not a difference, its answer is', () => {
  const compare = (over: Partial<ToolCall>) =>
    recordDifference(topics.toolCalls, toolCall(), toolCall(over));
  expect(compare({ attempts: 7, cached: true, ms: 12 })).toBeNull();
  expect(compare({ output: 'other' })).toMatchObject({ field: 'output' });
});
