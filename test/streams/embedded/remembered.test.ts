import { expect, test } from '@jest/globals';
import { Remembered } from '../../../streams/embedded/remembered.ts';
import type { Stored } from '../../../streams/log.ts';

const record = (offset: number): Stored<string> => ({
  ...{ topic: 'a', position: { partition: 0, offset }, key: '', atMs: 0 },
  value: `value ${offset}`,
  bytes: 100,
});

/** The offsets that were read, in order. */
function reading(bytesMax: number, ...offsets: readonly number[]): readonly number[] {
  const read: number[] = [];
  const remembered = new Remembered(bytesMax);
  for (const offset of offsets) {
    const found = remembered.at('a', offset, () => {
      read.push(offset);
      return record(offset);
    });
    expect(found).toEqual(record(offset));
  }
  return read;
}

test('a record is read once while there is room, and the oldest go first', () => {
  expect(reading(200, 0, 1, 0, 1)).toEqual([0, 1]);
  expect(reading(200, 0, 1, 2, 1, 2, 0)).toEqual([0, 1, 2, 0]);
});

test('without room nothing is kept', () => {
  expect(reading(0, 0, 0)).toEqual([0, 0]);
  expect(reading(99, 0, 0)).toEqual([0, 0]);
});

test('records of other topics are others', () => {
  const remembered = new Remembered(1000);
  remembered.at('a', 0, () => record(0));
  expect(remembered.at('b', 0, () => record(7)).value).toBe('value 7');
});
