import { describe, expect, test } from '@jest/globals';
import { HEADER_BYTES, seal, unseal } from '../../../streams/embedded/envelope.ts';

const envelope = { atMs: 1_700_000_000_000.5, schema: 3, body: Buffer.from('a record') };

describe('an envelope', () => {
  test('gives back what was sealed', () => {
    expect(unseal(seal(envelope), 'rollouts@4')).toEqual(envelope);
    const empty = { ...envelope, body: Buffer.alloc(0) };
    expect(unseal(seal(empty), 'rollouts@4')).toEqual(empty);
  });

  test('is refused with its position if any bit was changed, or it was truncated', () => {
    const bytes = seal(envelope);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => unseal(changed, 'rollouts@4')).toThrow(
        'rollouts@4 was changed after it was written',
      );
    }
    for (let length = 0; length < bytes.length; length++) {
      expect(() => unseal(bytes.subarray(0, length), 'rollouts@4')).toThrow(
        /changed after it was written/,
      );
    }
  });

  test('of a log from before checksums is read without one', () => {
    const plain = Buffer.alloc(12 + 8);
    plain.writeDoubleLE(envelope.atMs, 0);
    plain.writeUInt32LE(3, 8);
    envelope.body.copy(plain, 12);
    expect(unseal(plain, 'rollouts@4')).toEqual(envelope);
    expect(HEADER_BYTES).toBe(16);
  });
});
