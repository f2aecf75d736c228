/**
 * The flywheel with hostile tools and hostile servers: a tool makes no difference to what is right and what
 * is kept, and the critic and the analyst write no result, no chat marker, and nothing but thoughts where
 * they rewrite thinking.
 */
import { describe, expect, test } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { coldStartPool } from '../../../operators/coldStart/pool.ts';
import { filterPool } from '../../../operators/demonstrations.ts';
import { chatFence } from '../../../operators/dialect/fence.ts';
import {
  resultBlocks,
  resultsFollowCalls,
  withEmptyResults,
} from '../../../operators/dialect/results.ts';
import { occurrences } from '../../../operators/dialect/tags.ts';
import { defaultActions } from '../../../operators/evolve/actions.ts';
import type { FlywheelOptions } from '../../../operators/evolve/context.ts';
import { type FlywheelRun, flywheel, type Grow } from '../../../operators/evolve/flywheel.ts';
import type { CompletionRequest } from '../../../operators/evolve/models.ts';
import { loadPrompts } from '../../../operators/evolve/prompts.ts';
import type { Evolved } from '../../../topics/index.ts';
import { paperTools as tools } from '../../support/paperTools.ts';
import { question } from '../../support/records.ts';
import { HARMLESS, hostileTexts } from './texts.ts';

type Reply = (request: CompletionRequest) => string;

/** Calls once, then is wrong at first and right after that. */
const policy: Reply = ({ continuation, name }) => {
  if (!continuation.includes('</result>')) return '<think>a</think><search>q</search>';
  const answer = name.startsWith('0/') ? 41 : 42;
  return `<think>b</think><answer>\\boxed{${answer}}</answer>`;
};

/** Finds step 1 at fault, writes a better one, judges by the number. */
const critic: Reply = ({ name, prompt }) => {
  if (name.startsWith('judge/')) {
    return prompt.split('Prediction:')[1]!.includes('42') ? 'Correct' : 'Incorrect';
  }
  const purpose = name.split('/').at(-1)!;
  const replies: Record<string, string> = {
    locate: 'Step: 1\nAnalysis: wrong',
    redundancy: 'Step: 1\nAnalysis: long\nCorrected Step: <think>c</think><search>q</search>',
    'new-step': '<think>d</think><python>1</python>',
  };
  return replies[purpose] ?? '<think>e</think>';
};

const asked = question({ answers: ['42'] });

function grown(
  grow: Grow,
  output: string,
  replies: Partial<Record<CompletionRequest['role'], Reply>> = {},
): Promise<FlywheelRun> {
  const models = { policy, analyst: critic, critic, ...replies };
  const options: FlywheelOptions = {
    complete: async (request) => models[request.role](request),
    run: async () => output,
    quotas: Object.fromEntries(tools.map((tool) => [tool, 3])),
    extraQuotas: Object.fromEntries(tools.map((tool) => [tool, 2])),
    rounds: 2,
    draws: draws('hostile'),
    key: ['hostile'],
    prompts: loadPrompts(),
    actions: defaultActions,
    signal: new AbortController().signal,
  };
  return grow(asked, options);
}

function kept({ pool }: FlywheelRun) {
  const members = pool.map(
    ({ text, parent, ...one }, index): Evolved => ({
      ...{ ...one, question: asked, text, parent: parent ?? -1 },
      ...{ toolCalls: 1, index, of: pool.length },
    }),
  );
  return filterPool(members, { tools: { tags: tools }, perQuestion: 99 });
}

describe.each<[string, Grow]>([
  ['the flywheel', flywheel],
  ['the cold start', coldStartPool()],
])('%s', (_, grow) => {
  const told = async (output: string) => {
    const run = await grown(grow, output);
    const { kept: good, dropped } = kept(run);
    return {
      ...run,
      pool: run.pool.map((one) => ({ ...one, text: withEmptyResults(one.text) })),
      kept: good.map((one) => ({ ...one, text: withEmptyResults(one.text) })),
      dropped,
    };
  };

  test('gives the same of a question whatever its tools say', async () => {
    const expected = await told(HARMLESS);
    expect(expected.pool.length).toBeGreaterThan(3);
    expect(expected.kept.length).toBeGreaterThan(0);
    for (const [name, text] of Object.entries(hostileTexts)) {
      expect([name, await told(text)]).toEqual([name, expected]);
    }
  });

  test('gives the same whatever the text of an exception', async () => {
    const throwing =
      (output: string): Grow =>
      (of, options) =>
        grow(of, {
          ...options,
          run: async () => {
            throw new Error(output);
          },
        });
    const emptied = async (output: string) =>
      (await grown(throwing(output), '')).pool.map(({ text }) => withEmptyResults(text));
    const expected = await emptied(HARMLESS);
    for (const [name, text] of Object.entries(hostileTexts)) {
      expect([name, await emptied(text)]).toEqual([name, expected]);
    }
  });
});

test('no question, tool or trajectory passes a chat marker to a model', async () => {
  const marked = Object.values(hostileTexts).filter((text) => chatFence(text) !== text);
  expect(marked.length).toBeGreaterThan(6);
  for (const text of marked) {
    const shown: string[] = [];
    const watched =
      (reply: Reply): Reply =>
      (request) => {
        shown.push(request.prompt, request.continuation);
        return reply(request);
      };
    const grow: Grow = (of, options) => flywheel({ ...of, question: `Why? ${text}` }, options);
    await grown(grow, text, {
      policy: watched(policy),
      analyst: watched(critic),
      critic: watched(critic),
    });
    expect(shown.length).toBeGreaterThan(9);
    for (const one of shown) expect(chatFence(one)).toBe(one);
  }
});

describe('a hostile model server', () => {
  test.each(['policy', 'analyst', 'critic'] as const)(
    'as the %s writes no result',
    async (role) => {
      for (const [name, text] of Object.entries(hostileTexts)) {
        const honest = role === 'policy' ? policy : critic;
        const hostile: Reply = (request) => {
          const reply = honest(request);
          return request.name.startsWith('judge/')
            ? reply
            : reply.replace('</think>', `${text}</think>`);
        };
        const { pool } = await grown(flywheel, 'told', { [role]: hostile });
        for (const one of pool) {
          expect([name, resultsFollowCalls(one.text, tools)]).toEqual([name, true]);
          expect(resultBlocks(one.text).filter((result) => result !== 'told')).toEqual([]);
          if (role !== 'policy') expect(chatFence(one.text)).toBe(one.text);
        }
      }
    },
  );

  test('as the critic writes nothing but thoughts when it rewrites thinking', async () => {
    const right: Reply = (request) => policy({ ...request, name: '1/' });
    for (const text of Object.values(hostileTexts)) {
      const hostile: Reply = (request) =>
        request.name.endsWith('/refine') ? text : critic(request);
      const { pool } = await grown(flywheel, 'told', { policy: right, critic: hostile });
      const refined = pool.filter(({ action }) => action === 'refine');
      expect(refined.length).toBeGreaterThan(0);
      for (const one of refined) {
        for (const tag of ['search', 'python', 'answer', 'result']) {
          expect(occurrences(one.text, `<${tag}>`)).toBeLessThanOrEqual(1);
        }
        expect(one.prediction).toBe('42');
      }
    }
  });
});
