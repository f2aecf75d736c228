import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { tokenText } from '../../cli/runTokenizer.ts';
import { formatOf } from '../../cli/tap/formats.ts';
import { record } from './support/syntheticRun.ts';

const stored = (value: unknown) => ({
  topic: 'rollouts',
  position: { partition: 0, offset: 3 },
  key: 'q',
  atMs: 0,
  value,
});
const options = { envelope: null, truncate: 2000, partsBy: null };
const rollout = { id: 'q/0', prompt: Int32Array.from([1, 2, 3]), text: 'so' };

describe('the prompt of a tapped rollout', () => {
  const textOf = async (tokens: Int32Array) => (tokens[0] === 1 ? 'What\n\u001b[31mis it?' : null);
  const shown = (value: unknown, format = 'pretty') =>
    formatOf(format, options)(1, textOf)(stored(value) as never, value);

  test('is shown as text in its place, without raw control characters', async () => {
    const lines = (await shown(rollout)).split('\n');
    expect(lines.slice(1)).toEqual([
      '  id: q/0',
      '  prompt (3 tokens):',
      '    │ What',
      '    │ \\u001b[31mis it?',
      '  text: so',
      '',
    ]);
  });

  test('stays tokens if no tokenizer is known, and for programs', async () => {
    expect(await shown({ ...rollout, prompt: Int32Array.of(9) })).toContain('prompt: Int32[1] 9');
    expect(JSON.parse(await shown(rollout, 'ndjson'))).toMatchObject({ prompt: [1, 2, 3] });
    expect(await shown({ id: 'x' })).not.toContain('prompt');
  });
});

describe('the tokens of a run', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-tokens-'));
  });
  afterEach(() => rm(folder, { recursive: true }));
  const run = () => ({
    name: 'r',
    folder,
    record: { ...record, job: { name: 'j', file: 'j.ts' } },
  });

  test('are decoded by the tokenizer in the folder that its settings name', async () => {
    const base = join(process.cwd(), 'examples/quickstart/base');
    const settings = { base };
    const own = { ...run(), record: { ...run().record, settings } };
    const text = tokenText(own, { cwd: folder } as never);
    expect(await text(Int32Array.of(258))).toBe('<|question|>');
  });

  test('stay tokens if the tokenizer is missing or cannot be read', async () => {
    const io = { cwd: folder } as never;
    expect(await tokenText(run(), io)(Int32Array.of(1))).toBeNull();
    await writeFile(join(folder, 'tokenizer.json'), '{');
    expect(await tokenText(run(), io)(Int32Array.of(1))).toBeNull();
  });
});
