/**
 * What is held of a topic's contract: one frozen record a version, which every later version reads.
 *
 * `frozen.json` next to the records has the SHA-256 of each, so none is edited unnoticed.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { hasCode } from '../../base/errors.ts';
import type { Topic } from '../../streams/topic.ts';

export interface Fixture {
  readonly topic: string;
  readonly version: number;
  readonly schema: unknown;
  /** One record written with that schema, hex. */
  readonly bytes: string;
}

/** Where the frozen records are. */
export interface Frozen {
  /** Text of a fixture; null if there is none. */
  text(name: string): string | null;
  /** SHA-256 by name. */
  readonly digests: Readonly<Record<string, string>>;
}

const folder = new URL('../streams/fixtures/', import.meta.url);

export const frozen: Frozen = {
  text(name) {
    const url = new URL(name, folder);
    return existsSync(url) ? readFileSync(url, 'utf8') : null;
  },
  digests: JSON.parse(readFileSync(new URL('frozen.json', folder), 'utf8')) as Record<
    string,
    string
  >,
};

export const fixtureName = (topic: string, version: number): string => `${topic}.v${version}.json`;

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export function readFixture(topic: string, version: number, from: Frozen = frozen): Fixture {
  return JSON.parse(from.text(fixtureName(topic, version))!) as Fixture;
}

/**
 * What is wrong with a topic's contract, in sentences that say what to do; `full` is a record of the present
 * version.
 */
export function complaints(topic: Topic<unknown>, full: unknown, from: Frozen = frozen): string[] {
  const versions = Array.from({ length: topic.version }, (_, i) => i + 1);
  const older = versions.flatMap((version) => ofVersion(topic, full, version, from));
  return [...older, ...ofPresent(topic, full, from), ...ofNext(topic, from)];
}

function ofVersion(
  topic: Topic<unknown>,
  full: unknown,
  version: number,
  from: Frozen,
): readonly string[] {
  const name = fixtureName(topic.name, version);
  const text = from.text(name);
  if (text === null) {
    return [
      `there is no frozen record of ${topic.name} version ${version}; save this as test/streams/fixtures/${name}, ` +
        `and its SHA-256 in frozen.json: ${JSON.stringify(newFixture(topic, full, version))}`,
    ];
  }
  if (from.digests[name] === undefined) {
    return [`${name} is not in frozen.json; add its SHA-256: ${sha256(text)}`];
  }
  if (from.digests[name] !== sha256(text)) {
    return [
      `${name} was changed, and a frozen record never is: bring it back, raise the version of ${topic.name} in ` +
        'topics/, and freeze a record of that',
    ];
  }
  const { schema, bytes } = JSON.parse(text) as Fixture;
  try {
    topic.codec.encode(topic.codec.reading(schema)(Buffer.from(bytes, 'hex')));
    return [];
  } catch (error) {
    if (!hasCode(error, 'SCHEMA') && !hasCode(error, 'DECODE') && !hasCode(error, 'ENCODE'))
      throw error;
    return [`version ${version}: ${error.message}`];
  }
}

function ofPresent(topic: Topic<unknown>, full: unknown, from: Frozen): readonly string[] {
  const text = from.text(fixtureName(topic.name, topic.version));
  if (text === null) return [];
  const { schema } = JSON.parse(text) as Fixture;
  if (JSON.stringify(schema) === JSON.stringify(topic.codec.schema)) return [];
  const next = topic.version + 1;
  return [
    `the schema of ${topic.name} is not that of its version ${topic.version}: raise the version to ${next} in topics/ ` +
      `and freeze a record of it as ${fixtureName(topic.name, next)}: ${JSON.stringify(newFixture(topic, full, next))}`,
  ];
}

function ofNext(topic: Topic<unknown>, from: Frozen): readonly string[] {
  const next = fixtureName(topic.name, topic.version + 1);
  if (from.text(next) === null) return [];
  return [`${next} is there, and ${topic.name} is at version ${topic.version}: raise it`];
}

function newFixture({ name, codec }: Topic<unknown>, full: unknown, version: number): Fixture {
  return { topic: name, version, schema: codec.schema, bytes: codec.encode(full).toString('hex') };
}
