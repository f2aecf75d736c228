/** A log that older versions of the program wrote is read, and gone on with, by this one. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import { avroCodec } from '../../streams/contracts/codec.ts';
import type { Shape } from '../../streams/contracts/shapes.ts';
import type { Log } from '../../streams/log.ts';
import { openAnyLog } from '../../streams/openAnyLog.ts';
import type { Topic } from '../../streams/topic.ts';
import { allTopics, topics } from '../../topics/index.ts';
import { readFixture } from '../support/contracts.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../support/kafka.ts';
import { samples } from '../support/records.ts';
import { type RegistryServer, startRegistry } from '../support/registryServer.ts';

const keys = Object.keys(topics) as (keyof typeof topics)[];

/** The topic as version `version` of the program knew it, and the record frozen then. */
function asOf(topic: Topic<unknown>, version: number): { past: Topic<unknown>; record: unknown } {
  const { schema, bytes } = readFixture(topic.name, version);
  const codec = avroCodec(topic.name, { render: () => schema } as Shape<unknown>);
  const record = codec.decode(Buffer.from(bytes, 'hex'));
  // it knew no records by subject
  const { subjects: _, ...then } = topic;
  return { past: { ...then, version, codec, key: () => 'then' }, record };
}

function goesOn(address: () => { readonly at: string; readonly run: string }): void {
  let log: Log;
  const open = async (): Promise<Log> => {
    log = await openAnyLog({ topics: allTopics, ...address(), mode: 'write' });
    return log;
  };
  afterEach(() => log.close());

  test('has every record of every version tapped, fetched and read next to new ones', async () => {
    const written: { topic: Topic<unknown>; now: unknown; expected: unknown[] }[] = [];
    await open();
    for (const key of keys) {
      const topic = topics[key] as Topic<unknown>;
      const expected: unknown[] = [];
      for (let version = 1; version <= topic.version; version++) {
        const { past, record } = asOf(topic, version);
        await log.commit((tx) => tx.append(past, record));
        expected.push(topic.codec.reading(past.codec.schema)(past.codec.encode(record)));
      }
      written.push({ topic, now: samples[key].full, expected });
    }
    await log.close();
    await open();
    for (const { topic, now, expected } of written) {
      await log.commit((tx) => tx.append(topic, now));
      const all = [...expected, now];
      const tap$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false }).pipe(toArray());
      const stored = await lastValueFrom(tap$);
      expect(stored.map(({ value }) => value)).toEqual(all);
      const positions = stored.map(({ position }) => position);
      expect((await log.fetch(topic, positions)).map(({ value }) => value)).toEqual(all);
      const read$ = log
        .read(topic, { group: 'g', inflightMax: 9 })
        .pipe(take(all.length), toArray());
      expect((await firstValueFrom(read$)).map(({ value }) => value)).toEqual(all);
    }
  });

  test('is read by an older version as far as that knows its fields', async () => {
    const { past } = asOf(topics.weights as Topic<unknown>, 2);
    await open();
    await log.commit((tx) => tx.append(topics.weights, samples.weights.full));
    const [stored] = await lastValueFrom(
      log.tap(past, { from: { kind: 'earliest' }, follow: false }).pipe(toArray()),
    );
    expect(samples.weights.full).toMatchObject(stored!.value as object);
    expect(stored!.value).not.toHaveProperty('controls');
  });

  test('refuses a version that could not read existing records before it writes', async () => {
    await open();
    await log.commit((tx) => tx.append(topics.metrics, samples.metrics.full));
    await log.close();
    await open();
    const schema = topics.metrics.codec.schema as { readonly fields: readonly object[] };
    const fields = [...schema.fields, { name: 'unit', type: 'string' }];
    const shape = { render: () => ({ ...schema, fields }) } as Shape<unknown>;
    const clashing: Topic<unknown> = {
      ...(topics.metrics as Topic<unknown>),
      codec: avroCodec('metrics', shape),
    };
    const refused = log.commit((tx) => tx.append(clashing, { ...samples.metrics.full, unit: 's' }));
    await expect(refused).rejects.toThrow(
      /^metrics: .*field unit is new and has no default.*withDefault/,
    );
    await expect(refused).rejects.toMatchObject({ code: 'SCHEMA' });
    expect(await log.stats()).toMatchObject([{ topic: 'metrics', records: 1 }]);
  });
}

describe('an embedded log', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder.remove());
  goesOn(() => ({ at: folder.path, run: 'first' }));
});

describeKafka('a log on Kafka', () => {
  let run: string;
  beforeEach(() => {
    run = freshRun();
  });
  goesOn(() => ({ at: kafkaUrl, run }));
});

describeKafka('a log on Kafka with a registry server', () => {
  let run: string;
  let server: RegistryServer;
  beforeEach(async () => {
    run = freshRun();
    server = await startRegistry();
  });
  afterEach(() => server.close());
  goesOn(() => ({ at: `${kafkaUrl}?registry=${encodeURIComponent(server.url)}`, run }));

  test('has the ids that the registry gave', async () => {
    const log = await openAnyLog({
      topics: allTopics,
      at: `${kafkaUrl}?registry=${server.url}`,
      run,
      mode: 'write',
    });
    await log.commit((tx) => tx.append(topics.metrics, samples.metrics.full));
    await log.close();
    expect(server.schemas).toEqual([
      { subject: `${run}.metrics-value`, schema: JSON.stringify(topics.metrics.codec.schema) },
    ]);
  });
});
