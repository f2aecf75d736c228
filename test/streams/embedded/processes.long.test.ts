import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { firstValueFrom, skip, take, toArray } from 'rxjs';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { writerOf } from '../../../streams/embedded/writerLock.ts';
import { topics } from '../../../topics/index.ts';
import { type Child, startChild } from '../../support/child.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { question } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const appender = fileURLToPath(new URL('./children/append.ts', import.meta.url));

let folder = temporaryFolder();
let children: Child[] = [];
beforeEach(() => {
  folder = temporaryFolder();
  children = [];
});
afterEach(async () => {
  for (const child of children) await child.kill();
  folder.remove();
});

async function startAppender(): Promise<Child> {
  const child = startChild(appender, folder.path);
  children.push(child);
  expect(await child.line()).toBe('ready');
  return child;
}

describe('the writer of an embedded log', () => {
  test('is one process, and a second learns which', async () => {
    const child = await startAppender();
    const second = openLog({ folder: folder.path, mode: 'write' });
    await expect(second).rejects.toMatchObject({
      code: 'LOCKED',
      context: { pid: child.process.pid },
    });
  });

  test('is opened once within a process', async () => {
    const log = await openLog({ folder: folder.path, mode: 'write' });
    await expect(openLog({ folder: folder.path, mode: 'write' })).rejects.toMatchObject({
      code: 'LOCKED',
    });
    await log.close();
    await (await openLog({ folder: folder.path, mode: 'write' })).close();
  });

  test('takes the lock over from a dead process', async () => {
    await (await startAppender()).kill();
    const log = await openLog({ folder: folder.path, mode: 'write' });
    await log.close();
  });

  test('takes the lock over when the number of a dead process was reused', async () => {
    await (await openLog({ folder: folder.path, mode: 'write' })).close();
    const lock = join(folder.path, 'writer.lock');
    const log = await openLog({ folder: folder.path, mode: 'write' });
    const mine = JSON.parse(readFileSync(lock, 'utf8')) as { pid: number };
    await log.close();
    writeFileSync(lock, JSON.stringify({ ...mine, pid: process.ppid, started: '1' }));
    await (await openLog({ folder: folder.path, mode: 'write' })).close();
    for (const text of ['{"pid": 12', 'null', '5', '[]', '{"pid":"x"}', '{"pid":1}']) {
      writeFileSync(lock, text); // cut short, or not a lock
      expect(writerOf(folder.path)).toBeUndefined();
      await (await openLog({ folder: folder.path, mode: 'write' })).close();
    }
  });

  const linux = existsSync('/proc/self/stat');
  (linux ? test : test.skip)(
    'takes the lock over from a process that was killed and that has not been reaped',
    async () => {
      // The shell becomes a program that never asks after the child it has started.
      const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600']);
      try {
        const pid = Number(await new Promise((said) => parent.stdout.once('data', said)));
        const stat = (): string[] =>
          readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
        await (await openLog({ folder: folder.path, mode: 'write' })).close();
        const lock = { pid, host: hostname(), started: stat()[19] };
        writeFileSync(join(folder.path, 'writer.lock'), JSON.stringify(lock));
        const opening = openLog({ folder: folder.path, mode: 'write' });
        await expect(opening).rejects.toMatchObject({ code: 'LOCKED' });
        await until(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8') === 'sleep\n');
        process.kill(pid, 'SIGKILL');
        await until(() => stat()[0] === 'Z');
        expect(writerOf(folder.path)).toBeUndefined();
        await (await openLog({ folder: folder.path, mode: 'write' })).close();
      } finally {
        parent.kill('SIGKILL');
      }
    },
  );

  test('does not trust a lock of another host', async () => {
    await (await openLog({ folder: folder.path, mode: 'write' })).close();
    const lock = { pid: 1, host: 'elsewhere', started: '1' };
    writeFileSync(join(folder.path, 'writer.lock'), JSON.stringify(lock));
    const opening = openLog({ folder: folder.path, mode: 'write' });
    await expect(opening).rejects.toThrow(/host elsewhere.*delete/);
  });
});

describe('a reader in another process', () => {
  test('sees a live run and its growth', async () => {
    const child = await startAppender();
    child.process.stdin!.write('3\n');
    await child.line();
    const log = await openLog({ folder: folder.path, mode: 'read', pollMs: 10 });
    const tapped$ = log.tap(topics.questions, { from: { kind: 'earliest' }, follow: true });
    expect(await firstValueFrom(tapped$.pipe(take(3), toArray()))).toHaveLength(3);
    const later = firstValueFrom(tapped$.pipe(skip(5002)));
    child.process.stdin!.write('5000\n');
    expect((await later).value.id).toBe('q5002');
    expect(await log.lag(topics.questions, 'g')).toBe(5003);
    expect((await log.stats())[0]).toMatchObject({ topic: 'questions', records: 5003 });
    await log.close();
  });

  test('cannot commit or read in a group', async () => {
    await startAppender();
    const log = await openLog({ folder: folder.path, mode: 'read' });
    const commit = log.commit((tx) => tx.append(topics.questions, question()));
    await expect(commit).rejects.toMatchObject({ code: 'READ_ONLY' });
    const read = (): unknown => log.read(topics.questions, { group: 'g', inflightMax: 1 });
    expect(read).toThrow(/mode 'write'/);
    await log.close();
  });

  test('learns that there is no log', async () => {
    const opening = openLog({ folder: join(folder.path, 'typo'), mode: 'read' });
    await expect(opening).rejects.toMatchObject({ code: 'NO_LOG' });
  });
});
