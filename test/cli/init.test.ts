/** `millrace init`: what it writes, from flags or from answers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { readSettingsFile } from '../../cli/settingsFile.ts';
import { etAgentJob } from '../../jobs/ready/etAgent.ts';
import { temporaryFolder } from '../support/folder.ts';
import { fakeIo } from './support/fakeIo.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

async function init(args: readonly string[], answers?: readonly string[]) {
  const io = fakeIo(folder.path);
  const asked: string[] = [];
  const left = [...(answers ?? [])];
  const ask = async (question: string) => {
    asked.push(question);
    return left.shift() ?? '';
  };
  const code = await main(['init', ...args], answers === undefined ? io : { ...io, ask });
  return { code, asked, err: io.stderr().join('\n') };
}

const settingsIn = (name: string) =>
  readSettingsFile(join(name, 'settings.yaml'), etAgentJob.settings, folder.path);
const textOf = (name: string) => readFileSync(join(folder.path, name, 'settings.yaml'), 'utf8');

describe('millrace init', () => {
  test('writes a screen of settings, which set nothing but what was given', async () => {
    const { code, err } = await init([
      'et-agent',
      'flags',
      '--policy',
      'models/q',
      '--tools',
      'python',
    ]);
    expect([code, err]).toEqual([0, expect.stringContaining('--set questions=FILE')]);
    expect(err).not.toContain('--set policy');
    const lines = textOf('flags').trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(14);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(110);
    expect((await settingsIn('flags')).map(({ key }) => key)).toEqual(['policy', 'tools']);
  });

  test('asks on a terminal for what no flag says; an empty answer leaves it open', async () => {
    const { asked } = await init(['et-agent', 'asked', '--tools', 'search'], ['my: policy', '']);
    expect(asked).toEqual([
      expect.stringMatching(/^Policy to train/),
      expect.stringMatching(/^Questions/),
    ]);
    const given = await settingsIn('asked');
    expect(given.map(({ key, value }) => [key, value])).toEqual([
      ['policy', 'my: policy'],
      ['tools', 'search'],
    ]);
  });

  test('overwrites nothing', async () => {
    expect((await init(['et-agent', 'flags'])).err).toContain('already exists');
  });
});
