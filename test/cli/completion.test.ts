/** What `millrace completion SHELL -- WORDS…` says may come next. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { temporaryFolder } from '../support/folder.ts';
import { fakeIo } from './support/fakeIo.ts';
import { record, writeSyntheticRun } from './support/syntheticRun.ts';

const folder = temporaryFolder();
beforeAll(async () => {
  await writeSyntheticRun({ runs: join(folder.path, 'runs'), name: 'first' });
  const job = { name: 'own', file: join(folder.path, 'own.ts') };
  const settings = { lr: 1, engine: { threads: 2 } };
  await writeSyntheticRun({ runs: join(folder.path, 'elsewhere'), name: 'own' }, { job, settings });
  const ready = { ...record, job: { name: 'et-agent', file: 'et-agent' } };
  await writeSyntheticRun({ runs: join(folder.path, 'elsewhere'), name: 'ready' }, ready);
});
afterAll(() => folder.remove());

async function next(shell: string, ...words: string[]): Promise<string[]> {
  const io = fakeIo(folder.path);
  expect(await main(['completion', shell, '--', ...words], io)).toBe(0);
  return io.stdout().split('\n').slice(0, -1);
}
const following = (...words: string[]): Promise<string[]> => next('bash', ...words);

describe('completion', () => {
  test('begins with the commands, and what they are for where the shell shows it', async () => {
    expect(await following('to')).toEqual(['top', 'topics', 'tools']);
    expect(await following('help', 'rew')).toEqual(['rewind']);
    expect(await next('fish', 'doc')).toEqual([
      'doctor\tCheck a run: its records, weights files and run.json.',
    ]);
    expect(await next('zsh', 'doc')).toEqual([
      'doctor:Check a run: its records, weights files and run.json.',
    ]);
  });

  test('goes on with commands of a command, options, and what an option may be', async () => {
    expect(await following('cache', '')).toEqual(['ls', 'import', 'export', 'prune']);
    expect(await following('cache', 'prune', '--kind', 'p')).toEqual(['page']);
    expect(await following('report', '--')).toEqual(['--runs', '--json', '--no-page', '--help']);
    expect(await following('view', '--be')).toEqual([]);
  });

  test('names the runs of the folder, also for an option', async () => {
    expect(await following('report', '')).toEqual(['first']);
    expect(await following('diff', 'first', 'f')).toEqual(['first']);
    expect((await following('report', '--runs', 'elsewhere', '')).sort()).toEqual(['own', 'ready']);
    expect(await following('run', '--run', '')).toEqual(['first']);
    expect(await following('report', 'first', '')).toEqual([]);
  });

  test('names topics, of a run that is named too', async () => {
    expect(await following('tap', 'sc')).toEqual(['scored']);
    expect(await following('tap', 'fi')).toEqual(['first.']);
    expect(await following('tap', 'scored', 'first.sel')).toEqual(['first.selected']);
  });

  test('names ready jobs, their presets and settings with their values', async () => {
    expect(await following('run', 'et')).toEqual(['et-agent']);
    expect(await following('run', 'et-agent', '--preset', 'et-agent-3')).toEqual(['et-agent-3b']);
    expect(await following('run', 'et-agent', '--set', 'sampl')).toEqual(['sampler=']);
    expect(await following('run', 'et-agent', '--set', 'sampler=p')).toEqual(['sampler=pareto']);
  });

  test('names settings of a run, and for millrace set those alone that may change', async () => {
    const there = ['--runs', 'elsewhere'];
    expect(await following('replay', ...there, 'ready', '--set', 'keep')).toContain('keep=');
    expect(await following('set', ...there, 'ready', 'temp')).toEqual(['temperature=']);
    expect(await following('set', ...there, 'ready', 'policy')).toEqual([]);
    // The job's file is not executed; it is not even there.
    const own = await following('replay', ...there, 'own', '--set', '');
    expect(own).toEqual(['lr=', 'engine.threads=']);
  });

  test('prints a script for each shell, and refuses others', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const io = fakeIo(folder.path);
      expect(await main(['completion', shell], io)).toBe(0);
      expect(io.stdout()).toContain(`completion ${shell} -- `);
    }
    const io = fakeIo(folder.path);
    expect(await main(['completion', 'tcsh'], io)).toBe(2);
    expect(io.stderr().join('\n')).toContain('Allowed choices are bash, zsh, fish.');
  });
});
