import { describe, expect, test } from '@jest/globals';
import { type Group, growGroup } from '../../../operators/rollout/growGroup.ts';
import type { RolloutOptions } from '../../../operators/rollout.ts';
import { entropyOnly, meanEntropy } from '../../../operators/sampling/entropyOnly.ts';
import {
  type ScriptedPolicyOptions,
  type ScriptLine,
  scriptedPolicy,
  shuffledTurns,
} from '../../../testing/scriptedPolicy.ts';
import { question } from '../../support/records.ts';
import { expectSound, rolloutOptions } from '../../support/rolloutOptions.ts';
import { tinyWords } from '../../support/tinyWords.ts';

const ask = question({ id: 'q', question: 'What is 1 + 1?' });
const guided = { steps: 2, perStep: 2 };

const long = `<think>${'So it is . '.repeat(5)}</think>`;
const search = (what: string): string => `<think>I look it up</think><search>${what}</search>`;
const answer = (text: string): string =>
  `<think>So</think><answer>\\boxed{${text}}</answer><|end|>`;

/** Results in the context: the number of the step that comes. */
const stepOf = ({ context }: ScriptLine): number => context.split('\n</result>').length - 1;

interface Given {
  readonly script: ScriptedPolicyOptions['script'];
  /** How unsure each token is, by step and place in it. */
  readonly unsure?: (step: number, place: number) => number;
  readonly over?: Partial<Parameters<typeof rolloutOptions>[1]>;
  readonly timing?: number;
}

/** Tokens that share their probability with another are unsure: this much more (nats). */
function topLogProbs(entropy: number): number[] {
  return entropy === 0 ? [0] : [Math.log(0.5), Math.log(0.5)].map((l) => l * Math.min(1, entropy));
}

function optionsOf({ script, unsure = () => 0, over = {}, timing }: Given): RolloutOptions {
  const engine = scriptedPolicy({
    tokenizer: tinyWords,
    script,
    ...(timing === undefined ? {} : { delay: shuffledTurns(timing) }),
  });
  return {
    ...rolloutOptions(script, over),
    samples: () => 10,
    branching: () => guided,
    engine: {
      ...engine,
      async generate(request, signal) {
        const made = await engine.generate(request, signal);
        const context = tinyWords.decode(request.tokens);
        const step = context.split('\n</result>').length - 1;
        return {
          ...made,
          topLogProbs: made.topLogProbs.map((_, i) => topLogProbs(unsure(step, i))),
        };
      },
    },
  };
}

async function grow(given: Given): Promise<Group> {
  const options = optionsOf(given);
  const group = await growGroup(ask, options, new AbortController().signal);
  for (const rollout of group.rollouts) expectSound(rollout, options.responseMax);
  return group;
}

/** Searches twice, then answers with a number of its own. */
function searcher(line: ScriptLine): string {
  const step = stepOf(line);
  if (step < 2) return `${long}${search(step === 0 ? 'one' : 'two')}`;
  return `${long}${answer(String(line.draws.integer(0, 10)))}`;
}

