/** Exports are held against the records, as DuckDB (which shares no code with us) reads them. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { plain } from '../../../base/terminal/plain.ts';
import { main } from '../../../cli/program.ts';
import { writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { defineTopic } from '../../../streams/contracts/defineTopic.ts';
import { record as recordShape, text } from '../../../streams/contracts/shapes.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { duckdb } from '../../support/duckdb.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { metric, rollout, samples } from '../../support/records.ts';
import { fakeIo } from '../support/fakeIo.ts';
import { record } from '../support/syntheticRun.ts';

const folder = temporaryFolder();
const METRICS = 25_000;
const notes = defineTopic({
  name: 'notes',
  about: '',
  shape: recordShape('Note', { about: text }),
  key: ({ about }) => about,
});

beforeAll(async () => {
  const run = join(folder.path, 'runs', 'first');
  await mkdir(run, { recursive: true });
  await writeRunRecord(run, record);
  const log = await openLog({ folder: logFolder(run), mode: 'write', clock: { now: () => 5000 } });
  await log.commit((tx) => {
    for (const topic of allTopics) {
      const of = Object.entries(topics).find(([, each]) => each.name === topic.name)![0];
      for (const sample of Object.values(samples[of as keyof typeof samples])) {
        tx.append(topic, sample);
      }
    }
    tx.append(notes, { about: 'mine' });
  });
  for (let step = 0; step < 5; step++) {
    await log.commit((tx) => {
      for (let i = 0; i < METRICS / 5; i++) {
        tx.append(topics.metrics, metric({ name: `m${i % 3}`, step, value: i }));
      }
    });
  }
  await log.commit((tx) => {
    for (const version of [1, 2, 1]) tx.append(topics.rollouts, rollout({ id: 'late', version }));
  });
  await log.close();
});
afterAll(() => folder.remove());

async function millrace(...args: readonly string[]) {
  const io = fakeIo(folder.path);
  const code = await main(['export', ...args], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}
const at = (name: string): string => join(folder.path, name);

/**
 * What DuckDB makes JSON of, said as our JSON says it: its 64-bit numbers are texts, a map is a list of
 * pairs.
 */
function alike(value: unknown): unknown {
  if (typeof value === 'string') return /^-?\d+$/.test(value) ? Number(value) : value;
  if (Array.isArray(value)) {
    const pairs = value.every((each) => Object.keys(Object(each)).join() === 'key,value');
    return value.length > 0 && pairs
      ? Object.fromEntries(value.map((each) => [each.key, alike(each.value)]))
      : value.map(alike);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      // An empty map is an empty list there.
      const empty = name === 'parts' && Array.isArray(inner) && inner.length === 0;
      return [name, empty ? {} : alike(inner)];
    }),
  );
}

