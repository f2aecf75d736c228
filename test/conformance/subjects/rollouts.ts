/**
 * Complete scripted rollouts of the published loops, grown by `growGroup`. Where it departs from them on
 * purpose (the list is in `grownBatch.ts`) the loop written out gives the case: baselines of an earlier
 * batch, calls that were opened in an earlier step, generations of nothing, monitored rollouts that go on
 * past their length.
 */
import { aepo } from '../../../operators/sampling/aepo.ts';
import { type ArpoOptions, arpo } from '../../../operators/sampling/arpo.ts';
import {
  type BatchResult,
  type BatchScript,
  finalOutput,
  runBatch,
} from '../rollouts/batchRollout.ts';
import { grownBatch } from '../rollouts/grownBatch.ts';
import { Departure } from '../rollouts/grownGroups.ts';
import { encode, type Generated, type ToolMetrics } from '../rollouts/scripted.ts';
import { type Subject, type Subjects, subject } from '../subject.ts';

interface LoopArgs extends ArpoOptions {
  readonly prompts: readonly (readonly number[])[];
  readonly n: number;
  readonly initialRollouts: number;
  readonly beamSize: number;
  readonly maxLength: number;
  readonly callLimit: number;
  readonly vocabSize: number;
  readonly draws: readonly number[];
  readonly engine: Readonly<Record<string, readonly Generated[]>>;
  readonly tools: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly staleEntropies?: Readonly<Record<string, number>>;
  readonly doSample?: boolean;
  readonly validate?: boolean;
}
interface Reply {
  readonly text: string;
  readonly stop: string | null;
  readonly logprobs: readonly (readonly number[])[];
}
interface Config extends ArpoOptions {
  readonly samples: number;
  readonly initialRollouts: number;
  readonly beamSize: number;
  readonly responseLength: number;
  readonly callLimit: number;
  readonly retryCount: number;
  readonly vocabSize: number;
  readonly mode: 'train' | 'greedy' | 'validate';
  readonly dynamic?: boolean;
  readonly initialEntropyTokens?: number;
  readonly maxModelLen?: number;
}
interface RolloutArgs {
  readonly config: Config;
  readonly batches: readonly (readonly string[])[];
  readonly tools: readonly {
    readonly tag: string;
    readonly results: Readonly<
      Record<string, readonly { readonly text?: string; readonly error?: string }[]>
    >;
  }[];
  readonly engine: readonly { readonly context: string; readonly replies: readonly Reply[] }[];
  readonly draws: readonly number[];
}

type RunBatch = (script: BatchScript) => BatchResult | Promise<BatchResult>;

/** The subjects by one of the two ways to run a batch. */
export function rolloutsBy(run: RunBatch): Subjects {
  return {
    'branch-loop': subject<LoopArgs>((args) => branchLoop(args, run)),
    'arpo-rollout': subject<RolloutArgs>((args) => rollout(args, arpo, run)),
    'aepo-rollout': subject<RolloutArgs>((args) => rollout(args, aepo, run)),
  };
}

const grown = rolloutsBy(grownBatch);
const written = rolloutsBy(runBatch);

export const rolloutSubjects: Subjects = Object.fromEntries(
  Object.keys(grown).map((name) => [name, orWritten(grown[name]!, written[name]!)]),
);

function orWritten(compute: Subject, instead: Subject): Subject {
  return async (args, context) => {
    try {
      return await compute(args, context);
    } catch (error) {
      if (!(error instanceof Departure)) throw error;
      context.by('detour', error.message);
      return instead(args, context);
    }
  };
}

async function branchLoop(args: LoopArgs, run: RunBatch): Promise<unknown> {
  const single = args.doSample === false || args.validate === true;
  const samples = single ? 1 : args.n;
  const served = new Map<number, number>();
  let drawn = 0;
  const baselines = new Map(
    Object.entries(args.staleEntropies ?? {}).map(([number, entropy]) => [Number(number), entropy]),
  );
  const result = await run({
    prompts: args.prompts,
    samples,
    initialRollouts: args.initialRollouts,
    beamSize: single ? 1 : args.beamSize,
    responseLength: args.maxLength,
    callLimit: args.callLimit,
    attemptsMax: 3,
    vocabSize: args.vocabSize,
    tags: ['python', 'search'],
    baselines,
    generate: ({ number }) => {
      const at = served.get(number) ?? 0;
      served.set(number, at + 1);
      return args.engine[number]![at]!;
    },
    attempt: (tag, input, attempt) => {
      const outcome = args.tools[tag]?.[input];
      const own = Array.isArray(outcome) ? outcome[Math.min(attempt, outcome.length - 1)] : outcome;
      return typeof own === 'string' ? own : null;
    },
    branching: arpo(args),
    draw: () => args.draws[drawn++]!,
    counts: 'batch',
  });
  const { perTool, ...totals } = result.metrics;
  return {
    outputs: outputsByPrompt(result, args.prompts.length, samples, args.maxLength),
    branches: result.trajectories.map(({ prompt, parent, round, kind }) => ({
      prompt,
      parent,
      round,
      kind,
    })),
    activeByRound: result.activeByRound,
    maxTokensByRound: result.maxTokensByRound,
    drawsUsed: drawn,
    initialEntropies: Object.fromEntries(baselines),
    metrics: {
      ...totals,
      pythonCalls: perTool.get('python')?.calls ?? 0,
      searchCalls: perTool.get('search')?.calls ?? 0,
      pythonSuccessRate: successRate(result.metrics, 'python'),
      searchSuccessRate: successRate(result.metrics, 'search'),
    },
  };
}

