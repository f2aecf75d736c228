/**
 * Tool-Star and Tool-Light.
 */

import { extractAnswer } from '../../../operators/dialect/answer.ts';
import { isPreferenceFormat } from '../../../operators/dialect/preferenceFormat.ts';
import { withoutResults } from '../../../operators/dialect/results.ts';
import { outcomeVerdict } from '../../../operators/rewards/deepResearch.ts';
import { branchPoints, windowEntropies } from '../../../operators/sampling/entropyGuided.ts';
import { rolloutF1 } from '../../../operators/text/overlap.ts';
import { finalAnswerForm } from '../../oracles/finalAnswer.ts';
import { assistantTurn, mathVerdict } from '../../oracles/toolStarReward.ts';
import { type JudgedSample, toolEfficiency, toolNecessity } from '../../oracles/toolUse.ts';
import { countCallsWithFences } from '../../oracles/trajectory.ts';
import { paperTools } from '../../support/paperTools.ts';
import {
  type EntropyScript,
  type Sampled,
  type Step,
  sampledChains,
} from '../rollouts/entropySampling.ts';
import { grownChains } from '../rollouts/grownChains.ts';
import { Departure } from '../rollouts/grownGroups.ts';
import { type CaseContext, oracle, Skipped, type Subjects, subject } from '../subject.ts';

interface RewardArgs {
  readonly response: string;
  readonly groundTruth: string | readonly string[];
  readonly kind: 'qa' | 'math';
  readonly eosToken: string;
}
interface Text {
  readonly text: string;
}
interface EfficiencyArgs {
  readonly dataset: string;
  readonly methods: Readonly<
    Record<string, readonly { readonly correct: number; readonly toolCalls: number }[]>
  >;
}
interface NecessityArgs {
  readonly methods: Readonly<Record<string, readonly JudgedSample[]>>;
}
interface PositionArgs {
  readonly steps: readonly {
    readonly step: number;
    readonly position: number;
    readonly maxEntropy: number;
    readonly window: number;
  }[];
  readonly maxSteps: number;
}
interface EntropyArgs {
  readonly text: string;
  readonly logprobs: readonly (readonly number[])[];
  readonly windows: readonly number[];
}
interface SamplingArgs {
  readonly config: Pick<
    EntropyScript,
    'maxPython' | 'maxSearch' | 'branchPoints' | 'branchesPerPoint' | 'batchSize'
  >;
  readonly prompts: readonly string[];
  readonly python: Readonly<Record<string, { readonly result: string; readonly report: string }>>;
  readonly search: Readonly<Record<string, string>>;
  readonly engine: readonly { readonly context: string; readonly replies: readonly Step[] }[];
}

export const toolUseSubjects: Subjects = {
  'tool-star-normalize': oracle<Text>('no comparison of normalised final answers', ({ text }) =>
    finalAnswerForm(text),
  ),
  'tool-star-reward': subject<RewardArgs>(toolStarReward),
  'tool-light-format': subject<Text>(({ text }) => isPreferenceFormat(text, paperTools)),
  'tool-light-tool-count': oracle<Text>('calls in code fences are not counted', ({ text }) =>
    countCallsWithFences(text, paperTools),
  ),
  'tool-light-strip-results': subject<Text>(({ text }) => withoutResults(text)),
  'tool-light-f1': subject<{ a: string | null; b: string | null }>(({ a, b }) =>
    a === null || b === null ? 0 : rolloutF1(a, [b]),
  ),
  'tool-light-efficiency': oracle<EfficiencyArgs>('efficiency is that of ET-Agent', efficiencies),
  'tool-light-necessity': oracle<NecessityArgs>('methods are not compared', ({ methods }) => {
    const scores = toolNecessity(Object.values(methods), 'reference');
    return Object.fromEntries(Object.keys(methods).map((name, m) => [name, scores[m]]));
  }),
  'tool-light-positions': subject<PositionArgs>(({ steps, maxSteps }) =>
    branchPoints(
      steps.map(({ maxEntropy, ...step }) => ({ ...step, entropy: maxEntropy })),
      maxSteps,
    ),
  ),
  'tool-light-step-entropy': subject<EntropyArgs>(stepEntropies),
  'tool-light-sampling': subject<SamplingArgs>(entropySampling),
};

