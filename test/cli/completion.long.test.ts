/** The scripts of `millrace completion`, in the shells that are installed here. */
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folder.ts';
import { writeSyntheticRun } from './support/syntheticRun.ts';

const main = resolve(fileURLToPath(import.meta.url), '../../../cli/main.ts');
const folder = temporaryFolder();

beforeAll(async () => {
  await writeSyntheticRun({ runs: join(folder.path, 'runs'), name: 'first' });
  const program = join(folder.path, 'millrace');
  const tsx = import.meta.resolve('tsx');
  writeFileSync(
    program,
    `#!/bin/sh\nexec "${process.execPath}" --import "${tsx}" "${main}" "$@"\n`,
  );
  chmodSync(program, 0o755);
});
afterAll(() => folder.remove());

/** Each line that the script prints. */
function inShell(shell: string, ...args: string[]): string[] {
  const env = { ...process.env, HOME: folder.path, PATH: `${folder.path}:${process.env.PATH}` };
  const { stdout, stderr, status } = spawnSync(shell, args, {
    cwd: folder.path,
    env,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.trimEnd().split('\n');
}

const LINES: Readonly<Record<string, (line: string) => string[]>> = {
  bash: (line) =>
    inShell(
      'bash',
      '--norc',
      '-c',
      `compopt() { :; }; eval "$(millrace completion bash)"
       COMP_LINE=$1; COMP_POINT=\${#1}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p millrace`,
      'bash',
      line,
    ).slice(0, -1),
  zsh: (line) =>
    inShell(
      'zsh',
      '-fc',
      `compdef() { : }; eval "$(millrace completion zsh)"
       _describe() { print -rl -- "\${(@P)2}" }; _files() { print files }
       words=("\${(@s: :)1}"); CURRENT=$#words; _millrace`,
      'zsh',
      line,
    ).map((one) => one.split(':')[0]!),
  fish: (line) =>
    inShell(
      'fish',
      '--no-config',
      '-c',
      `millrace completion fish | source; complete -C $argv[1]`,
      line,
    ).map((one) => one.split('\t')[0]!),
};

function isInstalled(shell: string): boolean {
  return spawnSync(shell, ['-c', 'true']).status === 0;
}

describe.each(Object.entries(LINES))('%s', (shell, complete) => {
  const shown = isInstalled(shell) ? test : test.skip;

  shown('completes commands, runs, topics and settings', () => {
    expect(complete('millrace rew')).toEqual(['rewind']);
    expect(complete('millrace report ')).toEqual(['first']);
    expect(complete('millrace tap first.scor')).toEqual(['first.scored']);
    expect(complete('millrace run et-agent --set sampl')).toEqual(['sampler=']);
  });
});

(isInstalled('bash') ? test : test.skip)('bash is given what follows an =, as it asks', () => {
  expect(LINES.bash!('millrace run et-agent --set sampler=p')).toEqual(['pareto']);
});
