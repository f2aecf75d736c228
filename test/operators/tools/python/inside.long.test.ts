/**
 * The layers behind the gate hold on their own: JavaScript in the sandbox's process finds the host's doors
 * shut, and the same doors open without the layers.
 */
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { kernelWrapper, launch } from '../../../../operators/tools/python/launch.ts';
import { freshFolders } from '../../../support/folder.ts';

const newFolder = freshFolders();
const INSIDE = fileURLToPath(new URL('./inside.mjs', import.meta.url));
/** Doors that need something of the machine to open: names are answered by it, the interface is its own. */
const OPTIONAL = [
  'sees a network interface',
  'loads native code',
  'takes a module from the process',
];

interface Report {
  readonly opened: readonly string[];
  readonly all: readonly string[];
}

async function report({ stdout }: { readonly stdout: Readable }): Promise<Report> {
  return JSON.parse(await text(stdout)) as Report;
}

it('opens no way out to JavaScript inside it', async () => {
  const { opened, all } = await report(launch({ script: INSIDE }));
  const isolated = kernelWrapper().includes('-rn');
  expect(opened.filter((door) => isolated || door !== 'sees a network interface')).toEqual([]);
  expect(all.length).toBeGreaterThan(15);
});

it('would open ways out without its layers', async () => {
  const control = spawn(process.execPath, [INSIDE, 'control', newFolder()], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { opened, all } = await report(control);
  expect(all.filter((door) => !opened.includes(door) && !OPTIONAL.includes(door))).toEqual([]);
});
