import { describe, expect, test } from '@jest/globals';
import { callTools } from '../../operators/callTools.ts';
import { growGroup } from '../../operators/rollout/growGroup.ts';
import type { Tool } from '../../operators/tools/tool.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { question } from '../support/records.ts';
import { rolloutOptions } from '../support/rolloutOptions.ts';

interface Spied extends Tool {
  closed: number;
}

const tool = (name: string, run: Tool['run']): Spied => ({
  name,
  about: name,
  concurrencyMax: 2,
  pure: false,
  closed: 0,
  run,
  async close() {
    this.closed++;
  },
});
const echo = tool('search', async (input) => ({ output: `found ${input}`, ok: true }));
const broken = tool('python', async () => {
  throw new Error('no interpreter');
});
const options = { clock: manualClock() };
const never = new AbortController().signal;

describe('callTools', () => {
  test('knows its tools in order', () => {
    expect(callTools([broken, echo], options).tags).toEqual(['python', 'search']);
  });

  test('returns results as data, even of failed calls and unknown tools', async () => {
    const tools = callTools([broken, echo], options);
    expect(await tools.call('search', 'one', never)).toEqual({
      output: 'found one',
      ok: true,
      attempts: 1,
      cached: false,
      ms: 0,
    });
    expect(await tools.call('python', '1', never)).toMatchObject({ ok: false, attempts: 1 });
    expect(await tools.call('nothing', '1', never)).toMatchObject({ ok: false, attempts: 0 });
  });

  test('makes a record of each call of a rollout, and the policy reads why one failed', async () => {
    const script = ({ context }: { readonly context: string }): string =>
      context.includes('</result>') ? '<think>So</think><|end|>' : '<python>1</python>';
    const made = rolloutOptions(script, {
      tools: callTools([broken, echo], options),
      samples: () => 1,
    });
    const { rollouts, toolCalls } = await growGroup(question(), made, never);
    expect(toolCalls).toMatchObject([{ tool: 'python', input: '1', ok: false, attempts: 1 }]);
    expect(rollouts[0]!.text).toContain('no interpreter');
    expect(rollouts[0]).toMatchObject({ status: 'done', toolCalls: 1 });
  });

  test('closes its tools', async () => {
    const one = tool('search', echo.run);
    await callTools([one], options).close();
    expect(one.closed).toBe(1);
  });
});