function toolStarReward(
  { response, groundTruth, kind, eosToken }: RewardArgs,
  { by }: CaseContext,
): unknown {
  const text = assistantTurn(response);
  if (kind === 'math') {
    by('oracle', "Tool-Star's math reward: math answers are judged as ET-Agent does");
    if (text === null) return { score: -1 };
    const { score, basis } = mathVerdict(text, groundTruth as string, paperTools, eosToken);
    if (basis === 'form' || basis === 'nothing') throw new Skipped('needs a symbolic verifier');
    return { score };
  }
  if (text === null) throw new Error('no turn of the assistant');
  const references = typeof groundTruth === 'string' ? [groundTruth] : groundTruth;
  return { score: outcomeVerdict(text, references, paperTools, eosToken).score };
}

const multiHopSets = ['hotpotqa', '2wiki', 'musique', 'bamboogle'];

/** On multi-hop sets a sample without a call counts as one call; one method there never calls. */
function efficiencies({ dataset, methods }: EfficiencyArgs): unknown {
  const multiHop = multiHopSets.includes(dataset);
  return Object.fromEntries(
    Object.entries(methods).map(([name, samples]) => {
      const isCallFree = multiHop && name === 'DotaMath';
      const counted = samples.map((sample) => (isCallFree ? { ...sample, toolCalls: 0 } : sample));
      return [name, toolEfficiency(counted, multiHop ? 'one' : 'skip')];
    }),
  );
}

function stepEntropies({ text, logprobs, windows }: EntropyArgs): unknown {
  const characters = [...text];
  const shown = characters.map((_, t) => characters[Math.min(t, logprobs.length - 1)]);
  const [whole] = windowEntropies(logprobs, characters.length, [0]);
  return {
    windows: windowEntropies(logprobs, characters.length, windows).map(
      ({ window, entropy, tokens }) => ({ window, entropy, text: shown.slice(0, tokens).join('') }),
    ),
    step: whole!.entropy,
  };
}

/** Requests ask for this many documents. */
const DOCUMENTS = 3;

type SampleChains = typeof sampledChains | typeof grownChains;

/**
 * Chains that `growGuided` grows; where it departs (the list is in `grownChains.ts`), the method written out.
 */
async function entropySampling(args: SamplingArgs, { by }: CaseContext): Promise<unknown> {
  try {
    return await entropySamplingBy(grownChains, args);
  } catch (error) {
    if (!(error instanceof Departure)) throw error;
    by('detour', error.message);
    return entropySamplingBy(sampledChains, args);
  }
}

export async function entropySamplingBy(
  sample: SampleChains,
  args: SamplingArgs,
): Promise<unknown> {
  const served = new Map<string, number>();
  const searchRequests: unknown[] = [];
  const questions = await sample(args.prompts, {
    ...args.config,
    generate: (context) => {
      const at = served.get(context) ?? 0;
      served.set(context, at + 1);
      const reply = args.engine.find((entry) => entry.context === context)?.replies[at];
      if (reply === undefined) throw new Error(`no reply ${at} for ${JSON.stringify(context)}`);
      return reply;
    },
    python: (code) => {
      const { result, report } = (args.python[code] ?? args.python['*'])!;
      return report === 'Done' ? result : report;
    },
    search: (queries) => {
      searchRequests.push({ queries, topN: DOCUMENTS });
      const found = queries.map((query) => args.search[query] ?? args.search['*'] ?? '');
      return found.map((text) => (text === 'error' ? '' : text));
    },
  });
  return {
    questions: questions.map((chains) => {
      const [main, ...branches] = chains;
      return {
        main: { output: main!.output, ...callsOf(main!) },
        branches: branches.map((one) => ({
          output: one.output,
          step: one.step,
          ...callsOf(one),
        })),
        answers: chains.map(({ output }) => extractAnswer(output, 'selection')),
        entropies: chains.map(({ entropies }) => entropies),
      };
    }),
    searchRequests,
  };
}

function callsOf({ pythonCalls, searchCalls }: Sampled): object {
  return { pythonCalls, searchCalls };
}
