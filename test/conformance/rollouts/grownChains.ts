/**
 * Chains that `growGuided` grows by the script of Tool-Light's sampling: the main chains of all prompts
 * first, then all branches, a bounded number at a time. The same script and result as `sampledChains`, which
 * is the method written out.
 *
 * It gives up with a `Departure` where a script reaches one of these, which `growGuided` does otherwise on
 * purpose (see there, and D-244):
 * - a branch after a whole step: here that step is sampled again, and one of nothing is none.
 * The script decides what a branch's search asks for: the published method asks for the whole text of the
 * step.
 */

import { countPairs } from '../../../operators/dialect/tags.ts';
import type { Group } from '../../../operators/rollout/growGroup.ts';
import type { Rollout } from '../../../topics/index.ts';
import type { EntropyScript, Sampled, Step } from './entropySampling.ts';
import { type Asked, type Called, Departure, grownGroups } from './grownGroups.ts';
import { decode, encode, type Generated } from './scripted.ts';

const TAGS = ['python', 'search'] as const;
/** More than any chain of a script has. */
const MANY = 1_000_000;

export async function grownChains(
  prompts: readonly string[],
  script: EntropyScript,
): Promise<Sampled[][]> {
  const chains = new Chains(script);
  const groups = await grownGroups({
    prompts: prompts.map(encode),
    tags: TAGS,
    attemptsMax: 1,
    retryEmpty: false,
    vocabSize: 1000,
    samples: 1 + script.branchPoints * script.branchesPerPoint,
    responseLength: MANY,
    callLimit: MANY,
    toolLimit: (tool) => (tool === 'python' ? script.maxPython : script.maxSearch),
    resultOpens: '<result>\n',
    branching: () => ({ steps: script.branchPoints, perStep: script.branchesPerPoint }),
    served: (waiting) => chains.served(waiting),
    generate: (served) => served.map((one) => chains.generate(one)),
    answered: (calls) => chains.answered(calls),
    attempt: (call) => chains.answer(call),
  });
  return groups.map((group, prompt) =>
    group.rollouts.map((one) => chains.sampled(one, prompt, group)),
  );
}

class Chains {
  readonly #script: EntropyScript;
  /** Every branch of the prompts, in order, once all of them are there. */
  #branches: readonly string[] = [];
  #served: readonly Asked[] = [];
  /** The newest step of each chain. */
  readonly #steps = new Map<string, Step>();
  /** What the main chain of each prompt asked for. */
  readonly #mains = new Map<number, string[]>();
  readonly #answers = new Map<Called, string>();

  constructor(script: EntropyScript) {
    this.#script = script;
  }

  /** The first of the chains of those that have not ended: the main ones, then the branches. */
  served(waiting: readonly Asked[]): readonly Asked[] {
    const ordered = waiting.toSorted((a, b) => a.prompt - b.prompt || a.index - b.index);
    const mains = ordered.filter(({ index }) => index === 0);
    if (mains.length === 0 && this.#branches.length === 0) this.#branches = ordered.map(nameOf);
    const place = (one: Asked) =>
      mains.length > 0 ? one.prompt : this.#branches.indexOf(nameOf(one));
    const windowOf = (one: Asked) => Math.floor(place(one) / this.#script.batchSize);
    const alive = mains.length > 0 ? mains : ordered;
    this.#served = alive.filter((one) => windowOf(one) === windowOf(alive[0]!));
    return this.#served;
  }

  generate(one: Asked): Generated {
    const context = decode(one.context);
    const mains = this.#mains.get(one.prompt) ?? [];
    if (one.index === 0) this.#mains.set(one.prompt, [...mains, context]);
    else if (!this.#steps.has(nameOf(one))) this.#mayBranch(one.prompt, context, mains);
    const step = this.#script.generate(context);
    this.#steps.set(nameOf(one), step);
    const tag = TAGS.find((name) => step.text.includes(`</${name}>`));
    const stop = tag === undefined ? null : `</${tag}>`;
    return { tokens: encode(step.text), logprobs: step.logprobs, finish: 'stop', stop };
  }

  /** Before the script is asked: it may have no reply for what the published method never asks. */
  #mayBranch(prompt: number, context: string, mains: readonly string[]): void {
    if (mains.includes(context)) throw new Departure('a branch behind a whole step');
    const isEmpty = this.#steps.get(nameOf({ prompt, index: 0 }))!.text === '';
    if (isEmpty && mains.length <= this.#script.branchPoints) {
      throw new Departure('a branch behind a step of nothing');
    }
  }

  /** Searches of a round are one request. */
  answered(calls: readonly Called[]): readonly Called[] {
    const names = this.#served.map(nameOf);
    const ordered = calls.toSorted((a, b) => names.indexOf(nameOf(a)) - names.indexOf(nameOf(b)));
    const searches = ordered.filter(({ tool }) => tool === 'search');
    const queries = searches.map((call) =>
      call.index === 0 ? call.input : this.#steps.get(nameOf(call))!.text,
    );
    const found = searches.length > 0 ? this.#script.search(queries) : [];
    for (const [i, call] of searches.entries()) this.#answers.set(call, found[i]!);
    return ordered;
  }

  answer(call: Called): string {
    return this.#answers.get(call) ?? this.#script.python(call.input);
  }

  sampled(rollout: Rollout, prompt: number, { rollouts }: Group): Sampled {
    if (rollout.status === 'failed') throw new Error(rollout.reason);
    const { index, parent, segments } = rollout;
    const steps = rollouts[0]!.segments.filter(({ kind }) => kind === 'policy');
    const isEmpty = this.#steps.get(nameOf({ prompt, index }))!.text === '';
    // A step of nothing has no segment.
    if (parent === null && isEmpty && steps.length < this.#script.branchPoints) {
      throw new Departure('a branch behind a step of nothing');
    }
    // Of what a branch shares with its main chain, calls beyond a limit count, too.
    const shared = parent?.offset ?? 0;
    const callsOf = (tag: string) =>
      countPairs(decode(Array.from(rollout.tokens.subarray(0, shared))), tag) +
      segments.filter(({ kind, tool, start }) => kind === 'tool' && tool === tag && start >= shared)
        .length;
    const entropies = segments.flatMap(({ entropy }) => (entropy === null ? [] : [entropy]));
    return {
      output: decode(Array.from(rollout.tokens)),
      pythonCalls: callsOf('python'),
      searchCalls: callsOf('search'),
      entropies: isEmpty ? [...entropies, 0] : entropies,
      step: parent && steps.filter(({ start }) => start < parent.offset).length - 1,
    };
  }
}

function nameOf({ prompt, index }: Pick<Asked, 'prompt' | 'index'>): string {
  return `${prompt}/${index}`;
}
