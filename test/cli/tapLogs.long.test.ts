/** The same taps over both logs: the records are in the run's folder, or on Kafka in three partitions. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { writeRunRecord } from '../../cli/runRecord.ts';
import { logFolder } from '../../cli/runs.ts';
import { defineTopic } from '../../streams/contracts/defineTopic.ts';
import { int32s, record as recordShape, text } from '../../streams/contracts/shapes.ts';
import type { Log } from '../../streams/log.ts';
import { openAnyLog } from '../../streams/openAnyLog.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { allTopics, topics } from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { describeKafka, freshRun, kafkaUrl } from '../support/kafka.ts';
import { metric, question } from '../support/records.ts';
import { until } from '../support/until.ts';
import { fakeIo } from './support/fakeIo.ts';
import { record } from './support/syntheticRun.ts';

interface Line {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly at: string;
}

const linesOf = (out: string): Line[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

function keepsTaps(url: string | null): void {
  const folder = temporaryFolder();
  const clock = manualClock();
  const run = freshRun();
  let log: Log;

  const millrace = async (...args: readonly string[]) => {
    const io = fakeIo(folder.path, clock.now());
    const code = await main(args, io);
    return { code, lines: linesOf(io.stdout()), err: io.stderr().join('\n') };
  };
  const tap = (pattern: string, ...args: readonly string[]) =>
    millrace('tap', `${run}.${pattern}`, '-o', 'jsonl', '--envelope', ...args);

  beforeAll(async () => {
    const runFolder = join(folder.path, 'runs', run);
    await mkdir(runFolder, { recursive: true });
    const where = url === null ? {} : { log: url };
    await writeRunRecord(runFolder, { ...record, ...where, status: 'running' });
    const at = url ?? logFolder(runFolder);
    log = await openAnyLog({ topics: allTopics, at, run, mode: 'write', clock });
    for (let i = 0; i < 40; i++) {
      clock.advance(1000);
      await log.commit((tx) => {
        tx.append(topics.metrics, metric({ name: `m${i}` }));
        tx.append(topics.questions, question({ id: `q${i}` }));
      });
    }
  });
  afterAll(async () => {
    await log.close();
    folder.remove();
  });

  test('taps all topics of a pattern in the order of time', async () => {
    const { code, lines } = await tap('*');
    expect(code).toBe(0);
    // Those of one commit bear one time: the order is that in which a run works.
    expect(lines.map(({ key }) => key)).toEqual(
      Array.from({ length: 40 }, (_, i) => [`q${i}`, `m${i}`]).flat(),
    );
    const partitions = new Set(lines.map(({ partition }) => partition));
    expect(partitions.size).toBe(url === null ? 1 : 3);
  });

  test('begins at --from', async () => {
    const keys = async (from: string): Promise<string[]> =>
      (await tap('metrics', '--from', from)).lines.map(({ key }) => key);
    expect(await keys('-2')).toEqual(['m38', 'm39']);
    expect(await keys('4s')).toEqual(['m35', 'm36', 'm37', 'm38', 'm39']);
    expect(await keys(`@${clock.now() - 1000}`)).toEqual(['m38', 'm39']);
    expect(await keys('latest')).toEqual([]);
    const { lines } = await tap('metrics', '--from', 'earliest');
    expect(await keys(String(lines[37]!.offset))).toEqual(['m37', 'm38', 'm39']);
  });

  test('ends at --to', async () => {
    const keys = async (...args: readonly string[]): Promise<string[]> =>
      (await tap('metrics', ...args)).lines.map(({ key }) => key);
    const first = ['m0', 'm1', 'm2'];
    expect(await keys('--to', '-37')).toEqual(first);
    expect(await keys('--to', '37s')).toEqual(first.slice(0, 2));
    expect(await keys('--to', `@${clock.now() - 36_500}`)).toEqual(first);
    expect(await keys('--from', '4s', '--to', '2s')).toEqual(['m35', 'm36']);
    expect(await keys('--from', '-3', '--to', '-1')).toEqual(['m37', 'm38']);
    expect(await keys('--to', 'latest')).toHaveLength(40);
    expect(await keys('--to', '@0')).toEqual([]);
    const { lines } = await tap('metrics', '--partition', '0');
    const { key, offset } = lines[2]!;
    expect((await keys('--partition', '0', '--to', String(offset))).at(-1)).toBe(lines[1]!.key);
    expect((await keys('--partition', '0', '--from', String(offset)))[0]).toBe(key);
    const { code, err } = await tap('metrics', '-f', '--to', '5');
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringMatching(/--to and -f exclude each other/),
    });
  });

  test('taps the chosen partitions', async () => {
    const all = await tap('questions');
    const second = url === null ? 0 : 1;
    const { lines } = await tap('questions', '--partition', `${second}`);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines).toEqual(all.lines.filter(({ partition }) => partition === second));
    const last = await tap('questions', '--partition', `${second}`, '--from', '-2');
    expect(last.lines).toEqual(lines.slice(-2));
    for (const pattern of ['questions', 'question*', '*']) {
      const { code, err } = await tap(pattern, '--partition', '7');
      expect({ code, err }).toEqual({
        code: 1,
        err: expect.stringMatching(/^error \(NOT_FOUND\)/),
      });
      expect(err).toContain('no partition 7');
    }
  });

  test('skips topics of a pattern that lack the partition', async () => {
    const all = await tap('questions');
    const { code, lines, err } = await tap('*', '--partition', '0,2');
    if (url === null) {
      expect(code).toBe(1); // a log in a folder has one partition
      return;
    }
    expect({ code, err }).toEqual({ code: 0, err: 'skipped metrics (no partition 2)' });
    expect(lines).toEqual(all.lines.filter(({ partition }) => partition !== 1));
    const follow = fakeIo(folder.path, clock.now());
    const args = ['-f', '--from', 'earliest', '--partition', '2', '-n', '3', '-o', 'ndjson'];
    expect(await main(['tap', `${run}.*`, ...args], follow)).toBe(0);
    expect(follow.stderr()).toEqual(['skipped metrics (no partition 2)']);
    expect(linesOf(follow.stdout())).toHaveLength(3);
    const named = await tap('metrics', `${run}.q*`, '--partition', '2');
    expect(named.err).toMatch(/NOT_FOUND.*metrics has no partition 2/);
  });

  test('taps the chosen keys and texts', async () => {
    const keys = async (...args: readonly string[]): Promise<string[]> =>
      (await tap('questions', ...args)).lines.map(({ key }) => key);
    expect(await keys('--key', 'q3', '--key', 'q17')).toEqual(['q3', 'q17']);
    expect(await keys('--key-prefix', 'q39', '--key', 'q1')).toEqual(['q1', 'q39']);
    expect(await keys('--question', 'q8')).toEqual(['q8']);
    expect((await tap('*', '--question', 'q8')).lines.map(({ topic }) => topic)).toEqual([
      'questions',
    ]);
    expect((await tap('questions', '--key', 'm1')).err).toBe('no record has this key');
    expect((await tap('*', '--question', 'm1')).err).toBe('no record is about it');
    expect(await keys('--grep', '/^Q3[01]$/i')).toEqual(['q30', 'q31']);
    expect(await keys('--grep', 'nowhere')).toEqual([]);
    expect((await tap('questions', '--grep', 'nowhere')).err).toBe('none of 40 records matches');
    expect((await tap('evolved')).err).toBe('no records; -f waits for new ones');
  });

  test('counts with --stats what was read and shown', async () => {
    const { err } = await tap('*', '--key', 'q5', '--stats');
    expect(err).toMatch(/^topic +records\/s +bytes\/s +read +shown +behind\n/);
    expect(err).toMatch(/\nquestions +\d+ +\d.* +1 +1 +0$/);
  });

  test('reports and skips a record that cannot be read', async () => {
    const clashing = defineTopic({
      name: topics.weights.name,
      about: '',
      shape: recordShape('Weights', { nothing: text }),
      key: ({ nothing }) => nothing,
    });
    await log.commit((tx) => tx.append(clashing, { nothing: '\u001b[31m' }));
    const { code, lines, err } = await tap('weight*');
    expect({ code, lines }).toEqual({ code: 0, lines: [] });
    expect(err).toMatch(
      /^skipped weights@\d\/\d: weights: this version cannot read.*; schema \d+, 6 bytes: 0a 1b 5b/,
    );
    expect(err).toMatch(/\ncould not read 1 record$/);
  });

  test('follows without loss or repetition until it is interrupted', async () => {
    let gaveWay = false;
    const io = {
      ...fakeIo(folder.path, clock.now()),
      giveWay: () => {
        gaveWay = true;
      },
    };
    const pattern = [`${run}.questions`, `${run}.metrics`];
    const following = main(['tap', ...pattern, '-f', '--from', '-1', '-o', 'ndjson'], io);
    const seen = (): readonly Line[] => linesOf(io.stdout());
    await until(() => seen().length >= 2);
    const begin = 40;
    const ends = 400;
    for (let i = begin; i < ends; i += 20) {
      clock.advance(10);
      await log.commit((tx) => {
        for (let j = i; j < i + 20; j++) tx.append(topics.questions, question({ id: `q${j}` }));
      });
      if (i % 100 === 0)
        await log.commit((tx) => tx.append(topics.metrics, metric({ name: `m${i}` })));
    }
    await until(() => seen().some(({ key }) => key === `q${ends - 1}`));
    io.interrupt();
    expect(await following).toBe(0);
    const keys = seen().map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    for (let i = begin; i < ends; i++) expect(keys).toContain(`q${i}`);
    expect(keys).toContain('m300');
    expect(seen().map(({ at }) => at)).toEqual(
      seen()
        .map(({ at }) => at)
        .sort(),
    );
    expect(io.stderr()).toEqual([]);
    expect(gaveWay).toBe(true);
  });

  test('shows what changed between records of a key', async () => {
    clock.advance(2000);
    await log.commit((tx) => tx.append(topics.metrics, metric({ name: 'm3', value: 0.5 })));
    await log.commit((tx) => tx.append(topics.metrics, metric({ name: 'm3', value: 0.75 })));
    const { lines } = await tap(
      'metrics',
      '--diff',
      '--fields',
      'value',
      '--key',
      'm3',
      '--from',
      '1s',
    );
    expect(lines).toEqual([
      expect.objectContaining({ key: 'm3', value: { value: { before: 0.5, after: 0.75 } } }),
    ]);
  });

  test('shows topics that the job defines by the schema they were written with', async () => {
    const notes = defineTopic({
      name: 'notes',
      about: '',
      shape: recordShape('Note', { about: text, ids: int32s }),
      key: ({ about }) => about,
    });
    expect((await tap('notes')).err).toMatch(/no topic "notes"/);
    const ids = Int32Array.from([1, 2]);
    await log.commit((tx) => tx.append(notes, { about: 'first', ids }));
    const { code, lines } = await tap('note?');
    expect(code).toBe(0);
    const key = url === null ? '' : 'first'; // the log in a folder keeps no keys
    expect(lines).toEqual([expect.objectContaining({ topic: 'notes', key })]);
    expect(lines[0]).toMatchObject({ value: { about: 'first', ids: [1, 2] } });
    expect((await tap('*')).lines.filter(({ topic }) => topic === 'notes')).toHaveLength(1);
  });

  describe('a tap process', () => {
    const start = (command: string) => {
      const tsx = `${process.execPath} --import tsx ${resolve('cli/main.ts')}`;
      // exec: a signal reaches the command itself.
      const child = spawn('bash', ['-c', `set -o pipefail; ${command.replace('millrace', tsx)}`], {
        cwd: folder.path,
        env: { ...process.env, NODE_PATH: resolve('node_modules') },
      });
      let out = '';
      let err = '';
      child.stdout.on('data', (chunk) => {
        out += chunk;
      });
      child.stderr.on('data', (chunk) => {
        err += chunk;
      });
      return { child, out: () => out, err: () => err };
    };
    const runs = `--runs ${join(folder.path, 'runs')}`;

    test('ends with 0 when its reader goes away', async () => {
      const { child, out, err } = start(
        `cd ${resolve('.')} && millrace tap ${run}.questions metrics ${runs} -o ndjson | head -n 3`,
      );
      const [code] = await once(child, 'close');
      expect({ code, err: err() }).toEqual({ code: 0, err: '' });
      expect(linesOf(out())).toHaveLength(3);
    });

    test('ends with 0 and whole lines at Ctrl-C', async () => {
      const { child, out, err } = start(
        `cd ${resolve('.')} && exec millrace tap ${run}.questions metrics ${runs} -f --from earliest -o ndjson`,
      );
      await until(() => out().includes('"q399"') || child.exitCode !== null);
      child.kill('SIGINT');
      const [code] = await once(child, 'close');
      expect({ code, err: err() }).toEqual({
        code: 0,
        err: '',
      });
      expect(linesOf(out()).length).toBeGreaterThan(400);
    });
  });
}

describe('taps of the embedded log', () => keepsTaps(null));
describeKafka('taps over a broker', () => keepsTaps(`${kafkaUrl}?partitions=3`));
