import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { openReplies } from '../../../model/text/replyStore.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { Store } from '../../../streams/embedded/store.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { deadLetter } from '../../support/records.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { weights as manifest } from '../../support/weights.ts';
import { fakeIo } from '../support/fakeIo.ts';
import { record as synthetic } from '../support/syntheticRun.ts';

const temporary = temporaryFolder();
const runs = temporary.path;
let folder: string;
let count = 0;
let name: string;
beforeEach(async () => {
  name = `run-${count++}`;
  folder = await tinyRun(runs, name);
});
afterAll(() => temporary.remove());

interface Found {
  readonly rule: string;
  readonly where: string;
  readonly what: string;
  readonly advice: string;
}

async function doctor(...args: string[]): Promise<{ code: number; out: string }> {
  const io = fakeIo(runs);
  const code = await main(['doctor', name, '--runs', runs, ...args], io);
  return { code, out: io.stdout() };
}

async function findings(): Promise<readonly Found[]> {
  const { code, out } = await doctor('--json');
  const { findings: found } = JSON.parse(out) as { findings: readonly Found[] };
  expect(code).toBe(found.length === 0 ? 0 : 1);
  return found;
}

async function record(change: (text: string) => string): Promise<void> {
  const path = join(folder, 'run.json');
  await writeFile(path, change(await readFile(path, 'utf8')));
}

