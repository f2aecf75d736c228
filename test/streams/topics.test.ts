import { describe, expect, test } from '@jest/globals';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../topics/index.ts';
import { complaints, readFixture } from '../support/contracts.ts';
import { samples } from '../support/records.ts';

const each = Object.keys(topics).map((name) => {
  const key = name as keyof typeof topics;
  const topic = topics[key] as Topic<unknown>;
  return { name: topic.name, topic, full: samples[key].full, minimal: samples[key].minimal };
});

describe.each(each)('the topic $name', ({ topic, full, minimal }) => {
  test('reads a full and a minimal record back unchanged', () => {
    for (const record of [full, minimal]) {
      expect(topic.codec.decode(topic.codec.encode(record))).toEqual(record);
    }
  });

  test('has a key of text, and says who writes and reads it', () => {
    expect(typeof topic.key(full)).toBe('string');
    expect(topic.about).toMatch(/writes? it.*reads? it/s);
  });

  test('reads the frozen record of every version, and has the newest', () => {
    expect(complaints(topic, full)).toEqual([]);
    const { schema, bytes } = readFixture(topic.name, topic.version);
    expect(topic.codec.reading(schema)(Buffer.from(bytes, 'hex'))).toEqual(full);
  });
});

test('every topic is keyed by what its readers gather by', () => {
  const keys = each.map(({ name, topic, full }) => [name, topic.key(full)]);
  expect(Object.fromEntries(keys)).toEqual({
    questions: 'q1',
    rollouts: 'q1',
    'tool-calls': 'q1/explore-0/0',
    scored: 'q1',
    selected: 'q1',
    batches: '3',
    weights: '3',
    metrics: 'train/loss',
    evolved: 'q1',
    demonstrations: 'q1',
    pairs: 'q1',
    folds: 'q1/explore-0/0',
    calls: 'q1/explore-0/0',
    'mcp-calls': 'q1/explore-0/0',
    feedback: 'q1/explore-1/0',
    windows: '3',
    control: '1790000000000-4-a1',
    'dead-letters': 'q1',
  });
});
