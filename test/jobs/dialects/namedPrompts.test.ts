import { describe, expect, test } from '@jest/globals';
import { namedPrompts } from '../../../jobs/dialects/namedPrompts.ts';
import { chosenPrompt } from '../../../jobs/parts/chosenPrompt.ts';

const tools = [
  { name: 'python', about: 'Runs.' },
  { name: 'search', about: 'Searches.' },
];
const chosen = (prompt: string, more: object = {}, has = tools) =>
  chosenPrompt({ dialect: 'tags', system: '', prompt, ...more }, null, { tools: has });

describe('a named prompt', () => {
  test.each(namedPrompts)('%s asks for the papers’ form', async (name) => {
    const { system } = await chosen(name);
    for (const part of ['<think>', '</think>', '<answer>', '</answer>', '\\boxed{'])
      expect(system).toContain(part);
    const explained = /^(code-search|re-search|code-search-cn)$/.test(name)
      ? ['python', 'search']
      : tools
          .map((tool) => tool.name)
          .filter((tool) => name === tool || (name === 'math' && tool === 'python'));
    for (const { name: tool } of tools)
      expect([tool, system.includes(`</${tool}>`)]).toEqual([tool, explained.includes(tool)]);
    expect(system.includes('</result>')).toBe(explained.length > 0);
  });

  test('needs its tools, its dialect, and to be alone', async () => {
    await expect(chosen('re-search', {}, tools.slice(0, 1))).rejects.toThrow('explains search');
    await expect(chosen('math', { dialect: 'native' })).rejects.toThrow('needs dialect=tags');
    await expect(chosen('math', { system: 'default' })).rejects.toThrow('both set the system');
  });

  test('leaves other settings of that name alone', async () => {
    expect((await chosen('data')).system).toBe((await chosen('')).system);
  });
});
