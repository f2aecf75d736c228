import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { dialectOf, systemPrompt } from '../../../jobs/dialects/dialectOf.ts';
import { type AskedBefore, chosenPrompt, promptLines } from '../../../jobs/parts/chosenPrompt.ts';
import {
  type KnownPrompt,
  promptIn,
  promptRecord,
  recordedPrompt,
  writePrompt,
} from '../../../jobs/parts/promptRecord.ts';
import { dataPromptLines } from '../../../jobs/sft/dataPrompt.ts';
import { writeByteBpe } from '../../support/byteBpe.ts';
import { hermesTemplate } from '../../support/chatTemplates.ts';
import { freshFolders } from '../../support/folder.ts';

const fresh = freshFolders();
const python = { name: 'python', about: 'Runs a program.' };
const search = { name: 'search', about: 'Looks for documents.' };

/** What a run noted that was asked so. */
async function noted(
  name: 'tags' | 'native',
  tools: readonly (typeof python)[],
  system: string,
): Promise<KnownPrompt> {
  const folder = fresh();
  writeByteBpe(folder, hermesTemplate());
  await writePrompt(folder, promptRecord(await dialectOf({ name, folder, tools, system })));
  return (await recordedPrompt(folder))!;
}

const from = (prompt: KnownPrompt): AskedBefore => ({ prompt, from: 'runs/cold' });
const unset = { dialect: 'auto', system: '' } as const;

describe('the prompt of a job', () => {
  test('is the default one for its dialect and tools if nothing is known of the policy', async () => {
    expect(await chosenPrompt(unset, null, { tools: [python] })).toEqual({
      name: 'tags',
      system: systemPrompt('tags', [python]),
    });
    expect(await chosenPrompt(unset, null, { tools: [], unset: 'none' })).toEqual({
      name: 'tags',
      system: '',
    });
  });

  test('is that of the run the policy comes from, and so is the dialect', async () => {
    const before = from(await noted('native', [python], 'Be brief.'));
    expect(await chosenPrompt(unset, before, { tools: [python] })).toEqual({
      name: 'native',
      system: 'Be brief.',
    });
    const none = from(await noted('tags', [], ''));
    expect(await chosenPrompt(unset, none, { tools: [python] })).toMatchObject({ system: '' });
  });

  test('follows the tools if it was the default one for other tools', async () => {
    const before = from(await noted('tags', [python], systemPrompt('tags', [python])));
    const tools = [python, search];
    const { system } = await chosenPrompt(unset, before, { tools });
    expect(system).toBe(systemPrompt('tags', tools));
  });

  test('is taken from settings before the record of a run', async () => {
    const before = from(await noted('tags', [python], 'Be brief.'));
    const system = join(fresh(), 'system.txt');
    await writeFile(system, ' Be long.\n');
    const chosen = (more: object) =>
      chosenPrompt({ ...unset, ...more }, before, { tools: [python] });
    expect(await chosen({ system })).toEqual({ name: 'tags', system: 'Be long.' });
    expect(await chosen({ system: 'none' })).toMatchObject({ system: '' });
    expect(await chosen({ dialect: 'native', system: 'default' })).toEqual({
      name: 'native',
      system: systemPrompt('native', [python]),
    });
  });
});

describe('the notice of a prompt', () => {
  test('names tools that differ, and those whose descriptions differ', async () => {
    const before = await noted('native', [python], 'Be brief.');
    const lines = async (...tools: (typeof python)[]) =>
      promptLines(from(before), await noted('native', tools, 'Be brief.'));
    expect(await lines(python)).toEqual([
      'using the prompt of runs/cold: dialect native, system prompt "Be brief."',
    ]);
    expect(await lines(python, search)).toContain('  tools: python there; python, search here');
    expect(await lines({ ...python, about: 'Calculates.' })).toContain(
      '  tools: python there; python, with different descriptions here',
    );
  });

  test('shows the first differing line if the chat template differs', async () => {
    const before = await noted('tags', [], '');
    const now = { ...before, prompt: before.prompt!.replace('user', 'human') };
    expect(promptLines(from(before), now)).toEqual([
      expect.stringMatching(/^the policy's prompt differs from that in runs\/cold/),
      '  prompt there: "<|im_start|>user"',
      '  prompt here: "<|im_start|>human"',
    ]);
  });

  test('is absent for a run that goes on unchanged', async () => {
    const before = await noted('tags', [], '');
    expect(promptLines({ prompt: before, from: null }, before)).toEqual([]);
    const now = await noted('tags', [], 'Be\u001b brief.');
    expect(promptLines({ prompt: before, from: null }, now).at(-1)).toBe(
      '  system prompt here: "Be\\u001b brief."',
    );
  });

  test('compares the system prompts of data with that of rollouts', async () => {
    const prompt = await noted('tags', [], 'Be brief.');
    const data = (system: string | null) => ({ asked: { system, functions: '' }, asTheyAre: true });
    expect(dataPromptLines(data('Be brief.\n'), prompt)).toEqual([]);
    expect(dataPromptLines({ asked: null, asTheyAre: true }, prompt)).toEqual([]);
    expect(dataPromptLines(data('Be long.'), prompt)).toEqual([
      expect.stringMatching(/^the data has a different system prompt from the policy/),
      '  system prompt in the data: "Be long."',
      '  system prompt of the policy: "Be brief."',
    ]);
    expect(dataPromptLines(data(null), prompt)).toContain('  in the data: more than one');
  });
});

describe('a run without a record of its prompt', () => {
  async function old(job: string, settings: object): Promise<KnownPrompt | null> {
    const folder = fresh();
    await writeFile(join(folder, 'run.json'), JSON.stringify({ job: { name: job }, settings }));
    return promptIn(folder);
  }
  const unknown = { tools: null, prompt: null };

  test('is read by its settings', async () => {
    const rolled = { promptMax: 9, dialect: 'native', callFaults: 'ends', system: '' };
    expect(await old('arpo', rolled)).toEqual({
      ...{ ...unknown, dialect: 'native', callFaults: 'ends', system: null, usual: true },
    });
    const plain = { ...unknown, dialect: 'tags', usual: false };
    expect(await old('quickstart', {})).toEqual({ ...plain, system: '' });
    const data = { dialect: 'tags', system: '' };
    expect(await old('sft', { ...data, prompt: 'policy' })).toEqual({ ...plain, system: '' });
    expect(await old('sft', { ...data, prompt: 'auto' })).toEqual({ ...plain, system: null });
    expect(await old('deep-agent', { promptMax: 9 })).toMatchObject({ dialect: 'own' });
  });

  test('is asked as its file says, and a missing file is reported', async () => {
    const file = join(fresh(), 'system.txt');
    const gone = (await old('arpo', { promptMax: 9, dialect: 'tags', system: file }))!;
    const tools = [python];
    await expect(chosenPrompt(unset, from(gone), { tools })).rejects.toMatchObject({
      code: 'POLICY',
      message: expect.stringMatching(/^the system prompt of runs\/cold was in .*system\.txt/),
    });
    await writeFile(file, 'Be brief.\n');
    const found = await old('arpo', { promptMax: 9, dialect: 'tags', system: file });
    expect(found).toMatchObject({ system: 'Be brief.', usual: false });
  });

  test('is distinguished from a folder that is not a run, and from an unreadable record', async () => {
    const folder = fresh();
    expect(await promptIn(folder)).toBeNull();
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'millrace-prompt.json'), '{"dialect":');
    await expect(promptIn(folder)).rejects.toMatchObject({ code: 'DAMAGED' });
  });
});