function outputsByPrompt(
  { trajectories }: BatchResult,
  prompts: number,
  samples: number,
  responseLength: number,
): unknown[] {
  return Array.from({ length: prompts }, (_, prompt) =>
    trajectories
      .filter((one) => one.prompt === prompt)
      .slice(0, samples)
      .map((one) => finalOutput(one, responseLength)),
  );
}

function successRate(metrics: ToolMetrics, tag: string): number {
  const own = metrics.perTool.get(tag);
  return own === undefined ? 0 : own.successes / own.calls;
}

async function rollout(
  args: RolloutArgs,
  method: typeof arpo | typeof aepo,
  run: RunBatch,
): Promise<unknown> {
  const { config } = args;
  const { initialEntropyTokens = 50, maxModelLen = 4096 } = config;
  const served = new Map<string, number>();
  const baselines = new Map<number, number>();
  let drawn = 0;
  const generate = (context: readonly number[], maxTokens: number): Generated => {
    const key = decodeAll(context);
    const at = served.get(key) ?? 0;
    served.set(key, at + 1);
    const replies = args.engine.find((entry) => entry.context === key)?.replies;
    if (replies?.[at] === undefined) throw new Error(`no reply ${at} for ${JSON.stringify(key)}`);
    return cutReply(replies[at], maxTokens);
  };
  const attempt = (tag: string, input: string, number: number) => {
    const results = args.tools.find((tool) => tool.tag === tag)!.results;
    const attempts = results[input] ?? results['*'] ?? [];
    const outcome = attempts[Math.min(number, attempts.length - 1)];
    return outcome?.text ?? null;
  };
  const tags = args.tools.map((tool) => tool.tag);
  const single = config.mode !== 'train';
  const samples = single ? 1 : config.samples;
  const batches: unknown[] = [];
  for (const texts of args.batches) {
    const prompts = texts.map(encode);
    const result = await run({
      prompts,
      samples,
      initialRollouts: config.initialRollouts,
      beamSize: single ? 1 : config.beamSize,
      responseLength: config.responseLength,
      callLimit: config.callLimit,
      attemptsMax: config.retryCount,
      vocabSize: config.vocabSize,
      tags,
      baselines,
      generate: ({ context }, maxTokens) => generate(context, maxTokens),
      attempt,
      branching: method(config),
      draw: () => args.draws[drawn++]!,
      counts: 'batch',
      ...(config.dynamic ? { monitor: { initialEntropyTokens, maxModelLen } } : {}),
    });
    batches.push({
      prompts: promptResults(result, prompts.length, samples, config.responseLength),
      metrics: metricsOf(result.metrics, tags),
      ...(config.dynamic ? { initialRollouts: result.initialRollouts } : {}),
    });
  }
  return { batches, drawsUsed: drawn };
}

/** Text of a context, marks included: contexts of the script are written with them. */
function decodeAll(tokens: readonly number[]): string {
  return tokens.map((token) => String.fromCodePoint(token)).join('');
}

function cutReply({ text, stop, logprobs }: Reply, maxTokens: number): Generated {
  const tokens = encode(text);
  if (tokens.length <= maxTokens) return { tokens, logprobs, finish: 'stop', stop };
  return { tokens: tokens.slice(0, maxTokens), logprobs, finish: 'length', stop: null };
}

function promptResults(
  result: BatchResult,
  prompts: number,
  samples: number,
  responseLength: number,
): unknown[] {
  return outputsByPrompt(result, prompts, samples, responseLength).map((outputs, prompt) => {
    const own = result.trajectories.filter((one) => one.prompt === prompt).slice(0, samples);
    return {
      outputs,
      tree: own.map(({ kind, parent, offset }) => ({
        kind,
        parent: parent === null ? null : own.findIndex((one) => one.number === parent),
        offset,
      })),
    };
  });
}

/** Every loaded tool has its row, called or not. */
function metricsOf(metrics: ToolMetrics, tags: readonly string[]): unknown {
  const perTool = tags.map((tag) => {
    const calls = metrics.perTool.get(tag)?.calls ?? 0;
    return [tag, { calls, successRate: successRate(metrics, tag) }];
  });
  return { ...metrics, perTool: Object.fromEntries(perTool) };
}
