/** GGUF files that are cut short, give false lengths, or hold whatever chance put there. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { MillraceError } from '../../../base/errors.ts';
import { openGguf } from '../../../model/gguf/openGguf.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { ggufBytes, singles, text, u32, u64 } from '../../support/ggufBytes.ts';
import { bytesOf, tiny } from './tinyGguf.ts';

const folder = temporaryFolder();
const path = join(folder.path, 'model.gguf');
afterAll(() => folder.remove());

/** What is said of these bytes; whatever is not ours is thrown on. */
async function said(bytes: Uint8Array): Promise<string> {
  writeFileSync(path, bytes);
  try {
    const opened = await openGguf(path);
    try {
      for (const name of opened.tensors.keys()) await opened.read(name);
      opened.sideFiles(true);
      return 'read';
    } finally {
      await opened.close();
    }
  } catch (error) {
    if (error instanceof MillraceError) return error.message;
    throw error;
  }
}

const opening = (tensors: number | bigint, keys: number | bigint, version = 3) =>
  Buffer.concat([Buffer.from('GGUF'), u32(version), u64(tensors), u64(keys)]);
const HUGE = 2n ** 60n;
const f32 = (name: string) => singles(name, [8], new Float32Array(8));

describe('a GGUF file', () => {
  test.each<[string, Buffer, RegExp]>([
    ['another format', Buffer.from('<html>not found</html>'), /is not a GGUF file/],
    ['no bytes', Buffer.alloc(0), /cut short/],
    ['version 1', opening(0, 0, 1), /GGUF version 1; only versions 2 and 3/],
    ['the other order of bytes', opening(0, 0, 0x03000000), /big-endian/],
    ['endless tensors', opening(HUGE, 0), /claims to have 1152921504606847000 tensors/],
    ['endless keys', opening(0, HUGE), /keys; the maximum is 65536/],
    ['an endless name', Buffer.concat([opening(0, 1), u64(HUGE)]), /bytes in a text/],
    ['a name beyond its end', Buffer.concat([opening(0, 1), u64(1000)]), /cut short/],
    [
      'an endless list',
      Buffer.concat([opening(0, 1), text('k'), u32(9), u32(0), u64(HUGE)]),
      /elements in its lists/,
    ],
    [
      'a list beyond its end',
      Buffer.concat([opening(0, 1), text('k'), u32(9), u32(10), u64(1e6)]),
      /cut short/,
    ],
    [
      'lists in lists',
      Buffer.concat([opening(0, 1), text('k'), u32(9), u32(9), u64(1), u32(9)]),
      /lists of lists/,
    ],
    ['an unknown kind', Buffer.concat([opening(0, 1), text('k'), u32(77)]), /unknown type 77/],
    [
      'a text that is not UTF-8',
      Buffer.concat([opening(0, 1), u64(1), Buffer.from([0xff])]),
      /not UTF-8/,
    ],
    [
      'a key twice',
      Buffer.concat([opening(0, 2), ...[1, 2].flatMap(() => [text('k'), u32(4), u32(1)])]),
      /has 'k' twice/,
    ],
    ['an alignment of 24', ggufBytes({ 'general.alignment': { u32: 24 } }, []), /alignment 24/],
    ['a tensor twice', ggufBytes({}, [f32('a'), f32('a')]), /the tensor 'a' twice/],
    [
      'a type that is not decoded',
      ggufBytes({}, [{ ...f32('a'), type: 6 }]),
      /'a' is Q5_0; supported are F32, F16, Q4_0, Q4_1, Q8_0, Q4_K, Q6_K, BF16/,
    ],
    [
      'a row of half a block',
      ggufBytes({}, [{ ...f32('a'), type: 8 }]),
      /shape \[8\], which Q8_0 cannot have/,
    ],
    ['a size of none', ggufBytes({}, [{ ...f32('a'), sizes: [0] }]), /shape \[0\]/],
    ['endless sizes', ggufBytes({}, [{ ...f32('a'), sizes: [2 ** 40, 2 ** 40] }]), /cannot have/],
    ['a tensor beyond its end', ggufBytes({}, [{ ...f32('a'), sizes: [2 ** 30] }]), /cut short/],
    ['no dimensions', ggufBytes({}, [{ ...f32('a'), sizes: [] }]), /has 0 dimensions/],
    [
      'tensors that overlap',
      ggufBytes({}, [{ ...f32('a'), data: new Uint8Array(0) }, f32('b')]),
      /begins inside another/,
    ],
  ])('with %s is refused', async (_, bytes, message) => {
    expect(await said(bytes)).toMatch(message);
  });

  test('that ends anywhere is refused', async () => {
    const bytes = bytesOf(tiny('llama'));
    for (let end = 0; end < bytes.length; end += end < 4000 ? 37 : 1009)
      expect(await said(bytes.subarray(0, end))).toMatch(/cut short/);
    expect(await said(bytes)).toBe('read');
  });

  test('with changed bytes in its header is read or refused, and nothing else', async () => {
    const bytes = bytesOf(tiny('llama'));
    const stream = draws('hostile', 1);
    for (let i = 0; i < 300; i++) {
      const changed = Buffer.from(bytes);
      for (let j = 0; j < 3; j++) {
        const at = 6 * i + 2 * j;
        changed[stream.integer(at, 12_000)] = stream.integer(at + 1, 256);
      }
      expect(typeof (await said(changed))).toBe('string');
    }
  });
});
