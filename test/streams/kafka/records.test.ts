import { describe, expect, test } from '@jest/globals';
import {
  createRecordsBatch,
  Reader,
  type RecordsBatch,
  readRecordsBatches,
} from '@platformatic/kafka';
import {
  committedRecords,
  headerOf,
  NO_PRODUCER,
  type Raw,
} from '../../../streams/kafka/records.ts';

const MARK = 0x20;
const BROKERS_TIME = 0x08;

/** As a broker gives it back: placed at `offset`, and with `flags` of its own. */
function batch(
  offset: number,
  keys: readonly string[],
  {
    producer = NO_PRODUCER,
    flags = 0,
  }: { readonly producer?: bigint; readonly flags?: number } = {},
): RecordsBatch {
  const messages = keys.map((key, i) => {
    return {
      topic: 't',
      key: Buffer.from(key),
      value: Buffer.from(`of ${key}`),
      timestamp: BigInt(1_000 + 5 * i),
    };
  });
  const owned = producer === NO_PRODUCER ? {} : { transactionalId: 'id', producerId: producer };
  const [made] = readRecordsBatches(Reader.from(createRecordsBatch(messages, owned).buffer));
  const { attributes } = made!;
  return { ...made!, firstOffset: BigInt(offset), attributes: attributes | flags };
}

const placed = (records: readonly Raw[]): unknown =>
  records.map(({ offset, key, atMs }) => [offset, key, atMs]);

describe('the committed records of a fetch', () => {
  test('have plain offsets and times, and begin where requested', () => {
    const records = committedRecords([batch(40, ['a', 'b', 'c'])], [], 3, 41);
    expect(placed(records)).toEqual([
      [41, 'b', 1_005],
      [42, 'c', 1_010],
    ]);
    expect(records[0]).toMatchObject({ partition: 3, producerId: NO_PRODUCER });
    expect(records[0]!.value.toString()).toBe('of b');
  });

  test('have the time of the broker if that is configured', () => {
    const [record] = committedRecords([batch(0, ['a', 'b'], { flags: BROKERS_TIME })], [], 0, 0);
    expect(record!.atMs).toBe(1_005);
  });

  test('exclude markers, and records of an aborted transaction up to its marker', () => {
    const batches = [
      batch(0, ['kept'], { producer: 7n }),
      batch(1, ['undone'], { producer: 8n }),
      batch(2, ['mark'], { producer: 8n, flags: MARK }),
      batch(3, ['of its next'], { producer: 8n }),
      batch(4, ['mark'], { producer: 8n, flags: MARK }),
      batch(5, ['outside']),
    ];
    const aborted = [{ producerId: 8n, firstOffset: 1n }];
    const keys = committedRecords(batches, aborted, 0, 0).map(({ key }) => key);
    expect(keys).toEqual(['kept', 'of its next', 'outside']);
  });

  test('of another client may have neither key nor value', () => {
    const foreign = batch(0, ['x']);
    const [record] = foreign.records;
    const bare = { ...foreign, records: [{ ...record!, key: null, value: null, headers: [] }] };
    const [read] = committedRecords([bare], [], 0, 0);
    expect(read).toMatchObject({ key: '', value: Buffer.alloc(0) });
    expect(headerOf(read!, 'contract')).toBe('');
  });
});

test('of several headers with one name the last counts', () => {
  const pairs = [
    ['contract', 'a/1'],
    ['other', 'x'],
    ['contract', 'a/2'],
  ] as const;
  const headers = pairs.map((pair) => pair.map((text) => Buffer.from(text)) as [Buffer, Buffer]);
  expect(headerOf({ headers }, 'contract')).toBe('a/2');
});
