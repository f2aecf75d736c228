/**
 * Reward subjects.
 */

import { correctness } from '../../../operators/rewards/accuracy.ts';
import { outcomeVerdict } from '../../../operators/rewards/deepResearch.ts';
import { efficiency, sigmaFactor } from '../../../operators/rewards/efficiency.ts';
import type { Question } from '../../../topics/index.ts';
import { paperTools } from '../../support/paperTools.ts';
import { type Subjects, subject } from '../subject.ts';

interface EfficiencyArgs {
  readonly dataSource: string;
  readonly response: string;
  readonly groundTruth: readonly string[];
  readonly length: number;
  readonly otherResponses: readonly string[];
  readonly otherLengths: readonly number[];
  readonly sigmaTool: number;
  readonly sigmaLength: number;
}
interface OutcomeArgs {
  readonly response: string;
  readonly groundTruth: string | readonly string[];
  readonly eosToken?: string;
}

export const rewardSubjects: Subjects = {
  'efficiency-reward': subject<EfficiencyArgs>(efficiencyReward),
  'sigma-schedule': subject<{ totalSteps: number; step: number }>(({ totalSteps, step }) =>
    sigmaFactor(step, totalSteps),
  ),
  'deep-research-reward': subject<OutcomeArgs>(({ response, groundTruth, eosToken }) => {
    const { score, f1, answer, reason } = outcomeVerdict(
      response,
      asList(groundTruth),
      paperTools,
      eosToken,
    );
    return { score, f1_score: f1, answer, reasonCode: reasonCodes[reason] ?? reason };
  }),
};

/** Codes that the vector file spells in its own way. */
const reasonCodes: Readonly<Record<string, string>> = {
  'unpaired-think': 'think-unpaired',
  'no-think': 'think-missing',
  'answer-tag-count': 'answer-count',
  'answer-reversed': 'answer-order',
  'no-box': 'box-missing',
  'correct-several-tools': 'correct-both-tools',
};

function efficiencyReward(args: EfficiencyArgs): unknown {
  const question: Question = {
    id: 'q',
    question: '',
    answers: args.groundTruth,
    source: args.dataSource,
    ability: args.dataSource.startsWith('math') ? 'math' : 'qa',
    phase: 'practice',
    round: 1,
    schedule: null,
  };
  const reward = efficiency({ sigmaTool: args.sigmaTool, sigmaLength: args.sigmaLength });
  const texts = [args.response, ...args.otherResponses];
  const [own] = reward({
    question,
    tools: paperTools,
    texts,
    // The reference scores whole texts.
    own: texts,
    lengths: [args.length, ...args.otherLengths],
  });
  const { raw, tool, length, format, toolCalls, f1 } = own!.parts;
  return {
    score: own!.score,
    raw_score: raw,
    f1_score: f1,
    tool_call: toolCalls,
    answer: correctness(question, args.response).answer,
    f_tool: tool,
    f_length: length,
    f_format: format,
  };
}

export function asList(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}
