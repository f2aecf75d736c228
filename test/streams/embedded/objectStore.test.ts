/** An archive in an object store: what is put there is read back as if it lay in the log. */

import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { lastValueFrom, map, toArray } from 'rxjs';
import { retentionOf } from '../../../cli/retention/retention.ts';
import { ObjectStore } from '../../../streams/archive/objectStore.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Log } from '../../../streams/log.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { allTopics, topics } from '../../../topics/index.ts';
import { type Child, startChild } from '../../support/child.ts';
import { freshFolders } from '../../support/folder.ts';
import { samples } from '../../support/records.ts';

const fresh = freshFolders();
const server = fileURLToPath(new URL('./children/objectServer.ts', import.meta.url));
const TOKEN = 'a-token-of-mine-17';

let child: Child | null = null;
afterEach(async () => {
  delete process.env.MILLRACE_ARCHIVE_TOKEN;
  delete process.env.MILLRACE_HOSTS;
  await child?.kill();
  child = null;
});

async function served(token = ''): Promise<string> {
  child = startChild(server, token);
  return `http://127.0.0.1:${await child.line()}`;
}

async function filled(folder: string, count: number): Promise<Log> {
  const clock = manualClock(1000);
  const log = await openLog({ folder, mode: 'write', clock, topics: allTopics });
  const { full } = samples.scored;
  for (let i = 0; i < count; i++) {
    clock.advance(10);
    const question = { ...full.question, id: `q${i}` };
    await log.commit((tx) => tx.append(topics.scored, { ...full, question }));
  }
  return log;
}

const idsOf = (log: Log): Promise<string[]> =>
  lastValueFrom(
    log.tap(topics.scored, { from: { kind: 'earliest' }, follow: false }).pipe(
      map(({ value }) => value.question.id),
      toArray(),
    ),
  );

const ids = (count: number): string[] => Array.from({ length: count }, (_, i) => `q${i}`);

describe('an archive in an object store', () => {
  test('is written, even if the server is briefly busy, and read by who opens the log later', async () => {
    const at = await served();
    await fetch(`${at}/busy/2`, { method: 'POST' });
    const folder = fresh();
    const log = await filled(folder, 30);
    const archive = `${at}/bucket/run`;
    const moved = await log.retain!({ bytesMax: 0, segmentRecords: 8, archive });
    expect(moved).toEqual({ records: 16, segments: 2 });
    expect(await idsOf(log)).toEqual(ids(30));
    await log.close();
    const reader = await openLog({ folder, mode: 'read' });
    await fetch(`${at}/busy/1`, { method: 'POST' });
    expect(await idsOf(reader)).toEqual(ids(30));
    await reader.close();
    await fetch(`${at}/spoil`, { method: 'POST' });
    const spoilt = await openLog({ folder, mode: 'read' });
    await expect(idsOf(spoilt)).rejects.toMatchObject({
      code: 'ARCHIVED',
      message: expect.stringMatching(/records 0 to 7 of scored.*\/bucket\/run\/scored.*digest/),
    });
    await spoilt.close();
  });

  test('that refuses leaves the records in the log, and is reported without the token', async () => {
    const at = await served(TOKEN);
    const log = await filled(fresh(), 30);
    const retention = { bytesMax: 0, segmentRecords: 8, archive: `${at}/bucket` };
    process.env.MILLRACE_ARCHIVE_TOKEN = 'another-token-18';
    // Whatever the record of a run says: a token goes to hosts that the user has named, and to no other.
    const held = await log.retain!(retention).catch((error: Error) => error.message);
    expect(held).toMatch(
      /credentials from the environment go only to hosts that you name; set MILLRACE_HOSTS=127\.0\.0\.1:/,
    );
    process.env.MILLRACE_HOSTS = new URL(at).host;
    const failed = await log.retain!(retention).catch((error: Error) => error.message);
    expect(failed).toMatch(/^PUT http.* was refused with status 403 \(not with .*secret/);
    expect(failed).not.toContain('another-token-18');
    expect(await idsOf(log)).toEqual(ids(30));
    process.env.MILLRACE_ARCHIVE_TOKEN = TOKEN;
    expect(await log.retain!(retention)).toMatchObject({ segments: 2 });
    await log.close();
  });

  test('has its requests signed if the environment has a key, which is never sent', async () => {
    const at = await served(TOKEN);
    const keys = {
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'a-secret-key-of-mine',
    };
    const unnamed = new ObjectStore({ ...keys, MILLRACE_HOSTS: 'other.test,127.0.0.1:1' });
    const plain = await unnamed.get(`${at}/one`, 10).catch((error: Error) => error.message);
    expect(plain).not.toContain('AKIDEXAMPLE');
    const hosts = { MILLRACE_HOSTS: '127.0.0.1' };
    const store = new ObjectStore({ ...keys, ...hosts, AWS_REGION: 'eu-central-1' });
    const said = await store.get(`${at}/one`, 10).catch((error: Error) => error.message);
    expect(said).toMatch(
      /AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/s3\/aws4_request/,
    );
    expect(said).not.toContain('a-secret-key');
  });

  test('may not have a login or a query in its address, and nothing of it is repeated', () => {
    for (const address of ['https://ada:pa55word-9@host/b', 'https://host/b?sig=pa55word-9']) {
      expect(() => retentionOf({ keepLog: '1GB', archive: address }, '/')).toThrow(
        expect.objectContaining({
          code: 'USAGE',
          message: expect.not.stringContaining('pa55word'),
        }),
      );
    }
    expect(retentionOf({ keepLog: '1GB', archive: 'https://host/b/run/' }, '/')).toEqual({
      bytesMax: 1e9,
      archive: 'https://host/b/run',
    });
  });
});
