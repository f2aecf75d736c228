/**
 * A Kafka record as stored in a segment: the broker's data about it as JSON, preceded by its length, then its
 * value.
 */
import type { Raw } from '../pages.ts';

type Header = readonly [name: string | null, value: string | null];

interface Said extends Pick<Raw, 'offset' | 'atMs' | 'key'> {
  readonly producer: string;
  /** In base64. */
  readonly headers: readonly Header[];
}

export function packed({ offset, atMs, key, producerId, headers, value }: Raw): Buffer {
  const said: Said = {
    offset,
    atMs,
    key,
    producer: String(producerId),
    headers: headers.map(([name, of]) => [inBase64(name), inBase64(of)]),
  };
  const text = Buffer.from(JSON.stringify(said));
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, value]);
}

export function unpacked(bytes: Buffer, partition: number): Raw {
  const end = 4 + bytes.readUInt32LE(0);
  const { producer, headers, ...said } = JSON.parse(bytes.toString('utf8', 4, end)) as Said;
  return {
    ...said,
    partition,
    value: bytes.subarray(end),
    headers: headers.map(([name, of]) => [ofBase64(name), ofBase64(of)] as const),
    producerId: BigInt(producer),
  };
}

function inBase64(bytes: Buffer | null): string | null {
  return bytes?.toString('base64') ?? null;
}

function ofBase64(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text, 'base64');
}