describe('a guided group', () => {
  test('has a main chain and branches after its widest windows, largest first', async () => {
    // Step 2 is unsure at its first 10 tokens, step 1 a little at its first 20, step 0 nowhere.
    const unsure = (step: number, place: number) =>
      step === 2 ? (place < 10 ? 1 : 0) : step === 1 ? (place < 20 ? 0.5 : 0) : 0;
    const { rollouts } = await grow({ script: searcher, unsure });
    const main = rollouts[0]!;
    const starts = main.segments.filter(({ kind }) => kind === 'policy').map(({ start }) => start);
    expect(starts).toHaveLength(3);
    expect(rollouts.map(({ index, parent }) => [index, parent])).toEqual([
      [0, null],
      [1, { index: 0, offset: starts[2]! + 10 }],
      [2, { index: 0, offset: starts[2]! + 10 }],
      [3, { index: 0, offset: starts[1]! + 10 }],
      [4, { index: 0, offset: starts[1]! + 10 }],
    ]);
    for (const { parent, tokens, logProbs, groupSize } of rollouts.slice(1)) {
      const shared = parent!.offset;
      expect([...tokens.subarray(0, shared)]).toEqual([...main.tokens.subarray(0, shared)]);
      expect([...logProbs.subarray(0, shared)]).toEqual([...main.logProbs.subarray(0, shared)]);
      expect(groupSize).toBe(5);
    }
  });

  test('counts shared calls of the main chain towards the limit of a branch', async () => {
    const given = { script: searcher, unsure: (step: number) => (step === 1 ? 1 : 0) };
    const { rollouts, toolCalls } = await grow({ ...given, over: { callLimit: 2 } });
    expect(rollouts.slice(0, 3).map(({ toolCalls: calls }) => calls)).toEqual([2, 2, 2]);
    expect(rollouts.every(({ finish }) => finish === 'answer')).toBe(true);
    // A branch in step 1 makes the second call alone.
    const own = toolCalls.filter(({ rolloutId }) => rolloutId.endsWith('/1'));
    expect(own.map(({ turn, input }) => [turn, input])).toEqual([[1, 'two']]);
    const strict = await grow({ ...given, over: { callLimit: 1 } });
    expect(strict.rollouts[1]!.finish).toBe('callLimit');
  });

  test('makes a call that its branch point cut in two', async () => {
    const script = ({ context, draws }: ScriptLine) => {
      if (context.includes('\n</result>')) return answer('2');
      const opened = context.split('<search>')[1];
      const query = 'one two three one two three one two three';
      // Behind the cut it goes on with the query as far as it was not written yet.
      if (opened !== undefined) return `${query.slice(opened.length)}</search>`;
      return `<search>${query}</search>${draws.uniform(0)}`;
    };
    const { rollouts, toolCalls } = await grow({ script, unsure: (step) => (step === 0 ? 1 : 0) });
    const cut = rollouts[1]!.parent!.offset;
    expect(rollouts[0]!.segments[0]).toMatchObject({ start: 0, tool: 'search' });
    expect(cut).toBe(10);
    expect(new Set(toolCalls.map(({ input }) => input)).size).toBe(1);
    expect(rollouts.map(({ finish }) => finish)).toEqual(rollouts.map(() => 'answer'));
    // Both parts of the step are the policy's, the first without the call.
    expect(rollouts[1]!.segments.slice(0, 2)).toMatchObject([
      { kind: 'policy', start: 0, end: cut, tool: null },
      { kind: 'policy', start: cut, tool: 'search' },
    ]);
  });

  test('samples a step again that is shorter than its window', async () => {
    const script = (line: ScriptLine) => (stepOf(line) === 0 ? search('one') : answer('2'));
    const { rollouts } = await grow({ script, unsure: (step) => (step === 1 ? 1 : 0.5) });
    const [main] = rollouts;
    const last = main!.segments.at(-1)!.start;
    expect(rollouts.map(({ parent }) => parent?.offset)).toEqual([undefined, last, last, 0, 0]);
  });

  test('gives each branch its own draws, tied to positions', async () => {
    const options = optionsOf({ script: searcher, unsure: (step) => (step === 2 ? 1 : 0) });
    const requests: { draws: readonly (string | number)[]; tokens: Int32Array }[] = [];
    const generate: typeof options.engine.generate = (request, signal) => {
      requests.push(request);
      return options.engine.generate(request, signal);
    };
    const engine = { ...options.engine, generate };
    const signal = new AbortController().signal;
    const { rollouts } = await growGroup(ask, { ...options, engine }, signal);
    const branchRequests = requests.slice(3, 5);
    expect(branchRequests.map(({ draws }) => draws)).toEqual([
      [7, 'q', 'explore', 0, 1],
      [7, 'q', 'explore', 0, 2],
    ]);
    const { prompt, parent, tokens } = rollouts[1]!;
    expect([...branchRequests[0]!.tokens]).toEqual([
      ...prompt,
      ...tokens.subarray(0, parent!.offset),
    ]);
    expect(new Set(rollouts.map(({ text }) => text)).size).toBeGreaterThan(2);
  });

  test('is the same whatever finishes first', async () => {
    const unsure = (step: number, place: number) => ((step * 7 + place * 3) % 5) / 5;
    const [first, second] = await Promise.all(
      [1, 2].map((timing) => grow({ script: searcher, unsure, timing })),
    );
    expect(second).toEqual(first);
  });

  test('has at most the chains that are requested, and fewer if the main chain is short', async () => {
    const few = await growGroup(
      ask,
      { ...optionsOf({ script: searcher }), samples: () => 3 },
      new AbortController().signal,
    );
    expect(few.rollouts.map(({ groupSize }) => groupSize)).toEqual([3, 3, 3]);
    const short = await grow({ script: () => answer('2') });
    expect(short.rollouts).toHaveLength(1 + guided.perStep);
  });

  test('has free rollouts before its chains if the question is sampled both ways', async () => {
    const unsure = (step: number) => (step === 1 ? 1 : 0);
    const options = optionsOf({ script: searcher, unsure });
    const both = { ...options, branching: () => ({ ...guided, free: 3 }), samples: () => 7 };
    const { signal } = new AbortController();
    const { rollouts } = await growGroup(ask, both, signal);
    const parents = rollouts.map(({ parent }) => parent?.index ?? null);
    expect(parents).toEqual([null, null, null, null, 3, 3, 3]);
    expect(rollouts.map(({ index, groupSize }) => [index, groupSize])).toEqual(
      [0, 1, 2, 3, 4, 5, 6].map((index) => [index, 7]),
    );
    for (const rollout of rollouts) expectSound(rollout, options.responseMax);
    const measured = rollouts.flatMap(({ segments }) =>
      segments.filter(
        ({ kind, tool, entropy }) => kind === 'policy' && tool !== null && entropy === null,
      ),
    );
    expect(measured).toEqual([]);
    // Each is drawn by its own number: the free ones are those of a group that is free.
    const free = await growGroup(
      ask,
      { ...options, branching: () => entropyOnly, samples: () => 3 },
      signal,
    );
    expect(rollouts.slice(0, 3).map(({ text }) => text)).toEqual(
      free.rollouts.map(({ text }) => text),
    );
  });

  test('asks for 50 log-probs of each token', async () => {
    const options = optionsOf({ script: searcher });
    const asked = new Set<number | undefined>();
    const generate: typeof options.engine.generate = (request, signal) => {
      asked.add(request.logProbsPerToken);
      return options.engine.generate(request, signal);
    };
    const engine = { ...options.engine, generate };
    await growGroup(ask, { ...options, engine }, new AbortController().signal);
    expect([...asked]).toEqual([50]);
  });

  test('is only the failure if its main chain fails at once', async () => {
    const { rollouts } = await grow({
      script: () => {
        throw new Error('the engine is gone');
      },
    });
    expect(rollouts.map(({ status, reason }) => [status, reason])).toEqual([
      ['failed', 'the engine is gone'],
    ]);
  });

  test('measures the entropy of each step, and of a cut one where the branch continues', async () => {
    const unsure = (step: number) => [0.2, 1, 0.6][step]!;
    const { rollouts } = await grow({ script: searcher, unsure });
    const entropies = (i: number) =>
      rollouts[i]!.segments.filter(({ kind }) => kind === 'policy').map(({ entropy }) => entropy);
    const of = [0, 1, 2].map((step) => meanEntropy([topLogProbs(unsure(step))]));
    expect(entropies(0).map((one) => one!.toFixed(9))).toEqual(of.map((one) => one.toFixed(9)));
    const [first, cut, ...rest] = entropies(1);
    expect([first!.toFixed(9), cut]).toEqual([of[0]!.toFixed(9), null]);
    expect(rest.map((one) => one!.toFixed(9))).toEqual(of.slice(1).map((one) => one.toFixed(9)));
  });
});

