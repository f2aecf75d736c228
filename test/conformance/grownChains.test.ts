/**
 * `growGuided` against Tool-Light's sampling written out a second time, on the vectors and on random scripts.
 */
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import { type EntropyScript, type Step, sampledChains } from './rollouts/entropySampling.ts';
import { grownChains } from './rollouts/grownChains.ts';
import { Departure } from './rollouts/grownGroups.ts';
import { runVectorFile } from './run.ts';
import { subject } from './subject.ts';
import { entropySamplingBy } from './subjects/toolUse.ts';
import { readVectorFile } from './vectors.ts';

const VECTORS = fileURLToPath(new URL('../vectors/tool-light-sampling.json', import.meta.url));

test.each([
  ['growGuided', grownChains],
  ['the method written out', sampledChains],
])('%s gives the published chains', async (_, sample) => {
  const compute = subject((args: Parameters<typeof entropySamplingBy>[1]) =>
    entropySamplingBy(sample, args),
  );
  const { mismatches } = await runVectorFile(await readVectorFile(VECTORS), {
    'tool-light-sampling': compute,
  });
  expect(mismatches).toEqual([]);
});

interface RandomScript extends EntropyScript {
  /** The searches, in order. */
  readonly asked: unknown[];
  readonly replies: Map<string, Step[]>;
}

/**
 * Everything requested depends on the seed alone; with `recorded`, what was not asked there has no
 * reply.
 */
function randomScript(seed: number, recorded?: RandomScript): RandomScript {
  const chance = draws('chains', seed);
  const replies = new Map<string, Step[]>();
  const asked: unknown[] = [];
  return {
    asked,
    replies,
    maxPython: 1 + chance.integer(3, 3),
    maxSearch: 1 + chance.integer(4, 3),
    branchPoints: 1 + chance.integer(0, 3),
    branchesPerPoint: 1 + chance.integer(1, 3),
    batchSize: 1 + chance.integer(2, 5),
    generate: (context) => {
      const before = replies.get(context) ?? [];
      const nth = before.length;
      const step = recorded ? recorded.replies.get(context)?.[nth] : randomStep(seed, context, nth);
      if (step === undefined) throw new Error(`no reply ${nth} for ${JSON.stringify(context)}`);
      replies.set(context, [...before, step]);
      return step;
    },
    python: (code) => `ran ${code}`,
    search: (queries) => {
      asked.push(queries);
      return queries.map((query) => (query.includes('q3') ? '' : `found ${query.length}`));
    },
  };
}

/** Steps shorter than every window, of nothing, and with something after a call. */
function randomStep(seed: number, context: string, nth: number): Step {
  const luck = draws('step', seed, context, nth);
  const words = 'abcdefghij'.repeat(luck.integer(0, 8)).slice(luck.integer(1, 10));
  const tag = ['search', 'python'][luck.integer(2, 5)];
  const end =
    tag === undefined ? '<answer>2</answer>' : `<${tag}> q${luck.integer(3, 5)} </${tag}>`;
  const behind = ['', '', '\n', ' \n', '\n\n'][luck.integer(7, 5)];
  const text = luck.uniform(4) < 0.05 ? '' : `<think>${words}</think>${end}${behind}`;
  const logprobs = Array.from({ length: 1 + luck.integer(5, 40) }, (_, t) =>
    Array.from(
      { length: 1 + luck.integer(100 + t, 4) },
      (_, i) => -3 * luck.uniform(200 + 4 * t + i),
    ),
  );
  return { text, logprobs };
}

test('growGuided gives what the published sampling gives, on random scripts', async () => {
  let grown = 0;
  const departures = new Set<string>();
  for (let seed = 0; seed < 60; seed++) {
    const prompts = ['ab', 'cde', 'f'].slice(0, 1 + (seed % 3));
    const first = randomScript(seed);
    const written = sampledChains(prompts, first).map((own) =>
      own.map(({ output, pythonCalls, searchCalls, entropies, step }) => {
        return { output, pythonCalls, searchCalls, entropies, step };
      }),
    );
    const again = randomScript(seed, first);
    let chains: unknown;
    try {
      chains = await grownChains(prompts, again);
    } catch (error) {
      if (!(error instanceof Departure)) throw error;
      departures.add(error.message);
      continue;
    }
    expect({ seed, chains, asked: again.asked }).toEqual({
      seed,
      chains: written,
      asked: first.asked,
    });
    grown++;
  }
  expect(grown).toBeGreaterThan(12);
  for (const one of ['a step of nothing', 'a whole step']) {
    expect([...departures]).toContain(`a branch behind ${one}`);
  }
}, 600_000);
