/**
 * The published rollout loop of a batch, driven by a script: what the branching functions of `operators/sampling` must
 * add up to. It keeps what couples prompts there (a shared token limit, one stream of draws, baselines that outlive
 * a batch), which the streaming rollout of this repository leaves out on purpose.
 */
import { planRound } from '../../../operators/sampling/branchBudget.ts';
import { ENTROPY_TOKENS, stepEntropy } from '../../../operators/sampling/stepEntropy.ts';
import { strip } from '../../../operators/text/characters.ts';
import {
  type Attempt,
  callWithRetry,
  decode,
  END_TOKEN,
  encode,
  firstLogProbs,
  type Generated,
  lastCall,
  noCalls,
  recordCall,
  type ToolMetrics,
} from './scripted.ts';

export interface Trajectory {
  /** Its number in the batch, in order of creation. */
  readonly number: number;
  readonly prompt: number;
  readonly promptLength: number;
  /** Prompt and response. */
  readonly context: number[];
  /** One entry a response token: 1 = the policy wrote it. */
  readonly mask: number[];
  calls: number;
  readonly kind: 'initial' | 'clone' | 'restart';
  readonly parent: number | null;
  readonly offset: number;
  /** Generation rounds that were over when it was made. */
  readonly round: number;
}

export interface BatchScript {
  readonly prompts: readonly (readonly number[])[];
  readonly samples: number;
  /** Roots of each prompt. */
  readonly initialRollouts: readonly number[];
  readonly beamSize: number;
  readonly responseLength: number;
  readonly callLimit: number;
  readonly attemptsMax: number;
  readonly vocabSize: number;
  /** Tags of the loaded tools. */
  readonly tags: readonly string[];
  readonly generate: (trajectory: Trajectory, maxTokens: number) => Generated;
  readonly attempt: Attempt;
  /** Whether to clone; draws. */
  readonly decide: (prompt: number, entropyChange: number) => boolean;
  /** Told after every round which prompts grew. */
  readonly grew?: (grew: readonly boolean[]) => void;
  /** First entropy by trajectory number; may hold those of an earlier batch. */
  readonly baselines: Map<number, number>;
}

export interface BatchResult {
  readonly trajectories: readonly Trajectory[];
  readonly activeByRound: readonly (readonly number[])[];
  readonly maxTokensByRound: readonly number[];
  readonly metrics: ToolMetrics;
}

export function runBatch(script: BatchScript): BatchResult {
  const metrics = noCalls();
  const trajectories: Trajectory[] = [];
  const create = (fields: Omit<Trajectory, 'number'>) => {
    const made = { ...fields, number: trajectories.length };
    trajectories.push(made);
    return made;
  };
  const fromPrompt = (prompt: number, kind: 'initial' | 'restart', round: number) =>
    create({ ...bare(script.prompts[prompt]!), prompt, kind, parent: null, offset: 0, round });
  const activeByRound: number[][] = [];
  const maxTokensByRound: number[] = [];
  let active = script.initialRollouts.flatMap((count, prompt) =>
    Array.from({ length: count }, () => fromPrompt(prompt, 'initial', 0)),
  );
  while (active.length > 0) {
    const room = active.map((one) => script.responseLength - one.mask.length);
    const maxTokens = Math.max(1, ...room);
    activeByRound.push(active.map((one) => one.number));
    maxTokensByRound.push(maxTokens);
    const round = activeByRound.length;
    const entropies = new Map<Trajectory, number>();
    const survivors = advance(script, active, maxTokens, entropies, metrics);
    const clones = survivorGroups(survivors).flatMap((group) =>
      plan(script, trajectories, group, entropies).map((source) => {
        const { context, mask, calls } = source;
        return create({
          ...source,
          context: [...context],
          mask: [...mask],
          calls,
          kind: 'clone',
          parent: source.number,
          offset: mask.length,
          round,
        });
      }),
    );
    const restarts = script.prompts.flatMap((_, prompt) => {
      const created = trajectories.filter((one) => one.prompt === prompt).length;
      const left = survivors.filter((one) => one.prompt === prompt).length;
      const budget = { rollouts: script.samples, created, beamSize: script.beamSize };
      const { refill } = planRound(budget, left, () => false);
      return refill ? [fromPrompt(prompt, 'restart', round)] : [];
    });
    const joined = [...clones, ...restarts];
    script.grew?.(script.prompts.map((_, prompt) => joined.some((one) => one.prompt === prompt)));
    active = [...survivors, ...joined];
  }
  return { trajectories, activeByRound, maxTokensByRound, metrics };
}

