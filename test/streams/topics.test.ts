import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';
import { samples } from '../support/records.ts';

interface Fixture {
  readonly topic: string;
  readonly version: number;
  readonly schema: unknown;
  /** One record written with that schema, hex. */
  readonly bytes: string;
}

const each = Object.keys(topics).map((name) => {
  const key = name as keyof typeof topics;
  const topic = topics[key] as Topic<unknown>;
  return { name: topic.name, topic, full: samples[key].full, minimal: samples[key].minimal };
});

const fixtureOf = (name: string, version: number): URL =>
  new URL(`./fixtures/${name}.v${version}.json`, import.meta.url);

function readFixture(name: string, version: number): Fixture {
  return JSON.parse(readFileSync(fixtureOf(name, version), 'utf8')) as Fixture;
}

describe.each(each)('the topic $name', ({ topic, full, minimal }) => {
  test('gives back a full and a minimal record as they were', () => {
    for (const record of [full, minimal]) {
      expect(topic.codec.decode(topic.codec.encode(record))).toEqual(record);
    }
  });

  test('has a key that is text, and a sentence on who writes and reads it', () => {
    expect(typeof topic.key(full)).toBe('string');
    expect(topic.about).toMatch(/writes? it.*reads? it/s);
  });

  test('reads the record of every version that was frozen', () => {
    for (let version = 1; version <= topic.version; version++) {
      if (!existsSync(fixtureOf(topic.name, version))) {
        const fixture: Fixture = {
          topic: topic.name,
          version,
          schema: topic.codec.schema,
          bytes: topic.codec.encode(full).toString('hex'),
        };
        throw new Error(
          `no fixture of ${topic.name} version ${version}; save this as ${fixtureOf(topic.name, version).pathname}: ${JSON.stringify(fixture)}`,
        );
      }
      const { schema, bytes } = readFixture(topic.name, version);
      const decoded = topic.codec.reading(schema)(Buffer.from(bytes, 'hex'));
      if (version === topic.version) expect(decoded).toEqual(full);
      else expect(() => topic.codec.encode(decoded)).not.toThrow();
    }
  });

  test('has raised its version if its schema is not the frozen one', () => {
    expect(topic.codec.schema).toEqual(readFixture(topic.name, topic.version).schema);
  });
});

test('a topic is keyed by what its readers gather by', () => {
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
    'dead-letters': 'q1',
  });
});
