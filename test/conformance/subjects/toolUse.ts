/**
 * Tool-Star and Tool-Light.
 */

import { extractAnswer } from '../../../operators/dialect/answer.ts';
import { isPreferenceFormat } from '../../../operators/dialect/preferenceFormat.ts';
import { withoutResults } from '../../../operators/dialect/results.ts';
import { toolLightEfficiency, toolLightNecessity } from '../../../operators/metrics/toolUse.ts';
import { outcomeVerdict } from '../../../operators/rewards/deepResearch.ts';
import { toolStarOutcome, type VerifyAnswer } from '../../../operators/rewards/toolStar.ts';
import { branchPoints, windowEntropies } from '../../../operators/sampling/entropyGuided.ts';
import { finalAnswerForm } from '../../../operators/text/finalAnswer.ts';
import { rolloutF1 } from '../../../operators/text/overlap.ts';
import { assistantTurn, compareAnswers } from '../../oracles/toolStarReward.ts';
import { countCallsWithFences } from '../../oracles/trajectory.ts';
import { paperTools } from '../../support/paperTools.ts';
import { question, rollout } from '../../support/records.ts';
import { verifierOfWheels, type WheelVerifier } from '../../support/verifier.ts';
import {
  type EntropyScript,
  type Sampled,
  type Step,
  sampledChains,
} from '../rollouts/entropySampling.ts';
import { grownChains } from '../rollouts/grownChains.ts';
import { Departure } from '../rollouts/grownGroups.ts';
import {
  type CaseContext,
  oracle,
  Skipped,
  type Subjects,
  subject,
  subjectWith,
} from '../subject.ts';

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
  readonly methods: Readonly<
    Record<string, readonly { readonly verdict: string; readonly toolCalls: number }[]>
  >;
}
/** What the release calls a verdict. */
const verdicts: Readonly<Record<string, 'right' | 'wrong' | 'failed'>> = {
  ...{ Correct: 'right', Incorrect: 'wrong', Error: 'failed' },
};
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
  'tool-star-normalize': subject<Text>(({ text }) => finalAnswerForm(text)),
  'tool-star-reward': subjectWith(verifierOfWheels, toolStarReward),
  'tool-light-format': subject<Text>(({ text }) => isPreferenceFormat(text, paperTools)),
  'tool-light-tool-count': oracle<Text>('calls in code fences are not counted', ({ text }) =>
    countCallsWithFences(text, paperTools),
  ),
  'tool-light-strip-results': subject<Text>(({ text }) => withoutResults(text)),
  'tool-light-f1': subject<{ a: string | null; b: string | null }>(({ a, b }) =>
    a === null || b === null ? 0 : rolloutF1(a, [b]),
  ),
  'tool-light-efficiency': subject<EfficiencyArgs>(efficiencies),
  'tool-light-necessity': subject<NecessityArgs>(({ methods }) => {
    const judged = Object.values(methods).map((own) =>
      own.map(({ verdict, toolCalls }) => ({ verdict: verdicts[verdict]!, toolCalls })),
    );
    const scores = toolLightNecessity(judged, { quirk: true });
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

async function toolStarReward(args: RewardArgs, verifier: WheelVerifier): Promise<unknown> {
  const { response, groundTruth, kind, eosToken } = args;
  const text = assistantTurn(response);
  if (text === null) {
    if (kind === 'math') return { score: -1 };
    throw new Error('no turn of the assistant');
  }
  const references = typeof groundTruth === 'string' ? [groundTruth] : groundTruth;
  if (kind === 'qa') return { score: outcomeVerdict(text, references, paperTools, eosToken).score };
  const reward = toolStarOutcome({ verify: (await verifier.verify()) ?? onlyNumbers });
  const isWhole = text.endsWith(eosToken);
  const [first] = await reward({
    question: question({ ability: 'math', answers: references }),
    tools: paperTools,
    texts: [isWhole ? text.slice(0, text.length - eosToken.length) : text],
    lengths: [1],
    rollouts: [rollout({ finish: isWhole ? 'answer' : 'length' })],
  });
  return { score: first!.score };
}

/** Without math-verify, only what two numbers settle can be compared with it. */
const onlyNumbers: VerifyAnswer = async (given, wanted) => {
  const { basis } = compareAnswers(given, wanted);
  if (basis === 'numbers') return null;
  throw new Skipped('needs the wheels of math-verify (MILLRACE_WHEELS)');
};

/** On multi-hop sets a sample without a call counts as one call; one method there never calls. */
function efficiencies({ dataset, methods }: EfficiencyArgs): unknown {
  const isMultiHop = ['hotpotqa', '2wiki', 'musique', 'bamboogle'].includes(dataset);
  return Object.fromEntries(
    Object.entries(methods).map(([name, samples]) => {
      const isCallFree = isMultiHop && name === 'DotaMath';
      const counted = samples.map((sample) => (isCallFree ? { ...sample, toolCalls: 0 } : sample));
      const efficiency = toolLightEfficiency(dataset, counted);
      if (efficiency === null) throw new Error('nothing to average');
      return [name, efficiency];
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