test('monitored rollouts do not branch, and record the mean entropy of each step', async () => {
  const given = { script: searcher, unsure: (_: number, place: number) => (place < 5 ? 1 : 0) };
  const options = { ...optionsOf(given), samples: () => 3, branching: () => entropyOnly };
  const { rollouts } = await growGroup(ask, options, new AbortController().signal);
  expect(rollouts.map(({ parent, groupSize }) => [parent, groupSize])).toEqual(
    Array(3).fill([null, 3]),
  );
  for (const { segments } of rollouts) {
    for (const { kind, start, end, entropy } of segments) {
      if (kind === 'tool') expect(entropy).toBeNull();
      else expect(entropy).toBeCloseTo((Math.LN2 * 5) / (end - start), 9);
    }
  }
});

describe('a limit of a tool', () => {
  const limited = (over: Partial<RolloutOptions>, script = searcher) =>
    growGroup(
      ask,
      { ...optionsOf({ script }), samples: () => 1, branching: () => null, ...over },
      new AbortController().signal,
    );

  test('lets the policy write once more, without a result, and ends the rollout', async () => {
    const script = ({ context }: ScriptLine) => {
      const searched = context.split('</search>').length - 1;
      return searched < 2 ? search(searched === 0 ? 'one' : 'two') : answer('2');
    };
    const { rollouts, toolCalls } = await limited({ toolLimit: () => 1 }, script);
    const [{ segments, finish, text, toolCalls: made }] = rollouts as [(typeof rollouts)[number]];
    expect(toolCalls.map(({ input }) => input)).toEqual(['one']);
    expect([finish, made]).toEqual(['callLimit', 1]);
    expect(segments.map(({ kind, tool }) => [kind, tool])).toEqual([
      ['policy', 'search'],
      ['tool', 'search'],
      ['policy', 'search'],
      ['policy', null],
    ]);
    expect(text.split('</search>')).toHaveLength(3);
    expect(text).toContain('\\boxed{2}');
    expect(text.split('</result>')).toHaveLength(2);
  });

  test('is that tool’s own', async () => {
    const limits: Record<string, number> = { search: 2, python: 0 };
    const { rollouts } = await limited({ toolLimit: (tool) => limits[tool]! });
    expect(rollouts.map(({ finish, toolCalls }) => [finish, toolCalls])).toEqual([['answer', 2]]);
  });

  test('does not end what the policy writes last at a tag', async () => {
    const script = ({ context }: ScriptLine) =>
      context.includes('</search>') ? `${search('two')}${answer('2')}` : search('one');
    const { rollouts } = await limited({ toolLimit: () => 0 }, script);
    expect(rollouts[0]!.text).toContain('\\boxed{2}');
    expect(rollouts[0]!.toolCalls).toBe(0);
  });
});
