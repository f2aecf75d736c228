/** Runs into a limit of the machine: one sentence with the file and the limit, no stack, exit code 1. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { built, builtMillrace, millrace, ROOT } from '../support/commandLine.ts';
import { freshFolders } from '../support/folder.ts';
import { mounted, noMounts } from '../support/mounted.ts';

const fresh = freshFolders();
const onMounts = noMounts === null ? test : test.skip;
const onLinux = process.platform === 'linux' ? test : test.skip;
const STACK = /\n +at /;
const numbers = ['run', 'test/cli/fixtures/numbers.job.ts', '--quiet', '--run', 'r'];
const small = ['--set', 'rounds=1', '--set', 'explore=4', '--set', 'keep=2', '--set', 'heldOut=2'];

describe('a full disk', () => {
  const full = async (size: string, begin: typeof millrace, ...args: readonly string[]) => {
    const { path, remove } = mounted(`size=${size}`);
    try {
      const { code, err } = await begin(...args, '--runs', path).ended;
      let reason = '';
      try {
        reason = JSON.parse(readFileSync(join(path, 'r', 'run.json'), 'utf8')).reason;
      } catch {
        // there was no room for it
      }
      return { code, err: err.replaceAll(path, 'DISK'), reason: reason.replaceAll(path, 'DISK') };
    } finally {
      remove();
    }
  };

  onMounts('that the log outgrows', async () => {
    const { code, err } = await full('400k', millrace, ...numbers, '--set', 'count=3000');
    expect(code).toBe(1);
    expect(err).toMatch(/DISK\/r\/log\/log\.mdb: the disk is full \(0\.4 MB\); .*\(ENOSPC\)/);
    expect(err).not.toMatch(STACK);
  });

  onMounts('that has no room for a log', async () => {
    const { code, err } = await full('16k', millrace, ...numbers);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^error: DISK\/r\/log\/log\.mdb: the disk is full \(0\.0 MB\); .*\(ENOSPC\)$/m,
    );
    expect(err).not.toMatch(STACK);
  });

  onMounts('that has no room for the weights of a step', async () => {
    const job = ['run', 'examples/fromScratch/job.ts', '--quiet', '--run', 'r', ...small];
    const begin = (...args: readonly string[]) => builtMillrace(ROOT, ...args);
    const { code, err, reason } = await full('11m', begin, ...job);
    const sentence =
      /stage trainer failed: DISK\/r\/weights\/000001\.safetensors: the disk is full \(11\.5 MB\); .*\(ENOSPC\)$/;
    expect([code, err.trim()]).toEqual([1, expect.stringMatching(sentence)]);
    expect(err).not.toMatch(STACK);
    expect(reason).toMatch(sentence);
  });

  onMounts('that the output of a command goes to', async () => {
    const { path, remove } = mounted('size=16k');
    try {
      const runs = fresh();
      await millrace(...numbers, '--set', 'count=500', '--runs', runs).code;
      const command = `"${process.execPath}" "${built()}" tap r.rollouts -o json --runs "${runs}" > "${path}/out"`;
      const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
      expect([status, stderr]).toEqual([
        1,
        expect.stringMatching(/^error: standard output: the disk is full; .*\(ENOSPC\)\n$/),
      ]);
    } finally {
      remove();
    }
  });
});

describe('too many open files', () => {
  const limited = (files: number, ...args: readonly string[]) => {
    const quoted = [process.execPath, ...args].map((each) => `'${each}'`).join(' ');
    return spawnSync('sh', ['-c', `ulimit -n ${files}; exec ${quoted}`], {
      cwd: ROOT,
      encoding: 'utf8',
    });
  };

  onLinux('at the start', () => {
    for (const files of [22, 100, 319]) {
      const { status, stderr } = limited(files, built(), 'run', '--list');
      expect([status, stderr]).toEqual([
        1,
        `error: this process may open only ${files} files and needs 320: raise the limit (ulimit -n 4096) and repeat the command\n`,
      ]);
    }
    expect(limited(320, built(), 'run', '--list').status).toBe(0);
  });

  onLinux('in the middle of a run', () => {
    const job = ['run', 'test/cli/fixtures/hoarder.job.ts', '--quiet', '--runs', fresh()];
    const { status, stderr } = limited(600, '--import', 'tsx', 'cli/main.ts', ...job);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^error.*: this process has reached its limit of open files \(600\); raise .*\(EMFILE\)$/m,
      ),
    ]);
    expect(stderr).not.toMatch(STACK);
  });
});