describe('millrace doctor', () => {
  test('finds a damaged index and rebuilds it', async () => {
    const fill = await openLog({ folder: logFolder(folder), mode: 'write' });
    await fill.commit((tx) => {
      for (let i = 0; i < 600; i++)
        tx.append(topics.deadLetters, deadLetter({ key: `m${i % 7}`, place: i }));
    });
    await fill.close();
    const store = new Store(logFolder(folder), 'write');
    const [run] = store.runs('dead-letters');
    await store.write((writes) => writes.putKeys('dead-letters', run!.from, 0, Buffer.alloc(12)));
    await store.close();
    const looked = fakeIo(runs);
    const tapped = ['tap', `${name}.dead-letters`, '--runs', runs, '--key', 'm3', '-o', 'ndjson'];
    expect(await main(tapped, looked)).toBe(0);
    expect(looked.stdout().split('\n').length).toBeGreaterThan(80);
    expect(looked.stderr().join()).toMatch(
      /the index by key is damaged.* doctor --runs \S+ run-\d+ --index/,
    );
    expect(await findings()).toEqual([
      {
        rule: 'index',
        where: 'dead-letters',
        what: expect.stringMatching(/^a page of its index of records \d+ to \d+ was changed$/),
        advice: expect.stringContaining(`millrace doctor ${name} --index`),
      },
    ]);
    expect((await doctor('--index')).out).toMatch(/ is sound/);
    const again = fakeIo(runs);
    expect(await main(tapped, again)).toBe(0);
    expect(again.stdout()).toBe(looked.stdout());
    expect(again.stderr()).toEqual([]);
  });

  test('says which process has the log open whose index it should rebuild', async () => {
    const held = await openLog({ folder: logFolder(folder), mode: 'write' });
    const io = fakeIo(runs);
    expect(await main(['doctor', name, '--runs', runs, '--index'], io)).toBe(1);
    expect(io.stderr().join()).toMatch(/LOCKED.*is already writing this log/);
    await held.close();
  });

  test('calls a sound run sound', async () => {
    expect(await findings()).toEqual([]);
    const { code, out } = await doctor();
    expect(code).toBe(0);
    expect(out).toMatch(/run run-\d+ is sound: checked \d+ records and \d weights files/);
  });

  test('uses the singular for one', async () => {
    name = `run-${count++}`;
    const uri = 'weights/000000.safetensors';
    const weights = Buffer.from('weights');
    await mkdir(join(runs, name, 'weights'), { recursive: true });
    await writeFile(join(runs, name, uri), weights);
    await writeRunRecord(join(runs, name), { ...synthetic, status: 'stopped' });
    const log = await openLog({ folder: logFolder(join(runs, name)), mode: 'write' });
    const digest = createHash('sha256').update(weights).digest('hex');
    await log.commit((tx) => {
      tx.append(topics.weights, { ...manifest(0, 0), uri, digest });
    });
    await log.close();
    const seen = 'checked 1 record and 1 weights file';
    expect(await doctor()).toEqual({ code: 0, out: `run ${name} is sound: ${seen}\n` });
  });

  test('says that a run was killed, and how to go on', async () => {
    await record((text) => text.replace('"done"', '"running"'));
    const [finding, ...others] = await findings();
    expect(others).toEqual([]);
    expect(finding!.what).toContain('no process is writing its log: it was killed');
    expect(finding!.advice).toBe(
      `resume with: millrace run test/cli/fixtures/tiny.job.ts --run ${name}`,
    );
    const log = await openLog({ folder: logFolder(folder), mode: 'write' });
    expect(await findings()).toEqual([]);
    await log.close();
  });

  test('finds a changed byte in a weights file, and a file that is gone', async () => {
    const files = (await readdir(join(folder, 'weights'))).filter((file) => /^\d+\.saf/.test(file));
    const newest = join(folder, 'weights', files.at(-1)!);
    const bytes = await readFile(newest);
    bytes[3]! ^= 4;
    await writeFile(newest, bytes);
    await rm(join(folder, 'weights', files[0]!));
    const found = await findings();
    expect(found.map(({ rule, where }) => [rule, where])).toEqual([
      ['files', `weights/${files[0]}`],
      ['digest', `weights/${files.at(-1)}`],
    ]);
    const { code, out } = await doctor();
    expect(code).toBe(1);
    expect(out).toContain('the file was changed after it was written\n  → restore the file');
    expect(out).toContain('2 findings');
  });

  test('finds a changed byte in an optimiser state, and a version of other parents', async () => {
    const files = await readdir(join(folder, 'weights'));
    const state = files.filter((file) => file.includes('optimiser')).at(-1)!;
    const bytes = await readFile(join(folder, 'weights', state));
    bytes[0]! ^= 1;
    await writeFile(join(folder, 'weights', state), bytes);
    expect((await findings()).map(({ rule, where }) => [rule, where])).toEqual([
      ['digest', `weights/${state}`],
    ]);

    name = `run-${count++}`;
    await mkdir(join(runs, name));
    await writeRunRecord(join(runs, name), { ...synthetic, status: 'stopped' });
    const log = await openLog({ folder: logFolder(join(runs, name)), mode: 'write' });
    await log.commit((tx) => {
      tx.append(topics.weights, { ...manifest(0, 0), uri: 'service://0' });
      tx.append(topics.weights, { ...manifest(1, 0), uri: 'service://1', parentDigest: 'other' });
    });
    await log.close();
    const strayed = (await findings()).find(({ rule }) => rule === 'lineage');
    expect(strayed).toMatchObject({
      where: 'service://1',
      what: expect.stringMatching(
        /trained from weights with digest other.*version 0 says digest 0/,
      ),
    });
  });

  test('reports that the optimiser states a resumed run needs are missing, but notes the newest alone', async () => {
    const files = await readdir(join(folder, 'weights'));
    const [older, newest] = files.filter((file) => file.includes('optimiser')).slice(-2);
    await rm(join(folder, 'weights', newest!));
    const { code, out } = await doctor();
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(
        /note: the optimiser state of version \d+ is missing.* a resume repeats the steps since version \d+/,
      ),
    ]);
    await rm(join(folder, 'weights', older!));
    expect((await findings()).map(({ what }) => what)).toEqual([
      expect.stringMatching(
        /optimiser state of version \d+, the newest that was saved, is missing/,
      ),
    ]);
  });

  test('reads the records even if run.json is damaged', async () => {
    await record((text) => text.slice(20));
    const { code, out } = await doctor('--json');
    expect(code).toBe(1);
    const { findings: found, records } = JSON.parse(out);
    expect(found).toHaveLength(1);
    expect(found[0].what).toContain('run.json is damaged');
    expect(records).toBeGreaterThan(100);
  });

  test('says that the log was truncated, even with a damaged run.json', async () => {
    const log = join(logFolder(folder), 'log.mdb');
    const bytes = await readFile(log);
    for (const [size, what] of [
      [0, /^its file is empty/],
      [9000, /^its file is cut short: it has 8192 of at least \d+ bytes/],
    ] as const) {
      await writeFile(log, bytes.subarray(0, size));
      expect(await findings()).toEqual([
        {
          rule: 'log',
          where: 'log',
          what: expect.stringMatching(what),
          advice: expect.stringMatching(/^restore log/),
        },
      ]);
    }
    await record((text) => text.slice(20));
    expect((await findings()).map(({ where }) => where)).toEqual(['run.json', 'log']);
  });

  test('checks the replies of text models too', async () => {
    const replies = join(folder, 'replies.mdb');
    const store = openReplies(replies);
    await store.put('key', 'reply');
    await store.close();
    expect(await findings()).toEqual([]);
    await writeFile(replies, (await readFile(replies)).subarray(0, 9000));
    expect(await findings()).toEqual([
      {
        rule: 'replies',
        where: 'replies.mdb',
        what: expect.stringMatching(/cut short/),
        advice: expect.stringMatching(/^restore the file.*or delete it/),
      },
    ]);
  });

  test('says that there is no log', async () => {
    await rm(logFolder(folder), { recursive: true });
    expect((await findings()).map(({ what }) => what)).toEqual([
      expect.stringContaining('there is no log in'),
    ]);
  });

  test('says how a run marked as done can finish what is left', async () => {
    name = `run-${count++}`;
    const fate = { commitsLeft: 40, lastIsWritten: true };
    folder = await tinyRun(runs, name, { fate }, { status: 'done' });
    const found = await findings();
    expect(found.length).toBeGreaterThan(0);
    for (const { rule, what } of found) {
      expect([rule, what]).toEqual(['run-state', expect.stringMatching(/^says done, but stage/)]);
    }
  });
});
