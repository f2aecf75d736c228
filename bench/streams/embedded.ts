/**
 * The embedded log compared with raw lmdb and a plain file: the same encoded bytes, each commit durable
 * before the next.
 */
import assert from 'node:assert/strict';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { count, lastValueFrom } from 'rxjs';
import { openLog } from '../../streams/embedded/openLog.ts';
import { type Row, recordsPerSecond, timeMs } from '../table.ts';
import { payloads, payloadTopic, type Size, sizes } from './payload.ts';

const PER_COMMIT = 100;
const TURNS = 3;
/** Of those of the size, for one turn: durable commits are slow. */
const SHARE = 1 / 4;

interface Times {
  readonly log: number[];
  readonly lmdb: number[];
  readonly file: number[];
}

const none = (): Times => ({ log: [], lmdb: [], file: [] });

export async function embeddedRows(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of sizes)
    rows.push(...(await ofSize(size, join(folder, size.name.replace(' ', '')))));
  return rows;
}

async function ofSize(size: Size, folder: string): Promise<Row[]> {
  const topic = payloadTopic('payload');
  const records = payloads(size, Math.round(size.records * SHARE));
  const bytes = records.map((record) => topic.codec.encode(record));
  const log = await openLog({ folder: join(folder), mode: 'write' });
  const lmdb = openLmdb({
    path: join(folder, 'raw.mdb'),
    noSubdir: true,
    overlappingSync: false,
    encoding: 'binary',
  });
  const file = await openFile(join(folder, 'raw.bin'), 'w+');
  const append = none();
  const read = none();
  let inFile = 0;
  try {
    for (let turn = 0; turn < TURNS; turn++) {
      append.log.push(
        await timeMs(async () => {
          for (let at = 0; at < records.length; at += PER_COMMIT) {
            const some = records.slice(at, at + PER_COMMIT);
            await log.commit((tx) => {
              for (const record of some) tx.append(topic, record);
            });
          }
        }),
      );
      append.lmdb.push(
        await timeMs(async () => {
          for (let at = 0; at < bytes.length; at += PER_COMMIT) {
            await lmdb.transaction(() => {
              for (let i = at; i < Math.min(at + PER_COMMIT, bytes.length); i++) {
                void lmdb.put(turn * bytes.length + i, bytes[i]!);
              }
            });
          }
        }),
      );
      append.file.push(
        await timeMs(async () => {
          for (let at = 0; at < bytes.length; at += PER_COMMIT) {
            const { bytesWritten } = await file.writev(bytes.slice(at, at + PER_COMMIT));
            inFile += bytesWritten;
            await file.datasync();
          }
        }),
      );
    }
    const all = TURNS * records.length;
    for (let turn = 0; turn < TURNS; turn++) {
      const from = { from: { kind: 'earliest' }, follow: false } as const;
      read.log.push(
        await timeMs(async () => {
          assert.equal(await lastValueFrom(log.tap(topic, from).pipe(count())), all);
        }),
      );
      read.lmdb.push(
        await timeMs(() => {
          let seen = 0;
          for (const { value } of lmdb.getRange()) seen += (value as Buffer).length > 0 ? 1 : 0;
          assert.equal(seen, all);
        }),
      );
      read.file.push(await timeMs(() => readThrough(file, inFile)));
    }
    const rowsOf = (name: string, { log, lmdb, file }: Times, each: number): Row[] => {
      const what = `${name}, ${size.name}`;
      return [
        recordsPerSecond({ what, against: 'raw lmdb' }, each, log, lmdb),
        recordsPerSecond({ what, against: 'plain file' }, each, log, file),
      ];
    };
    return [
      ...rowsOf(`durable append of ${PER_COMMIT}`, append, records.length),
      ...rowsOf('read in order', read, all),
    ];
  } finally {
    await file.close();
    await lmdb.close();
    await log.close();
  }
}

async function readThrough(
  file: Awaited<ReturnType<typeof openFile>>,
  bytes: number,
): Promise<void> {
  const page = Buffer.allocUnsafe(1 << 20);
  for (let at = 0; at < bytes; ) {
    at += (await file.read(page, 0, page.length, at)).bytesRead;
  }
}
