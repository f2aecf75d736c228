/**
 * Tool-Light's entropy-guided sampling as published, driven by a script: main chains, then branches from
 * their most uncertain steps. One token is one character here, so a window's length is a place in the text.
 */
import { callInput } from '../../../operators/dialect/calls.ts';
import { countPairs } from '../../../operators/dialect/tags.ts';
import {
  type BranchPoint,
  branchPoints,
  widestWindow,
  windowEntropies,
} from '../../../operators/sampling/entropyGuided.ts';
import { codePoints } from '../../../operators/text/characters.ts';

export interface Step {
  readonly text: string;
  readonly logprobs: readonly (readonly number[])[];
}

export interface EntropyScript {
  readonly maxPython: number;
  readonly maxSearch: number;
  readonly branchPoints: number;
  readonly branchesPerPoint: number;
  /** Chains that run together. */
  readonly batchSize: number;
  readonly generate: (context: string) => Step;
  readonly python: (code: string) => string;
  readonly search: (queries: readonly string[]) => readonly string[];
}

/** A chain as it came out. */
export interface Sampled {
  readonly output: string;
  readonly pythonCalls: number;
  readonly searchCalls: number;
  /** Mean entropy of each step, those copied from the main chain first. */
  readonly entropies: readonly number[];
  /** Step of the main chain that it branches from; null for a main chain. */
  readonly step: number | null;
}

interface Chain extends Sampled {
  readonly prompt: string;
  output: string;
  pythonCalls: number;
  searchCalls: number;
  readonly entropies: number[];
  readonly points: BranchPoint[];
  /** One generation is left: a tool was called beyond its limit. */
  last: boolean;
}

/** The chains of each prompt, the main one first. */
export function sampledChains(prompts: readonly string[], script: EntropyScript): Sampled[][] {
  const mains = prompts.map((prompt) => start(prompt, '', [], null));
  runChains(mains, script);
  const branches = mains.map((main) => branchesOf(main, script));
  runChains(branches.flat(), script);
  return mains.map((main, i) => [main, ...branches[i]!]);
}

/** The branches of a finished main chain, in order of their points. */
function branchesOf(main: Chain, script: EntropyScript): Chain[] {
  return branchPoints(main.points, script.branchPoints).flatMap(({ step, position }) =>
    Array.from({ length: script.branchesPerPoint }, () => {
      const prefix = [...main.output].slice(0, position).join('');
      return start(main.prompt, prefix, main.entropies.slice(0, step), step);
    }),
  );
}

function start(
  prompt: string,
  output: string,
  entropies: readonly number[],
  step: number | null,
): Chain {
  return {
    prompt,
    output,
    pythonCalls: countPairs(output, 'python'),
    searchCalls: countPairs(output, 'search'),
    entropies: [...entropies],
    points: [],
    step,
    last: false,
  };
}

/** Runs chains to their ends, a bounded number at a time. */
function runChains(chains: readonly Chain[], script: EntropyScript): void {
  for (let from = 0; from < chains.length; from += script.batchSize) {
    let active = chains.slice(from, from + script.batchSize);
    while (active.length > 0) active = advance(active, script);
  }
}

function advance(active: readonly Chain[], script: EntropyScript): Chain[] {
  const searches: { readonly chain: Chain; readonly query: string }[] = [];
  const goesOn = active.map((chain) => {
    const step = script.generate(chain.prompt + chain.output);
    record(chain, step);
    if (chain.last || step.text === '') return false;
    if (step.text.includes('</python>')) {
      if (chain.pythonCalls >= script.maxPython) chain.last = true;
      else {
        chain.pythonCalls++;
        chain.output += resultBlock(script.python(callInput(step.text, 'python')));
      }
      return true;
    }
    if (!step.text.includes('</search>')) return false;
    if (chain.searchCalls >= script.maxSearch) chain.last = true;
    else {
      chain.searchCalls++;
      const query = chain.step === null ? callInput(step.text, 'search') : step.text;
      searches.push({ chain, query });
    }
    return true;
  });
  if (searches.length > 0) {
    const found = script.search(searches.map(({ query }) => query));
    searches.forEach(({ chain }, i) => {
      chain.output += resultBlock(found[i]!);
    });
  }
  return active.filter((_, i) => goesOn[i]);
}

function record(chain: Chain, { text, logprobs }: Step): void {
  const tokens = codePoints(text);
  const { window, entropy, tokens: taken } = widestWindow(windowEntropies(logprobs, tokens));
  const position = codePoints(chain.output) + taken;
  chain.points.push({ step: chain.points.length, position, entropy, window });
  chain.entropies.push(windowEntropies(logprobs, tokens, [0])[0]!.entropy);
  chain.output += text;
}

function resultBlock(text: string): string {
  return `<result>\n${text}\n</result>`;
}
