/** Archives for tests, written by hand: what they say of themselves may be a lie. */
import { constants, deflateRawSync } from 'node:zlib';
import { crc32 } from '../../base/crc32.ts';

/** A file of an archive. */
export interface ZipFile {
  readonly name: string;
  readonly content: Uint8Array | string;
  /** What is packed in place of the content. */
  readonly packed?: Uint8Array;
  /** Sizes that the archive claims, if they are not the true ones. */
  readonly claims?: { readonly packed?: number; readonly unpacked?: number };
  /** Where its bytes are, if not behind its own header: of another file. */
  readonly at?: number;
}

/** What unpacks to so many MiB of spaces (raw deflate), a thousandth of them in size. */
export function packedSpaces(megabytes: number): Buffer {
  const { Z_FULL_FLUSH: finishFlush } = constants;
  const one = deflateRawSync(Buffer.alloc(2 ** 20, ' '), { finishFlush, level: 9 });
  return Buffer.concat([...Array<Buffer>(megabytes).fill(one), Buffer.from([3, 0])]);
}

/** An archive with these files, packed. */
export function zipOf(files: readonly ZipFile[]): Uint8Array {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let place = 0;
  for (const { name, content, claims = {}, at = place, ...given } of files) {
    const bytes = Buffer.from(content as Uint8Array);
    const packed = given.packed ?? deflateRawSync(bytes);
    const title = Buffer.from(name);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(0x800, 2);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc32(bytes, 0), 10);
    facts.writeUInt32LE(claims.packed ?? packed.length, 14);
    facts.writeUInt32LE(claims.unpacked ?? bytes.length, 18);
    facts.writeUInt16LE(title.length, 22);
    const own = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), facts, title, packed]);
    if (at === place) {
      parts.push(own);
      place += own.length;
    }
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    central.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), facts, rest, title]));
  }
  const table = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(table.length, 12);
  end.writeUInt32LE(place, 16);
  return new Uint8Array(Buffer.concat([...parts, table, end]));
}
