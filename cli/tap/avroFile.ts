/**
 * `-o avro`: a topic as an Avro object container file, which tools of every language read.
 *
 * It bears the topic's present contract; records of an older one are written anew by it. A record is a block of its
 * own, so that a file that is cut off, or still grows, can be read up to there.
 */
import { createHash } from 'node:crypto';
import type { Stored } from '../../streams/log.ts';
import type { Topic } from '../../streams/topic.ts';

/** The file's head goes before the first record. */
export function avroFile({ codec }: Topic<unknown>): (stored: Stored<unknown>) => Buffer {
  const schema = JSON.stringify(codec.schema);
  const mark = createHash('md5').update(schema).digest();
  let head: Buffer = headOf(schema, mark);
  return ({ value }) => {
    const body = codec.encode(value);
    const block = Buffer.concat([head, long(1), long(body.length), body, mark]);
    head = Buffer.alloc(0);
    return block;
  };
}

/** Four bytes that say what it is, a map with the schema, and the mark that follows every block. */
function headOf(schema: string, mark: Buffer): Buffer {
  const entries = [
    ['avro.schema', schema],
    ['avro.codec', 'null'],
  ].flatMap(([name, value]) => [text(name!), text(value!)]);
  return Buffer.concat([Buffer.from('Obj\u0001'), long(2), ...entries, long(0), mark]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([long(bytes.length), bytes]);
}

/** Avro's long, of numbers that are not negative: zigzag, seven bits a byte. */
function long(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value * 2;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
