import { describe, expect, test } from '@jest/globals';
import type { CallTool } from '../../../operators/callTools.ts';
import { growGroup } from '../../../operators/rollout/growGroup.ts';
import type { Helping } from '../../../operators/rollout/helping.ts';
import { arpo } from '../../../operators/sampling/arpo.ts';
import type { ScriptLine } from '../../../testing/scriptedPolicy.ts';
import type { ToolCall } from '../../../topics/index.ts';
import { question } from '../../support/records.ts';
import { expectSound, rolloutOptions } from '../../support/rolloutOptions.ts';
import { tinyDialect } from '../../support/tinyWords.ts';

const ask = question({ id: 'q', question: 'What is 1 + 1?' });
const noOne: Helping = { debugger: false, backTracer: 'off', refineFrom: null };
const answer = '<think>So</think><answer>\\boxed{2}</answer><|end|>';

/** Python fails on programs with a 7; the helpers answer as given. */
function world(helpers: Readonly<Record<string, (input: string) => string>> = {}) {
  const calls: string[] = [];
  const tools: CallTool = {
    tags: ['search', 'python'],
    async call(tool, input) {
      calls.push(tool);
      const ok = tool !== 'python' || !input.includes('7');
      const said = helpers[tool]?.(input) ?? (ok ? '2' : 'one');
      const isGiven = !(tool in helpers) || said !== '';
      return { output: said, ok: ok && isGiven, attempts: 1, cached: false, ms: 0 };
    },
    close: async () => undefined,
  };
  return { calls, tools };
}

/** Answers from these records alone: another call fails the test. */
function recorded(toolCalls: readonly ToolCall[]): CallTool {
  return {
    tags: ['search', 'python'],
    async call(tool, input, _signal, origin) {
      const found = toolCalls.find(
        (one) => one.rolloutId === origin?.rolloutId && one.turn === origin.turn,
      );
      if (found?.tool !== tool || found.input !== input)
        throw new Error(`${tool}(${input}) is not in the record`);
      const { output, ok, attempts, cached, ms } = found;
      return { output, ok, attempts, cached, ms };
    },
    close: async () => undefined,
  };
}

async function grown(
  script: (line: ScriptLine) => string,
  helping: Helping,
  helpers: Readonly<Record<string, (input: string) => string>> = {},
) {
  const { calls, tools } = world(helpers);
  const dialect = tinyDialect();
  const options = () => rolloutOptions(script, { helping, samples: () => 1, tools, dialect });
  const { signal } = new AbortController();
  const { rollouts, toolCalls } = await growGroup(ask, options(), signal);
  const [rollout] = rollouts;
  expectSound(rollout!, 200);
  const again = await growGroup(ask, { ...options(), tools: recorded(toolCalls) }, signal);
  expect(again).toEqual({ rollouts, toolCalls });
  const records = toolCalls.map(({ turn, tool, ok }) => [turn, tool, ok]);
  return { rollout: rollout!, toolCalls, records, calls };
}

describe('the debugger', () => {
  const script = ({ context }: ScriptLine) =>
    context.includes('</result>') ? answer : '<think>I</think><python>7</python>';
  const helping = { ...noOne, debugger: true };

  test('mends a program that failed, and the policy reads what the mended one gives', async () => {
    const debug = {
      debugger: (input: string) => String(JSON.parse(input).code === '7' ? '1+1' : ''),
    };
    const { rollout, records, toolCalls } = await grown(script, helping, debug);
    expect(rollout.text).toContain('<python>7</python> <result>\n2\n</result>');
    expect(rollout.toolCalls).toBe(1);
    expect(records).toEqual([
      [0, 'python', false],
      [1, 'debugger', true],
      [2, 'python', true],
    ]);
    expect(toolCalls[2]!.input).toBe('1+1');
    expect(JSON.parse(toolCalls[1]!.input)).toEqual({
      id: 'q/explore-0/0#1',
      code: '7',
      error: 'one',
    });
    expect(rollout.segments.map(({ kind, tool }) => [kind, tool])).toEqual([
      ['policy', 'python'],
      ['tool', 'python,debugger,python'],
      ['policy', null],
    ]);
  });

  test('has one try a rollout; a program that still fails shows its own error', async () => {
    const twice = ({ context }: ScriptLine) =>
      context.split('</result>').length > 2 ? answer : '<python>7</python>';
    const stuck = { debugger: () => '7+7' };
    const { records, rollout } = await grown(twice, helping, stuck);
    expect(records.map(([, tool]) => tool)).toEqual(['python', 'debugger', 'python', 'python']);
    expect(rollout.finish).toBe('answer');
  });

  test('that says nothing leaves the error as it was', async () => {
    const { records, rollout } = await grown(script, helping, { debugger: () => '' });
    expect(records).toEqual([
      [0, 'python', false],
      [1, 'debugger', false],
    ]);
    expect(rollout.text).toContain('<result>\none\n</result>');
  });

  test('is not asked about a search that failed, nor where no one helps', async () => {
    const failing = world();
    const { signal } = new AbortController();
    const options = rolloutOptions(script, {
      samples: () => 1,
      ...failing,
      dialect: tinyDialect(),
    });
    const { toolCalls } = await growGroup(ask, options, signal);
    expect(toolCalls.map(({ tool }) => tool)).toEqual(['python']);
    const searching = { ...failing.tools, call: async () => ({ ...failedCall }) };
    const searches = ({ context }: ScriptLine) =>
      context.includes('</result>') ? answer : '<search>one</search>';
    const asked = rolloutOptions(searches, { helping, samples: () => 1, dialect: tinyDialect() });
    const group = await growGroup(ask, { ...asked, tools: searching }, signal);
    expect(group.toolCalls.map(({ tool }) => tool)).toEqual(['search']);
  });
});

