/**
 * The published rollout loop of a batch (ARPO reference §1.5, AEPO §2.1, §2.2), written out again, in its own
 * order and with everything that it shares between prompts: a token limit, one stream of draws, baselines
 * that outlive a batch. What `growGroup` is compared with, and what gives the cases in which it departs from
 * it (`grownBatch.ts`).
 */
import type { Branching } from '../../../operators/sampling/branching.ts';
import { ENTROPY_TOKENS, stepEntropy } from '../../../operators/sampling/stepEntropy.ts';
import { strip } from '../../../operators/text/characters.ts';
import { type MonitorLimits, monitoredEntropies, type RolloutScript } from './monitoredRun.ts';
import {
  callWithRetry,
  decode,
  END_TOKEN,
  encode,
  firstLogProbs,
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

export interface BatchScript extends RolloutScript {
  readonly samples: number;
  /** Roots of each prompt; where it is monitored, the policy splits them off. */
  readonly initialRollouts: number;
  readonly beamSize: number;
  /** The policy that decides, and what it draws next. */
  readonly branching: Branching;
  readonly draw: () => number;
  /** Rounds in a row: as published, or each group's for itself, as `growGroup` counts them. */
  readonly counts: 'batch' | 'group';
  readonly monitor?: MonitorLimits;
  /** First entropy by trajectory number; may hold those of an earlier batch. */
  readonly baselines: Map<number, number>;
}

export interface BatchResult {
  readonly trajectories: readonly Trajectory[];
  readonly activeByRound: readonly (readonly number[])[];
  readonly maxTokensByRound: readonly number[];
  readonly metrics: ToolMetrics;
  /** Roots of each prompt. */
  readonly initialRollouts: readonly number[];
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
  const initialRollouts = rootsOf(script);
  let consecutive = script.prompts.map(() => 0);
  let active = initialRollouts.flatMap((count, prompt) =>
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
    const countOf = (prompt: number) => trajectories.filter((one) => one.prompt === prompt).length;
    const clones: Trajectory[] = [];
    for (const prompt of new Set(survivors.map((one) => one.prompt))) {
      const remaining = script.samples - countOf(prompt);
      let created = 0;
      for (const source of survivors.filter((one) => one.prompt === prompt)) {
        const change = entropies.get(source)! - script.baselines.get(source.number)!;
        const tries = Math.min(script.beamSize - 1, remaining - created);
        for (let i = 0; i < tries; i++) {
          if (!script.branching.decide(change, script.draw(), consecutive[prompt]!)) continue;
          clones.push(create(cloned(source, round)));
          created++;
        }
      }
    }
    const restarts: Trajectory[] = [];
    for (const prompt of script.prompts.keys()) {
      if (survivors.some((one) => one.prompt === prompt)) continue;
      if (countOf(prompt) < script.samples) restarts.push(fromPrompt(prompt, 'restart', round));
    }
    const joined = [...clones, ...restarts];
    if (joined.length > 0 || script.counts === 'group') {
      consecutive = consecutive.map((count, prompt) =>
        joined.some((one) => one.prompt === prompt) ? count + 1 : 0,
      );
    }
    active = [...survivors, ...joined];
  }
  return { trajectories, activeByRound, maxTokensByRound, metrics, initialRollouts };
}

function rootsOf(script: BatchScript): number[] {
  const { prompts, samples, branching, monitor } = script;
  const split = branching.initialRollouts;
  if (monitor === undefined || typeof split === 'number') {
    return prompts.map(() => Math.min(script.initialRollouts, samples));
  }
  return monitoredEntropies(script, monitor).map(({ root, segments }) =>
    split(samples, root, segments),
  );
}

function cloned(source: Trajectory, round: number): Omit<Trajectory, 'number'> {
  const { number: parent, context, mask } = source;
  const own = { context: [...context], mask: [...mask], offset: mask.length };
  return { ...source, ...own, kind: 'clone', parent, round };
}

function bare(prompt: readonly number[]) {
  return { context: [...prompt], promptLength: prompt.length, mask: [], calls: 0 };
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