function bare(prompt: readonly number[]) {
  return { context: [...prompt], promptLength: prompt.length, mask: [], calls: 0 };
}

/** Prompts in order of their first survivor, each with its survivors in order. */
function survivorGroups(survivors: readonly Trajectory[]): Trajectory[][] {
  const groups = new Map<number, Trajectory[]>();
  for (const one of survivors) groups.set(one.prompt, [...(groups.get(one.prompt) ?? []), one]);
  return [...groups.values()];
}

/** The sources to clone, in order. */
function plan(
  script: BatchScript,
  trajectories: readonly Trajectory[],
  group: readonly Trajectory[],
  entropies: ReadonlyMap<Trajectory, number>,
): Trajectory[] {
  const prompt = group[0]!.prompt;
  const created = trajectories.filter((one) => one.prompt === prompt).length;
  const budget = { rollouts: script.samples, created, beamSize: script.beamSize };
  const { clones } = planRound(budget, group.length, (i) => {
    const source = group[i]!;
    return script.decide(prompt, entropies.get(source)! - script.baselines.get(source.number)!);
  });
  return clones.map((i) => group[i]!);
}

/** One segment for each active trajectory, then their calls; gives back those that go on. */
function advance(
  script: BatchScript,
  active: readonly Trajectory[],
  maxTokens: number,
  entropies: Map<Trajectory, number>,
  metrics: ToolMetrics,
): Trajectory[] {
  const made = active.map((one) => script.generate(one, maxTokens));
  const requests: { readonly one: Trajectory; readonly tag: string; readonly input: string }[] = [];
  const goesOn = active.map((one, i) => {
    const segment = made[i]!;
    const entropy = stepEntropy(firstLogProbs(segment, ENTROPY_TOKENS), script.vocabSize);
    entropies.set(one, entropy);
    if (!script.baselines.has(one.number)) script.baselines.set(one.number, entropy);
    append(one, segment.tokens, 1);
    const tag = script.tags.find((name) => segment.stop === `</${name}>`);
    if (segment.finish === 'length') return one.mask.length < script.responseLength;
    if (tag === undefined) return false;
    if (one.calls >= script.callLimit) {
      append(one, [END_TOKEN], 1);
      metrics.callLimitReached++;
      return false;
    }
    one.calls++;
    const input = strip(lastCall(decode(one.context), tag));
    if (input !== '') requests.push({ one, tag, input });
    return input !== '';
  });
  for (const { one, tag, input } of requests) {
    const outcome = callWithRetry(script.attempt, tag, input, script.attemptsMax);
    recordCall(metrics, tag, outcome);
    append(one, encode(` <result>\n${outcome.text}\n</result>`), 0);
  }
  return active.filter((one, i) => goesOn[i] && one.mask.length < script.responseLength);
}

function append(one: Trajectory, tokens: readonly number[], mask: 0 | 1): void {
  one.context.push(...tokens);
  for (let i = 0; i < tokens.length; i++) one.mask.push(mask);
}

/** A finished trajectory as the trainer gets it: cut to L, nothing counted after the first end token. */
export function finalOutput(one: Trajectory, responseLength: number): unknown {
  const tokens = one.context.slice(one.promptLength).slice(0, responseLength);
  const end = tokens.indexOf(END_TOKEN);
  const validLength = end < 0 ? responseLength : end + 1;
  const lossMask = tokens.map((_, t) => (t < validLength ? one.mask[t] : 0));
  return { tokens, lossMask, validLength };
}