const failedCall = { output: 'one', ok: false, attempts: 1, cached: false, ms: 0 };

describe('the back-tracer', () => {
  /** Fails until it is asked by other draws. */
  const script = ({ context, request }: ScriptLine) => {
    if (context.includes('</result>')) return answer;
    if (request.draws.at(-1) === 'again') return 'So</think><python>1+1</python>';
    return '<think>I look. So it is</think><python>7</python>';
  };

  test('takes a failed program back to the sentence before, by other draws, once', async () => {
    const { rollout, records, toolCalls } = await grown(script, {
      ...noOne,
      backTracer: 'sentence',
    });
    expect(rollout.text).toBe(
      `<think>I look. So</think><python>1+1</python> <result>\n2\n</result>${answer.replace('<|end|>', '')}`,
    );
    expect(records).toEqual([
      [0, 'python', false],
      [1, 'back-tracer', true],
      [2, 'python', true],
    ]);
    expect(toolCalls[1]).toMatchObject({
      input: 'So it is</think><python>7</python>',
      attempts: 0,
    });
    expect(rollout.segments.map(({ kind, tool }) => [kind, tool])).toEqual([
      ['policy', null],
      ['policy', 'python'],
      ['tool', 'python,back-tracer,python'],
      ['policy', null],
    ]);
    expect(rollout.toolCalls).toBe(2);
  });

  test('never goes back before the last result', async () => {
    const late = (line: ScriptLine) => {
      const results = line.context.split('</result>').length - 1;
      if (results > 1) return answer;
      if (results === 0) return '<think>I. So</think><search>one</search>';
      return line.request.draws.at(-1) === 'again' ? answer : '<python>7</python>';
    };
    const { rollout } = await grown(late, { ...noOne, backTracer: 'line' });
    expect(rollout.text).toBe(
      `<think>I. So</think><search>one</search> <result>\n2\n</result>${answer.replace('<|end|>', '')}`,
    );
  });

  test('comes after the debugger, where that has been asked before', async () => {
    const twice = (line: ScriptLine) => {
      const results = line.context.split('</result>').length - 1;
      if (results === 0) return '<python>7</python>';
      return line.request.draws.at(-1) === 'again'
        ? answer
        : '<think>So. I</think><python>7</python>';
    };
    const both = { debugger: true, backTracer: 'sentence', refineFrom: null } as const;
    const { records } = await grown(twice, both, { debugger: () => '7' });
    expect(records.map(([, tool]) => tool)).toEqual([
      ...['python', 'debugger', 'python'],
      ...['python', 'back-tracer'],
    ]);
  });
});

describe('the refiner', () => {
  const script = ({ context }: ScriptLine) =>
    context.includes('two')
      ? answer
      : `<think>${'I look it up. '.repeat(8)}</think><search>one</search>`;
  const helping = { ...noOne, refineFrom: 20 };

  test('rewrites a long response as one thought, which is not trained on', async () => {
    const { rollout, records, toolCalls } = await grown(script, helping, {
      refiner: () => '<answer>two</answer>',
    });
    expect(rollout.text).toBe(
      `<think>< answer>two< /answer></think>${answer.replace('<|end|>', '')}`,
    );
    expect(records).toEqual([
      [0, 'search', true],
      [1, 'refiner', true],
    ]);
    const request = JSON.parse(toolCalls[1]!.input);
    expect(request).toMatchObject({ id: 'q/explore-0/0#1', question: ask.question });
    expect(request.chain).toContain('<search>one</search> <result>\n2\n</result>');
    expect(rollout.segments.map(({ kind, tool }) => [kind, tool])).toEqual([
      ['tool', 'search,refiner'],
      ['policy', null],
    ]);
  });

  test('leaves a response that is short, or would not become shorter', async () => {
    const twoCalls = ({ context }: ScriptLine) =>
      context.includes('</result>') ? answer : '<search>one</search>';
    const late = await grown(twoCalls, { ...noOne, refineFrom: 1000 });
    expect(late.records).toEqual([[0, 'search', true]]);
    const long = { refiner: () => 'two '.repeat(60) };
    const same = await grown(twoCalls, { ...noOne, refineFrom: 1 }, long);
    expect(same.records.map(([, tool]) => tool)).toEqual(['search', 'refiner']);
    expect(same.rollout.text).toContain('<search>one</search>');
  });
});

test('what branches share is not taken back', async () => {
  const { signal } = new AbortController();
  const branching = arpo({
    initialRollouts: 1,
    beamSize: 2,
    branchProbability: 0.5,
    entropyWeight: 0.2,
  });
  for (const helping of [
    { ...noOne, backTracer: 'line' as const },
    { ...noOne, refineFrom: 1 },
  ]) {
    const options = rolloutOptions(() => answer, { helping, branching });
    await expect(growGroup(ask, options, signal)).rejects.toThrow(
      /only with branching=none, because branches share what would be undone/,
    );
  }
  const mended = rolloutOptions(() => answer, { helping: { ...noOne, debugger: true }, branching });
  expect((await growGroup(ask, mended, signal)).rollouts).toHaveLength(2);
});
