/**
 * Streams: `npm run bench:streams`.
 *
 * What durable, typed, transactional streams cost compared with what they are made of: the embedded log with
 * raw lmdb and a plain file, our primitives with bare RxJS, scoring recorded rollouts with another reward
 * with reading them, and with a broker (MILLRACE_KAFKA=host:port) our stage with bare kafkajs and Kafka
 * Streams doing the same.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { benchmark, someOf } from './options.ts';
import { embeddedRows } from './streams/embedded.ts';
import { inProcessRows } from './streams/inProcess.ts';
import { kafkaRows } from './streams/kafka.ts';
import { replayRow } from './streams/replay.ts';
import { folderOnDisk, print, type Row, type Unmeasured } from './table.ts';

const parts = ['embedded', 'in-process', 'replay', 'kafka'] as const;
const { only, json } = benchmark(
  'npm run bench:streams',
  `Durable, typed, transactional streams beside what they are made of: the embedded log beside raw lmdb and a plain
file, primitives beside bare RxJS, records scored again beside reading them, and with a broker
(MILLRACE_KAFKA=host:port) a stage beside bare kafkajs and Kafka Streams.`,
)
  .option('--only <a,b>', `only these parts: some of ${parts.join()}`, someOf(parts), parts)
  .parse()
  .opts<{ only: readonly (typeof parts)[number][]; json: boolean }>();
const address = process.env.MILLRACE_KAFKA || null;

const folder = folderOnDisk('bench-streams');
const measures: Record<(typeof parts)[number], () => Promise<readonly (Row | Unmeasured)[]>> = {
  embedded: () => embeddedRows(folder),
  'in-process': inProcessRows,
  replay: async () => [await replayRow(join(folder, 'replay'))],
  kafka: () => kafkaRows(address, folder),
};
try {
  const rows: (Row | Unmeasured)[] = [];
  for (const part of only) rows.push(...(await measures[part]()));
  print('Streams', rows, json);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
