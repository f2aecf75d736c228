/**
 * The law of files that mean harm: whatever is in a file of a megabyte, reading it ends soon, takes less
 * than 300 MB, and where it is refused that is one of our errors with a message of a few lines.
 *
 * "Soon" is seconds; here it is a guard against what never ends, as wide as a machine with other work needs.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type { Ended } from './children/readAll.ts';
import { hostileFiles } from './files.ts';

const GUARD_MS = 30_000;
const MEGABYTES_MAX = 300;
const child = fileURLToPath(new URL('./children/readAll.ts', import.meta.url));

/**
 * How each file of a group ended, as far as the process came before it ended or one took longer than the
 * guard.
 */
async function readAll(group: string): Promise<ReadonlyMap<string, Ended>> {
  const heap = `--max-old-space-size=${MEGABYTES_MAX}`;
  const args = [heap, '--import', 'tsx', child, group];
  const running: ChildProcess = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const found = new Map<string, Ended>();
  // the first line comes after the start of the process
  let guard = setTimeout(() => running.kill('SIGKILL'), 3 * GUARD_MS);
  for await (const line of createInterface({ input: running.stdout! })) {
    clearTimeout(guard);
    guard = setTimeout(() => running.kill('SIGKILL'), GUARD_MS);
    const { name, ...ended } = JSON.parse(line) as Ended & { readonly name: string };
    found.set(name, ended);
  }
  clearTimeout(guard);
  return found;
}

describe.each(Object.keys(hostileFiles))('a hostile file', (group) => {
  test('ends each reader in a sentence, soon and in little memory', async () => {
    const files = hostileFiles[group]!;
    const found = await readAll(group);
    const codes = Object.keys(files).map((name) => [name, found.get(name)?.code ?? 'never ends']);
    expect(codes).toEqual(Object.entries(files).map(([name, { code }]) => [name, code]));
    for (const [name, { message, megabytes }] of found) {
      expect([name, message.length < 1_000]).toEqual([name, true]);
      expect([name, megabytes < MEGABYTES_MAX || megabytes]).toEqual([name, true]);
    }
  });
});
