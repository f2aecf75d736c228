import { describe, expect, test } from '@jest/globals';
import { notEmpty } from '../../../operators/tools/notEmpty.ts';
import { pureTool } from '../../../operators/tools/tool.ts';

const never = new AbortController().signal;

/** A search that gives these outputs, one a call. */
function search(outputs: readonly string[]) {
  let calls = 0;
  const tool = pureTool('search', 'Searches.', () => outputs[calls++] ?? '');
  return { tool, calls: () => calls };
}

describe('a tool that is asked again while its output is empty', () => {
  test('gives the first output that says something', async () => {
    const { tool, calls } = search(['', ' \n', 'found', 'late']);
    const result = await notEmpty(tool, 3).run('q', never);
    expect([result.output, result.ok, calls()]).toEqual(['found', true, 3]);
  });

  test('fails with the released text after its tries', async () => {
    const { tool, calls } = search(['', '', '', 'late']);
    const result = await notEmpty(tool, 3).run('q', never);
    expect(result).toEqual({ output: 'Tool(search) returned empty output.', ok: false });
    expect(calls()).toBe(3);
  });

  test('is left alone with one try', async () => {
    const { tool } = search(['']);
    expect(notEmpty(tool, 1)).toBe(tool);
  });
});
