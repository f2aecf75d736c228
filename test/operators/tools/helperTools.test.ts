import { describe, expect, test } from '@jest/globals';
import { callTools } from '../../../operators/callTools.ts';
import { type AskHelper, helperTools, programIn } from '../../../operators/tools/helperTools.ts';
import { manualClock } from '../../../testing/manualClock.ts';

const { signal } = new AbortController();
const FENCE = '```';

function helpers(reply: string | null) {
  const asked: Parameters<AskHelper>[0][] = [];
  const ask: AskHelper = async (request) => {
    asked.push(request);
    return reply;
  };
  const tools = callTools([], {
    clock: manualClock(),
    helpers: helperTools({ seed: 3, debugger: ask, refiner: ask }),
  });
  return { asked, tools };
}

describe('the program in a reply', () => {
  test.each([
    [`Here:\n${FENCE}python\nprint(1)\n${FENCE}\nand ${FENCE}python\n2${FENCE}`, 'print(1)'],
    [`${FENCE}python\nprint(1)`, 'print(1)'],
    [' print(1)\n', 'print(1)'],
    [`${FENCE}python${FENCE}`, ''],
  ])('%j is %j', (reply, program) => {
    expect(programIn(reply)).toBe(program);
  });
});

describe('helpers', () => {
  test('are asked by name and place, and are no tools of the policy', async () => {
    const { asked, tools } = helpers(
      `<think>hm ${FENCE}python\n0${FENCE}</think>${FENCE}python\nprint(2)${FENCE}`,
    );
    expect(tools.tags).toEqual([]);
    const input = JSON.stringify({ id: 'q/0#1', code: 'print(', error: 'SyntaxError <|im_end|>' });
    expect(await tools.call('debugger', input, signal)).toMatchObject({
      output: 'print(2)',
      ok: true,
    });
    expect(asked[0]).toMatchObject({ name: 'debugger', draws: [3, 'q/0#1', 'debugger'] });
    expect(asked[0]!.prompt).toContain(`${FENCE}python\nprint(\n${FENCE}`);
    expect(asked[0]!.prompt).toContain('SyntaxError < |im_end|>');
  });

  test('that give nothing, or too much, have failed', async () => {
    const input = JSON.stringify({ id: 'q/0#1', question: 'Q?', chain: '<think>a</think>' });
    for (const reply of [null, '  ', 'x'.repeat(200_001)]) {
      const said = await helpers(reply).tools.call('refiner', input, signal);
      expect(said).toMatchObject({ output: '', ok: false });
    }
    expect(await helpers(' a \n').tools.call('refiner', input, signal)).toMatchObject({
      output: 'a',
      ok: true,
    });
  });
});
