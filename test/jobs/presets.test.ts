/**
 * Presets: every number of one is a setting of its job, and takes effect; and the papers' numbers that matter
 * most.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { readyJobs } from '../../cli/readyJobs.ts';
import type { Settings } from '../../cli/settingFields.ts';
import { checkSettings, settingsOf } from '../../cli/settings.ts';
import { policyLossOf } from '../../jobs/lossSettings.ts';
import { presetNumbers } from './presetNumbers.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const presets = readyJobs.flatMap(({ job }) =>
  Object.entries(job?.presets ?? {}).map(([name, preset]) => ({ name, job: job!, preset })),
);

function settingsOfPreset(name: string): Settings {
  const { job, preset } = presets.find((one) => one.name === name)!;
  const files = job.name === 'sft' ? { data: 'd.jsonl' } : { questions: 'q.jsonl' };
  const given = settingsOf(job.settings, { ...preset.settings, ...files }, () => name);
  return checkSettings(job.settings, given);
}

/** Numbers and lists of numbers of a tree, each with its path. */
function numbersIn(tree: unknown, path = ''): [string, unknown][] {
  if (typeof tree === 'number' || (Array.isArray(tree) && typeof tree[0] === 'number'))
    return [[path, tree]];
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return [];
  return Object.entries(tree).flatMap(([key, value]) =>
    numbersIn(value, path === '' ? key : `${path}.${key}`),
  );
}

describe('a preset', () => {
  test.each(presets.map(({ name }) => name))('%s sets settings that its job has', (name) => {
    const settings = settingsOfPreset(name);
    const { preset } = presets.find((one) => one.name === name)!;
    expect(settings).toMatchObject(preset.settings);
    if ('loss' in settings) expect(policyLossOf(settings as never).name).toBe('clipped');
  });

  test.each(presets.map(({ name }) => name))('%s trains in whole optimiser steps', (name) => {
    const { batchGroups, miniBatches } = settingsOfPreset(name);
    if (typeof batchGroups !== 'number') return;
    expect(batchGroups % (miniBatches as number)).toBe(0);
  });

  test.each(presets)('$name has the numbers of the notes, and only those', ({ name, preset }) => {
    const expected = Object.entries(presetNumbers[name]!).map(([path, [value]]) => [path, value]);
    expect(Object.fromEntries(numbersIn(preset.settings))).toEqual(Object.fromEntries(expected));
  });

  test.each<[string, readonly [number, number, number, number, number, number]]>([
    // groups, optimiser steps a batch, n, N, prompt, response
    ['et-agent-7b', [64, 16, 16, 8, 2000, 4096]],
    ['arpo-7b', [128, 8, 16, 8, 1536, 4096]],
    ['arpo-8b', [128, 8, 16, 8, 2000, 10_000]],
    ['arpo-14b', [64, 8, 12, 6, 2000, 6192]],
    ['aepo-7b', [128, 8, 16, 8, 1536, 4096]],
    ['aepo-14b', [64, 8, 12, 6, 2000, 6192]],
  ])('%s has the sizes of its script', (name, sizes) => {
    const { batchGroups, miniBatches, rollouts, initialRollouts, promptMax, responseMax, ...rest } =
      settingsOfPreset(name);
    expect([batchGroups, miniBatches, rollouts, initialRollouts, promptMax, responseMax]).toEqual(
      sizes,
    );
    expect(rest).toMatchObject({ lr: 1e-6, beamSize: 2, entropyWeight: 0.2, clipC: 3 });
  });
});

describe('the source of a ready job', () => {
  const sources = readdirSync(join(ROOT, 'jobs/ready')).filter(
    (file) => !['all.ts', 'index.ts', 'jobs.ts'].includes(file),
  );

  test.each(sources)('%s imports zod and the names of millrace/jobs alone', (file) => {
    const text = readFileSync(join(ROOT, 'jobs/ready', file), 'utf8');
    const imported = [...text.matchAll(/from '([^']+)'/g)].map(([, from]) => from);
    expect(imported.filter((from) => !['zod', '../../api/jobs.ts'].includes(from!))).toEqual([]);
    expect(readyJobs.map(({ source }) => source)).toContain(`jobs/ready/${file}`);
  });
});
