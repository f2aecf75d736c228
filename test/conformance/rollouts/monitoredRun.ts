/**
 * AEPO's monitoring of a batch before its budget is split (AEPO reference §2.1): the entropy of each
 * question, and those of all segments of one rollout of each. Scripted, in the published order of requests.
 */
import { ENTROPY_TOKENS, stepEntropy } from '../../../operators/sampling/stepEntropy.ts';
import { strip } from '../../../operators/text/characters.ts';
import {
  type Attempt,
  callWithRetry,
  decode,
  encode,
  firstLogProbs,
  type Generated,
  lastCall,
} from './scripted.ts';

/** What answers the requests of a batch, and its limits. */
export interface RolloutScript {
  readonly prompts: readonly (readonly number[])[];
  readonly responseLength: number;
  readonly callLimit: number;
  readonly attemptsMax: number;
  readonly vocabSize: number;
  /** Tags of the loaded tools. */
  readonly tags: readonly string[];
  /** A segment of a rollout, by its number and its context; the number of one that is monitored is -1. */
  readonly generate: (asked: Asked, maxTokens: number) => Generated;
  readonly attempt: Attempt;
}

export interface Asked {
  readonly number: number;
  /** Prompt and response so far. */
  readonly context: readonly number[];
}

export interface MonitorLimits {
  /** Most tokens from which a question's entropy is taken. */
  readonly initialEntropyTokens: number;
  readonly maxModelLen: number;
}

export interface Monitored {
  readonly root: number;
  readonly segments: readonly number[];
}

/** Tokens left free when a result no longer fits the context. */
const RESERVE = 100;

export function monitoredEntropies(script: RolloutScript, limits: MonitorLimits): Monitored[] {
  const { prompts } = script;
  const entropyOf = (made: Generated) =>
    stepEntropy(firstLogProbs(made, ENTROPY_TOKENS), script.vocabSize);
  const roots = prompts.map((context) =>
    entropyOf(script.generate({ number: -1, context }, limits.initialEntropyTokens)),
  );
  const runs = prompts.map((prompt) => ({
    context: [...prompt],
    promptLength: prompt.length,
    calls: 0,
    segments: [] as number[],
  }));
  let active = runs;
  while (active.length > 0) active = monitorRound(script, limits, active, entropyOf);
  return runs.map(({ segments }, i) => ({ root: roots[i]!, segments }));
}

interface Run {
  context: number[];
  readonly promptLength: number;
  calls: number;
  readonly segments: number[];
}

function monitorRound(
  script: RolloutScript,
  { maxModelLen }: MonitorLimits,
  active: readonly Run[],
  entropyOf: (made: Generated) => number,
): Run[] {
  const { responseLength } = script;
  const fitting = active.filter((run) => run.context.length < maxModelLen);
  if (fitting.length === 0) return [];
  const used = (run: Run) => run.context.length - run.promptLength;
  const longest = Math.max(...fitting.map((run) => run.context.length));
  const maxTokens = Math.max(
    1,
    Math.min(responseLength - Math.max(...fitting.map(used)), maxModelLen - longest),
  );
  const made = fitting.map(({ context }) => script.generate({ number: -1, context }, maxTokens));
  const requests: { readonly run: Run; readonly tag: string; readonly input: string }[] = [];
  const goesOn = fitting.map((run, i) => {
    const segment = made[i]!;
    run.segments.push(entropyOf(segment));
    run.context.push(...segment.tokens);
    if (segment.finish === 'length') return used(run) < responseLength;
    const tag = script.tags.find((name) => segment.stop === `</${name}>`);
    if (tag === undefined || run.calls >= script.callLimit) return false;
    run.calls++;
    const input = strip(lastCall(decode(run.context), tag));
    if (input !== '') requests.push({ run, tag, input });
    return input !== '';
  });
  for (const { run, tag, input } of requests) {
    const { text } = callWithRetry(script.attempt, tag, input, script.attemptsMax);
    const result = encode(` <result>\n${text}\n</result>`);
    if (run.context.length + result.length > maxModelLen) {
      run.context = run.context.slice(0, maxModelLen - result.length - RESERVE);
    }
    run.context.push(...result);
  }
  return fitting.filter((_, i) => goesOn[i]);
}
