/** Every number format of GGUF against what llama.cpp's `gguf` package makes of the same bytes (blocks.py). */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { blockTypes, typeName } from '../../../model/gguf/blocks.ts';

const recorded: Readonly<Record<string, { readonly raw: string; readonly numbers: string }>> =
  JSON.parse(readFileSync(new URL('./blocks.json', import.meta.url), 'utf8'));

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));

describe('a block of GGUF', () => {
  test('is recorded for every type that is decoded', () => {
    const names = Object.values(blockTypes).map(({ name }) => name);
    expect(names.sort()).toEqual(Object.keys(recorded).sort());
  });

  test.each(Object.values(blockTypes))('of type $name is decoded bit for bit', (type) => {
    const { raw, numbers } = recorded[type.name]!;
    const bytes = bytesOf(raw);
    const into = new Float32Array((bytes.length / type.bytes) * type.numbers);
    type.decode(bytes, into);
    expect(Buffer.from(into.buffer).toString('hex')).toBe(numbers);
  });

  test('of another type has a name for messages', () => {
    expect(typeName(6)).toBe('Q5_0');
    expect(typeName(99)).toBe('of the unknown type 99');
  });
});
