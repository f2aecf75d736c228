/**
 * A toolbox: the outcome of one call, whatever the tool does.
 */
import { describe, expect, it } from '@jest/globals';
import { toolbox } from '../../../operators/tools/callTool.ts';
import { type Tool, type ToolResult, toolBroken, toolDown } from '../../../operators/tools/tool.ts';

const signal = new AbortController().signal;

/** A clock that goes on by one millisecond whenever it is asked. */
function tickingClock() {
  let now = 0;
  return { now: () => now++ };
}

interface ScriptedTool extends Tool {
  readonly inputs: string[];
  closed: boolean;
}

/** A tool that answers by a function, and remembers what it was asked. */
function scripted(
  answer: (input: string, call: number) => ToolResult | Promise<ToolResult>,
  more: Partial<Tool> = {},
): ScriptedTool {
  const inputs: string[] = [];
  return {
    name: 'echo',
    about: 'Says it again.',
    concurrencyMax: 8,
    pure: true,
    inputs,
    closed: false,
    async run(input) {
      inputs.push(input);
      return answer(input, inputs.length);
    },
    async close() {
      this.closed = true;
    },
    ...more,
  };
}

const echo = () => scripted((input) => ({ output: `${input}!`, ok: true }));

describe('a call', () => {
  it('gives output, attempts and milliseconds', async () => {
    const box = toolbox([echo()], { clock: tickingClock() });
    expect(await box.call('echo', 'a', signal)).toEqual({
      output: 'a!',
      ok: true,
      attempts: 1,
      cached: false,
      ms: 1,
    });
  });

  it('of an unknown tool gives data that names the known ones', async () => {
    const { output, ok, attempts } = await toolbox([echo()], { clock: tickingClock() }).call(
      'find',
      'a',
      signal,
    );
    expect({ ok, attempts }).toEqual({ ok: false, attempts: 0 });
    expect(output).toBe('There is no tool named find; use one of: echo.');
  });

  it('takes a good result of a pure tool from the cache', async () => {
    const tool = echo();
    const box = toolbox([tool], { clock: tickingClock() });
    await box.call('echo', 'a', signal);
    expect(await box.call('echo', 'a', signal)).toMatchObject({
      output: 'a!',
      ok: true,
      attempts: 0,
      cached: true,
    });
    expect(tool.inputs).toEqual(['a']);
  });

  it('runs a tool that is not pure each time', async () => {
    const tool = scripted((input) => ({ output: input, ok: true }), { pure: false });
    const box = toolbox([tool], { clock: tickingClock() });
    await box.call('echo', 'a', signal);
    expect(await box.call('echo', 'a', signal)).toMatchObject({ cached: false });
    expect(tool.inputs).toEqual(['a', 'a']);
  });

  it('does not keep a failed result', async () => {
    const tool = scripted((_input, call) => ({ output: `${call}`, ok: call > 1 }));
    const box = toolbox([tool], { clock: tickingClock() });
    expect(await box.call('echo', 'a', signal)).toMatchObject({ output: '1', ok: false });
    expect(await box.call('echo', 'a', signal)).toMatchObject({
      output: '2',
      ok: true,
      cached: false,
    });
  });

  it('is recognised by the key of its input', async () => {
    const tool = echo();
    const cacheKey = (_tool: string, input: string) => input.toLowerCase();
    const box = toolbox([tool], { clock: tickingClock(), cacheKey });
    await box.call('echo', 'A', signal);
    expect(await box.call('echo', 'a', signal)).toMatchObject({ output: 'A!', cached: true });
  });

  it('evicts the least recently used result', async () => {
    const tool = echo();
    const box = toolbox([tool], { clock: tickingClock(), cacheEntriesMax: 2 });
    for (const input of ['a', 'b', 'a', 'c', 'a', 'b']) await box.call('echo', input, signal);
    expect(tool.inputs).toEqual(['a', 'b', 'c', 'b']);
  });

  it('keeps the results of two tools apart', async () => {
    const other = scripted((input) => ({ output: `${input}?`, ok: true }), { name: 'ask' });
    const box = toolbox([echo(), other], { clock: tickingClock() });
    await box.call('echo', 'a', signal);
    expect(await box.call('ask', 'a', signal)).toMatchObject({ output: 'a?', cached: false });
  });
});

describe('a tool that throws', () => {
  const thrower = (succeedsAt: number) =>
    scripted((_input, call) => {
      if (call < succeedsAt) throw new Error(`no ${call}`);
      return { output: 'yes', ok: true };
    });

  it('becomes data', async () => {
    const box = toolbox([thrower(9)], { clock: tickingClock() });
    expect(await box.call('echo', 'a', signal)).toMatchObject({
      output: 'Tool(echo) failed: no 1',
      ok: false,
      attempts: 1,
    });
  });

  it('is tried again as often as allowed', async () => {
    const box = toolbox([thrower(3)], { clock: tickingClock(), attemptsMax: 3 });
    expect(await box.call('echo', 'a', signal)).toMatchObject({
      output: 'yes',
      ok: true,
      attempts: 3,
    });
    const short = toolbox([thrower(3)], { clock: tickingClock(), attemptsMax: 2 });
    expect(await short.call('echo', 'a', signal)).toMatchObject({ ok: false, attempts: 2 });
  });
});

