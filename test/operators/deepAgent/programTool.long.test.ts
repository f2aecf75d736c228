/** A question's own functions, in the real Python sandbox. */
import { afterAll, expect, test } from '@jest/globals';
import { programTool } from '../../../operators/deepAgent/tools/programTool.ts';
import { pythonTool } from '../../../operators/tools/python/pythonTool.ts';

const python = pythonTool({ timeoutMs: 60_000, outputMax: 20_000 });
afterAll(() => python.close());

const program = `def length(word, times=1):
    if word == "":
        raise ValueError("no word")
    return {"length": len(word) * times, "word": word}`;
const { signal } = new AbortController();
const call = (name: string, given: object) => {
  const doc = { name, description: '', parameters: { type: 'object', properties: {} } as const };
  return programTool(doc, program, python).run(JSON.stringify(given), signal);
};

test('a program’s function answers with JSON, and its errors are answers', async () => {
  const word = 'Ulm "\\n" 🌊';
  const { output, ok } = await call('length', { word, times: 2 });
  expect([ok, JSON.parse(output)]).toEqual([true, { response: { length: 20, word } }]);
  const failed = await call('length', { word: '' });
  expect([failed.ok, JSON.parse(failed.output)]).toEqual([false, { error: 'ValueError: no word' }]);
  const wrong = await call('length', { other: 1 });
  expect([wrong.ok, wrong.output]).toEqual([false, expect.stringContaining('TypeError')]);
  const strange = await call('length("a")', {});
  expect([strange.ok, strange.output]).toEqual([false, expect.stringContaining('is not the name')]);
});
