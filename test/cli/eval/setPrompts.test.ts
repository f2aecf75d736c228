import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { askedBySet, setPrompts } from '../../../cli/eval/setPrompts.ts';
import { main } from '../../../cli/program.ts';
import { dialectOf } from '../../../jobs/dialects/dialectOf.ts';
import { promptRecord, recordedPrompt, writePrompt } from '../../../jobs/parts/promptRecord.ts';
import { writeByteBpe } from '../../support/byteBpe.ts';
import { freshFolders } from '../../support/folder.ts';
import { fakeIo } from '../support/fakeIo.ts';

const fresh = freshFolders();
const python = { name: 'python', about: 'Runs a program.' };
const search = { name: 'search', about: 'Looks for documents.' };
const tools = [python, search];
const settings = { system: '', prompt: '', explained: true } as const;
const asking = { settings, before: null, name: 'tags', tools } as const;
const TEMPLATE = `{%- for message in messages %}{{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}`;
const CHINESE = /^你是一个乐于助人的助手/;

function policy(): string {
  const folder = fresh();
  writeByteBpe(folder, TEMPLATE);
  return folder;
}

describe('xbench', () => {
  test('is asked in Chinese where no prompt is known, and no other set is', () => {
    const found = setPrompts(['gaia', 'xbench'], asking);
    expect(Object.keys(found)).toEqual(['xbench']);
    expect(found.xbench).toMatch(CHINESE);
    expect(setPrompts(['gaia'], asking)).toEqual({});
  });

  test('is asked like the others by a policy whose prompt is known, set or another dialect’s', async () => {
    const folder = policy();
    await writePrompt(
      folder,
      promptRecord(await dialectOf({ name: 'tags', folder, tools, system: 'Be brief.' })),
    );
    const prompt = (await recordedPrompt(folder))!;
    const sets = ['xbench'];
    expect(setPrompts(sets, { ...asking, before: { prompt, from: 'runs/a' } })).toEqual({});
    expect(setPrompts(sets, { ...asking, name: 'native' })).toEqual({});
    expect(setPrompts(sets, { ...asking, tools: [python] })).toEqual({});
    for (const set of [{ system: 'none' }, { prompt: 'base' }, { explained: false }] as const)
      expect(setPrompts(sets, { ...asking, settings: { ...settings, ...set } })).toEqual({});
  });

  test('keeps its prompt beside that of the other sets, also when the evaluation goes on', async () => {
    const folder = policy();
    const { xbench } = setPrompts(['gaia', 'xbench'], asking);
    const made = { name: 'tags', folder, tools } as const;
    const [usual, own] = await Promise.all([
      dialectOf({ ...made, system: 'Be brief.' }),
      dialectOf({ ...made, system: xbench! }),
    ]);
    const questions = [
      { source: 'gaia', question: 'Who?' },
      { source: 'xbench', question: '谁?' },
    ];
    const bySet = new Map([['xbench', { dialect: own, system: xbench! }]]);
    const dialect = askedBySet(usual, bySet, questions);
    const text = (question: string) => dialect.tokenizer.decode(dialect.prompt(question));
    expect(text('Who?')).toContain('Be brief.');
    expect(text('谁?')).toContain(xbench);
    expect(text('谁?')).not.toContain('Be brief.');

    await writePrompt(folder, promptRecord(dialect));
    const prompt = (await recordedPrompt(folder))!;
    expect(prompt.system).toBe('Be brief.');
    const goingOn = { ...asking, before: { prompt, from: null } };
    expect(setPrompts(['gaia', 'xbench'], goingOn)).toEqual({ xbench });
    const another = { ...asking, before: { prompt, from: 'runs/evaluate-1' } };
    expect(setPrompts(['gaia', 'xbench'], another)).toEqual({});
  });
});

describe('millrace eval --show-prompt', () => {
  test('shows the prompt of xbench, says so, and takes another', async () => {
    const cwd = fresh();
    await mkdir(join(cwd, 'tokenizer'));
    writeByteBpe(join(cwd, 'tokenizer'), TEMPLATE);
    const row = (question: string) => `${JSON.stringify({ question, answer: '四' })}\n`;
    await writeFile(join(cwd, 'xbench.jsonl'), row('几?'));
    await writeFile(join(cwd, 'gaia.jsonl'), row('How many?'));
    await writeFile(join(cwd, 'corpus.jsonl'), '{"id":"1","title":"a","text":"b"}\n');
    const shown = async (...args: readonly string[]) => {
      const io = fakeIo(cwd, 5000);
      const server = ['--policy', 'http://127.0.0.1:9', '--model', 'm', '--tokenizer', 'tokenizer'];
      const code = await main(['eval', ...server, '--show-prompt', '--questions', ...args], io);
      expect([code, io.stderr().join('\n')]).toEqual([0, expect.any(String)]);
      return { out: io.stdout(), err: io.stderr().join('\n') };
    };
    const alone = await shown('xbench.jsonl');
    expect(alone.out).toContain('你是一个乐于助人的助手');
    expect(alone.err).toContain('xbench: asked with prompt code-search-cn');
    const mixed = await shown('xbench.jsonl', 'gaia.jsonl');
    expect(mixed.out).not.toContain('你是');
    expect(mixed.err).toContain('xbench: asked with prompt code-search-cn');
    const given = await shown('xbench.jsonl', '--prompt', 'code-search');
    expect(given.out).not.toContain('你是');
    expect(given.err).not.toContain('code-search-cn');
    const without = await shown('xbench.jsonl', '--tools', 'python');
    expect(without.out).not.toContain('你是');
  });
});
