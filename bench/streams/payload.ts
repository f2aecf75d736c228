/** Records of a given size: what is measured carries bytes and has no meaning. */
import { draws } from '../../base/draws.ts';
import { defineTopic } from '../../streams/contracts/defineTopic.ts';
import { int32s, record, text } from '../../streams/contracts/shapes.ts';
import type { Topic } from '../../streams/topic.ts';

export interface Payload {
  readonly id: string;
  readonly body: Int32Array;
}

export interface Size {
  readonly name: string;
  readonly bytes: number;
  /** Records of one measurement. */
  readonly records: number;
}

/** A small record and a trajectory: 2,000 tokens with their log-probs and texts. */
export const sizes: readonly Size[] = [
  { name: '1 KiB', bytes: 1_024, records: 20_000 },
  { name: '17 KB', bytes: 17_000, records: 3_000 },
];

export function payloadTopic(name: string): Topic<Payload> {
  const shape = record('Payload', { id: text, body: int32s });
  return defineTopic({ name, about: 'Benchmark.', shape, key: ({ id }) => id });
}

/** `count` records of about so many bytes; 64 different bodies in turns. */
export function payloads({ bytes, records }: Size, count = records): readonly Payload[] {
  const bodies = Array.from({ length: 64 }, (_, body) => {
    const chance = draws('payload', body);
    return Int32Array.from({ length: (bytes - 8) >> 2 }, (_, i) => chance.integer(i, 0x7fffffff));
  });
  return Array.from({ length: count }, (_, i) => ({ id: `r${i}`, body: bodies[i % 64]! }));
}
