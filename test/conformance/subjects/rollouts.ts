/**
 * Complete scripted rollouts of the published loops.
 */
import {
  type AepoOptions,
  aepoDecision,
  aepoInitialRollouts,
  nextConsecutive,
} from '../../../operators/sampling/aepo.ts';
import { arpoDecision } from '../../../operators/sampling/arpo.ts';
import { type BatchResult, finalOutput, runBatch } from '../rollouts/batchRollout.ts';
import { monitoredEntropies } from '../rollouts/monitoredRun.ts';
import { encode, type Generated, type ToolMetrics } from '../rollouts/scripted.ts';
import { type Subjects, subject } from '../subject.ts';

interface LoopArgs extends AepoOptions {
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
interface Config extends AepoOptions {
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

export const rolloutSubjects: Subjects = {
  'branch-loop': subject<LoopArgs>(branchLoop),
  'arpo-rollout': subject<RolloutArgs>((args) => rollout(args, 'arpo')),
  'aepo-rollout': subject<RolloutArgs>((args) => rollout(args, 'aepo')),
};

function branchLoop(args: LoopArgs): unknown {
  const single = args.doSample === false || args.validate === true;
  const samples = single ? 1 : args.n;
  const served = new Map<number, number>();
  let drawn = 0;
  const baselines = new Map(
    Object.entries(args.staleEntropies ?? {}).map(([number, entropy]) => [Number(number), entropy]),
  );
  const result = runBatch({
    prompts: args.prompts,
    samples,
    initialRollouts: args.prompts.map(() => Math.min(args.initialRollouts, samples)),
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
    decide: (_, change) => arpoDecision(args, change, args.draws[drawn++]!),
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

function rollout(args: RolloutArgs, method: 'arpo' | 'aepo'): unknown {
  const { config } = args;
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
  const batches = args.batches.map((texts) => {
    const prompts = texts.map(encode);
    let consecutive: readonly number[] = texts.map(() => 0);
    const roots = config.dynamic
      ? monitoredEntropies({ ...config, prompts, tags, generate, attempt }).map(
          ({ root, segments }) => aepoInitialRollouts(samples, root, segments),
        )
      : prompts.map(() => Math.min(config.initialRollouts, samples));
    const result = runBatch({
      prompts,
      samples,
      initialRollouts: roots,
      beamSize: single ? 1 : config.beamSize,
      responseLength: config.responseLength,
      callLimit: config.callLimit,
      attemptsMax: config.retryCount,
      vocabSize: config.vocabSize,
      tags,
      baselines,
      generate: ({ context }, maxTokens) => generate(context, maxTokens),
      attempt,
      decide: (prompt, change) => {
        const draw = args.draws[drawn++]!;
        if (method === 'arpo') return arpoDecision(config, change, draw);
        return aepoDecision(config, change, consecutive[prompt]!, draw);
      },
      grew: (grew) => {
        consecutive = nextConsecutive(consecutive, grew);
      },
    });
    return {
      prompts: promptResults(result, prompts.length, samples, config.responseLength),
      metrics: metricsOf(result.metrics, tags),
      ...(config.dynamic ? { initialRollouts: roots } : {}),
    };
  });
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