describe('an empty output', () => {
  const silent = (speaksAt: number) =>
    scripted((_input, call) => ({ output: call < speaksAt ? '' : 'at last', ok: true }));

  it('is a result by default', async () => {
    const box = toolbox([silent(9)], { clock: tickingClock(), attemptsMax: 3 });
    expect(await box.call('echo', 'a', signal)).toMatchObject({
      output: '',
      ok: true,
      attempts: 1,
    });
  });

  it('is tried again if asked to, and reported if it stays empty', async () => {
    const options = { clock: tickingClock(), attemptsMax: 3, retryEmpty: true };
    expect(await toolbox([silent(2)], options).call('echo', 'a', signal)).toMatchObject({
      output: 'at last',
      ok: true,
      attempts: 2,
    });
    expect(await toolbox([silent(9)], options).call('echo', 'a', signal)).toMatchObject({
      output: 'Tool(echo) returned empty output.',
      ok: false,
      attempts: 3,
    });
  });
});

describe('many calls at once', () => {
  it('run in order of arrival, within the limit of the tool', async () => {
    let running = 0;
    let most = 0;
    const tool = scripted(
      async (input) => {
        most = Math.max(most, ++running);
        await new Promise((wait) => setImmediate(wait));
        running--;
        return { output: input, ok: true };
      },
      { concurrencyMax: 2 },
    );
    const box = toolbox([tool], { clock: tickingClock() });
    const inputs = ['a', 'b', 'c', 'd', 'e'];
    const called = await Promise.all(inputs.map((input) => box.call('echo', input, signal)));
    expect(called.map(({ output }) => output)).toEqual(inputs);
    expect(tool.inputs).toEqual(inputs);
    expect(most).toBe(2);
  });

  it('reject with the reason of their signal, in the queue and before it', async () => {
    let open = (): void => undefined;
    const tool = scripted(
      () =>
        new Promise<ToolResult>((resolve) => {
          open = () => resolve({ output: 'done', ok: true });
        }),
      { concurrencyMax: 1 },
    );
    const box = toolbox([tool], { clock: tickingClock() });
    const controller = new AbortController();
    const first = box.call('echo', 'a', signal);
    const waiting = box.call('echo', 'b', controller.signal);
    controller.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
    await expect(box.call('echo', 'c', controller.signal)).rejects.toThrow('cancelled');
    open();
    expect(await first).toMatchObject({ output: 'done' });
    const next = box.call('echo', 'd', signal);
    await new Promise((wait) => setImmediate(wait));
    open();
    expect(await next).toMatchObject({ output: 'done' });
    expect(tool.inputs).toEqual(['a', 'd']);
  });
});

describe('a toolbox', () => {
  it('refuses two tools with one name', () => {
    expect(() => toolbox([echo(), echo()], { clock: tickingClock() })).toThrow('same name');
  });

  it('refuses fewer than one attempt', () => {
    expect(() => toolbox([echo()], { clock: tickingClock(), attemptsMax: 0 })).toThrow(
      'attemptsMax is 0',
    );
  });

  it('closes its tools', async () => {
    const tool = echo();
    await toolbox([tool], { clock: tickingClock() }).close();
    expect(tool.closed).toBe(true);
  });
});

describe('a tool that is down', () => {
  const goneFor = (times: number) =>
    scripted((input, call) => {
      if (call <= times) throw toolDown('echo', 'nobody is there');
      return { output: input, ok: true };
    });

  it('is called again, which does not count as an attempt', async () => {
    const box = toolbox([goneFor(2)], { clock: tickingClock() });
    expect(await box.call('echo', 'a', signal)).toMatchObject({
      output: 'a',
      ok: true,
      attempts: 1,
    });
  });

  it('is called only once if it is permanently broken', async () => {
    const tool = scripted(() => {
      throw toolBroken('echo', 'it is not there.');
    });
    const box = toolbox([tool], { clock: tickingClock(), attemptsMax: 5 });
    await expect(box.call('echo', 'a', signal)).rejects.toMatchObject({ code: 'TOOL_BROKEN' });
    expect(tool.inputs).toEqual(['a']);
  });

  it('makes the call reject, and nothing is cached', async () => {
    const tool = goneFor(3);
    const box = toolbox([tool], { clock: tickingClock() });
    await expect(box.call('echo', 'a', signal)).rejects.toMatchObject({
      code: 'TOOL_DOWN',
      message: 'the tool echo cannot answer: nobody is there',
    });
    expect(tool.inputs).toEqual(['a', 'a', 'a']);
    expect(await box.call('echo', 'a', signal)).toMatchObject({ output: 'a', cached: false });
  });
});
