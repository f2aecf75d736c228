/** A weights receiver as a process of its own, killed while it receives: the transfer goes on where it was. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { sleepClock, systemClock } from '../../../base/index.ts';
import { Receivers } from '../../../model/remote/receivers.ts';
import { type Command, millrace } from '../../support/commandLine.ts';
import { freshFolders } from '../../support/folder.ts';
import { until } from '../../support/until.ts';

const fresh = freshFolders();
const started: Command[] = [];
afterEach(async () => {
  for (const { process, ended } of started.splice(0)) {
    process.kill('SIGKILL');
    await ended;
  }
});

async function receiver(folder: string, port: number): Promise<Command> {
  const args = ['--folder', folder, '--port', `${port}`];
  const command = millrace('weights', 'receive', ...args);
  started.push(command);
  await until(() => command.said.includes('receiving weights'));
  return command;
}

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

test('a receiver that is killed in mid-transfer and started again gets the rest, and keeps what it had', async () => {
  const [folder, port] = [fresh(), await freePort()];
  const from = join(fresh(), 'policy-v1');
  mkdirSync(from);
  const content = Buffer.alloc(200_000_000, 'all the numbers of a policy ');
  writeFileSync(join(from, 'model.safetensors'), content);
  const first = await receiver(folder, port);
  const url = `http://127.0.0.1:${port}`;
  const clock = sleepClock(systemClock);
  const sending = new Receivers({ receivers: [url], servers: [url], clock, awayMaxMs: 240_000 });
  const sent = sending.carry(from, 0, { patient: true });
  const files = join(folder, '.millrace', 'files');
  const part = await until(() => {
    const [name] = readdirSync(files);
    const path = join(files, name ?? '');
    return name !== undefined && statSync(path).size > 20_000_000 ? path : null;
  });
  first.process.kill('SIGKILL');
  await first.ended;
  const { size, ino } = statSync(part);
  expect(part).toMatch(/\.part$/);
  expect(size).toBeLessThan(content.length);
  await receiver(folder, port);
  expect(await sent).toMatchObject({ kind: 'answer', value: join(folder, 'policy-v1') });
  const received = join(folder, 'policy-v1', 'model.safetensors');
  expect(readFileSync(received).equals(content)).toBe(true);
  // The very file that the first process began.
  expect(statSync(received).ino).toBe(ino);
  await sending.close();
});