describe('millrace export', () => {
  test('writes every topic so that DuckDB reads what was written, in both formats', async () => {
    expect((await millrace('first.*', '--out', 'all')).err).toMatch(/notes .*use --to jsonl/);
    const names = allTopics.map(({ name }) => `first.${name}`);
    for (const format of ['parquet', 'ndjson']) {
      const { code, err } = await millrace(...names, '--to', format, '--out', 'all');
      expect({ code, err }).toEqual({ code: 0, err: '' });
    }
    for (const [name, topic] of Object.entries(topics)) {
      const path = at(`all/first.${topic.name}`);
      const wanted = Object.values(samples[name as keyof typeof samples]).map((sample, offset) => {
        const { key } = { key: topic.key(sample as never) };
        return { _partition: 0, _offset: offset, _key: key, ...(plain(sample) as object) };
      });
      const limit = `ORDER BY _offset LIMIT ${wanted.length}`;
      const [rows, lines] = await Promise.all([
        duckdb(`SELECT * EXCLUDE (_at) FROM '${path}.parquet' ${limit}`),
        readFileSync(`${path}.jsonl`, 'utf8').split('\n').slice(0, wanted.length),
      ]);
      expect([name, rows.map(alike)]).toEqual([name, wanted.map(alike)]);
      const parsed = lines.map((line) => JSON.parse(line));
      expect(parsed.map(({ _at, ...rest }) => rest)).toEqual(wanted);
      expect(parsed[0]._at).toBe('1970-01-01T00:00:05.000Z');
    }
    const [types] = await duckdb(
      `SELECT typeof(_at) AS at, epoch_ms(_at) AS ms, typeof(tokens) AS tokens, typeof(question) AS question, typeof(segments) AS segments FROM '${at('all/first.rollouts.parquet')}' LIMIT 1`,
    );
    expect(types).toMatchObject({ at: 'TIMESTAMP', ms: '5000', tokens: 'INTEGER[]' });
    expect(types!.question).toMatch(/^STRUCT\(id VARCHAR, question VARCHAR, answers VARCHAR\[\]/);
    expect(types!.segments).toMatch(/^STRUCT\(.*\)\[\]$/);
  });

  test('writes row groups, and says where the file is', async () => {
    const { out } = await millrace('first.metrics', '--out', 'groups');
    expect(out).toMatch(/^groups\/first\.metrics\.parquet: 25,00\d records\n$/);
    const path = at('groups/first.metrics.parquet');
    const groups = await duckdb(
      `SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata('${path}')`,
    );
    expect(groups).toHaveLength(2);
    const [sum] = await duckdb(
      `SELECT count(*) AS n, sum(value) AS total FROM '${path}' WHERE name = 'm1'`,
    );
    const each = Array.from({ length: METRICS / 5 }, (_, i) => i).filter((i) => i % 3 === 1);
    expect(Number(sum!.n)).toBe(5 * each.length);
    expect(sum!.total).toBe(5 * each.reduce((all, i) => all + i, 0));
  });

  test('partitions a topic by a field', async () => {
    await millrace('first.metrics', '--partition-by', 'step', '--out', 'parts');
    const folders = readdirSync(at('parts/first.metrics')).sort();
    expect(folders).toEqual(['step=0', 'step=1', 'step=2', 'step=3', 'step=4', 'step=9']);
    const steps = await duckdb(
      `SELECT step, count(*)::INT AS n FROM read_parquet('${at('parts')}/*/*/*.parquet', hive_partitioning = true) WHERE step IN (2, 3) GROUP BY step ORDER BY step`,
    );
    expect(steps.map(({ n }) => n)).toEqual([METRICS / 5, METRICS / 5]);
    const again = await millrace('first.metrics', '--partition-by', 'step', '--out', 'parts');
    expect(again.code).toBe(0);
    writeFileSync(at('parts/first.metrics/mine.txt'), 'keep');
    const refused = await millrace('first.metrics', '--partition-by', 'step', '--out', 'parts');
    expect(refused.code).toBe(2);
    expect(refused.err).toMatch(/contains other files \(mine\.txt\)/);
    expect(readFileSync(at('parts/first.metrics/mine.txt'), 'utf8')).toBe('keep');
  });

  test('exports the chosen records, and takes the place of an earlier file', async () => {
    const args = ['first.metrics', '--to', 'jsonl', '--out', 'some'];
    await millrace(...args);
    const { out } = await millrace(...args, '--key', 'm2', '--from', '-3000');
    expect(out).toBe('some/first.metrics.jsonl: 1,000 records\n');
    expect(readdirSync(at('some'))).toEqual(['first.metrics.jsonl']);
    const empty = await millrace('first.pairs', '--question', 'nobody', '--out', 'some');
    expect(empty.out).toMatch(/: 0 records/);
    const path = at('some/first.pairs.parquet');
    expect(await duckdb(`SELECT * FROM '${path}'`)).toEqual([]);
  });

  test('leaves no partial file, and touches no other file', async () => {
    mkdirSync(at('half/first.metrics.parquet'), { recursive: true });
    const refused = await millrace('first.metrics', '--out', 'half');
    expect(refused.code).toBe(2);
    expect(refused.err).toMatch(/first\.metrics\.parquet is a folder/);
    expect((await millrace('first.nothing', '--out', 'half')).err).toMatch(/no topic/i);
    expect(readdirSync(at('half'))).toEqual(['first.metrics.parquet']);
    const own = await millrace('first.notes', '--to', 'jsonl', '--out', 'half');
    expect(own.out).toBe('half/first.notes.jsonl: 1 record\n');
  });
});
