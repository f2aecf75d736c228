import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { loadPrompts } from '../../../operators/evolve/prompts.ts';
import { temporaryFolder } from '../../support/folder.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

async function own(name: string, text: string): Promise<string> {
  const place = join(folder.path, String((await readdir(folder.path)).length));
  await mkdir(place);
  await writeFile(join(place, name), text);
  return place;
}

describe('prompts', () => {
  test('are filled in, and take no placeholder from what fills them', () => {
    const { locate } = loadPrompts();
    const text = locate({ question: 'Who is {{steps}}?', steps: '#### Step 1: $& <think>' });
    expect(text).toContain('Question:\nWho is {{steps}}?\n');
    expect(text).toContain('#### Step 1: $& <think>\n');
  });

  test('in a folder override those of the package one by one', async () => {
    const place = await own('locate.md', 'Where is {{question}} wrong in {{steps}}?\n');
    const prompts = loadPrompts(place);
    expect(prompts.locate({ question: 'q', steps: 's' })).toBe('Where is q wrong in s?');
    const values = { question: 'q', answers: 'a', prediction: 'p' };
    expect(prompts.judge(values)).toBe(loadPrompts().judge(values));
  });

  test('are refused by file and placeholder if one is missing or unknown', async () => {
    const missing = await own('locate.md', 'Where is {{question}} wrong?');
    expect(() => loadPrompts(missing)).toThrow(/locate\.md: missing placeholder \{\{steps\}\}/);
    const unknown = await own('locate.md', '{{question}} {{steps}} {{answr}}');
    expect(() => loadPrompts(unknown)).toThrow(/locate\.md: unknown placeholder \{\{answr\}\}/);
  });

  test('are refused if a file is no prompt, or the folder does not exist', async () => {
    const stray = await own('lokate.md', '{{question}} {{steps}}');
    expect(() => loadPrompts(stray)).toThrow(/lokate\.md is not a prompt/);
    expect(() => loadPrompts(join(stray, 'nowhere'))).toThrow(/nowhere cannot be read/);
  });
});
