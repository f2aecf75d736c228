/**
 * ToolPO. Expected values are hand-computed anchors and those of an independent writing; the plain writing of
 * test/oracles must agree too. The gradient is that of our training graph's own layers, over toy logits.
 */
import { actionMask, toolPo, withActions } from '../../../model/credit/toolPo.ts';
import type { TrainSequence } from '../../../model/engine.ts';
import type { TargetSequence } from '../../../model/losses/loss.ts';
import type { NamedLoss } from '../../../model/losses/losses.ts';
import { type DeepAgentBox, deepAgentAnswer } from '../../../operators/metrics/deepAgent/boxed.ts';
import {
  alfWorld,
  apiBank,
  apiBankPath,
  endpointsUsed,
  restBench,
  toolBenchPath,
  toolHop,
  webShop,
} from '../../../operators/metrics/deepAgent/paths.ts';
import type { RecordedCall } from '../../../operators/metrics/deepAgent/recorded.ts';
import {
  type CallGold,
  type CreditedCall,
  callVerdicts,
} from '../../../operators/rewards/toolPo/callCredit.ts';
import {
  foldPreference,
  foldPreferences,
} from '../../../operators/rewards/toolPo/foldPreference.ts';
import { type CallCredit, callCredit } from '../../../operators/rewards/toolPo/toolPo.ts';
import { endpointFunction } from '../../../operators/text/endpointFunction.ts';
import { simulatorReply } from '../../../operators/tools/simulator/reply.ts';
import {
  type OracleRollout,
  type OracleSpan,
  preferences,
  surrogate,
  tokenAdvantages,
  toolPoGradient,
  toolPoLoss,
} from '../../oracles/toolPo.ts';
import { type LogitGraphs, logitGraphs } from '../../support/logitGraph.ts';
import { lossGraphs } from '../../support/lossGraph.ts';
import { compare } from '../compare.ts';
import { type Subjects, subject, subjectWith } from '../subject.ts';

interface AdvantageArgs {
  readonly success: readonly number[];
  readonly action: readonly number[];
  /** Where given: token advantages too. */
  readonly lengths?: readonly number[];
  readonly spans?: readonly (readonly OracleSpan[])[];
  readonly search?: boolean;
}
interface GradientArgs {
  readonly group: readonly OracleRollout[];
  readonly epsilon: number;
  readonly search: boolean;
}

interface MetricArgs {
  readonly calls: readonly RecordedCall[];
  readonly output: string;
  readonly gold: never;
}

/** The benchmarks' metrics by their names; each reads of the arguments what it needs. */
const metrics: Readonly<Record<string, (args: MetricArgs) => unknown>> = {
  toolBench: ({ calls, gold }) => toolBenchPath(calls, gold),
  apiBank: ({ calls, gold }) => apiBank(calls, gold),
  restBench: ({ calls, gold: { endpoints, used } }) =>
    restBench(endpointsUsed(calls, endpoints), used),
  toolHop: ({ output, calls, gold }) => toolHop(output, calls, gold),
  alfWorld: ({ calls, gold: { done, subgoals } }) => alfWorld(done, calls, subgoals),
  webShop: ({ gold }) => webShop(gold),
  apiBankPath: ({ gold }) => apiBankPath(gold),
  endpointFunction: ({ output }) => endpointFunction(output),
};

export const toolPoSubjects: Subjects = {
  'deep-metrics': subject<MetricArgs & { readonly set: string }>((args) =>
    metrics[args.set]!(args),
  ),
  'deep-boxed': subject<{ output: string; form: DeepAgentBox }>(({ output, form }) =>
    deepAgentAnswer(output, form),
  ),
  'toolpo-advantage': subject<AdvantageArgs>(advantages),
  'toolpo-fold-preference': subject<{
    direct?: number;
    fold?: number;
    group?: readonly { readonly length: number; readonly folds: number }[];
  }>(({ direct, fold, group }) =>
    group === undefined
      ? foldPreference(direct!, fold!)
      : same(foldPreferences(group), preferences(group)),
  ),
  'toolpo-calls': subject<{
    calls: readonly CreditedCall[];
    gold: CallGold | null;
    credit: CallCredit;
  }>(({ calls, gold, credit }) => {
    const verdicts = callVerdicts(calls, gold);
    return { verdicts, credit: callCredit(calls, verdicts, credit) };
  }),
  'toolpo-surrogate': subjectWith(
    lossGraphs,
    async (
      { ratio, advantage, epsilon }: { ratio: number; advantage: number; epsilon: number },
      graphs,
    ) => {
      const loss = objective(epsilon);
      const given = { logProbs: [[Math.log(ratio)]], oldLogProbs: [[0]], mask: [[1]] };
      const found = await graphs.run(loss, { ...given, advantages: [[advantage]] });
      return same(-found.loss, surrogate(ratio, advantage, epsilon));
    },
  ),
  'toolpo-gradient': subjectWith(logitGraphs, gradient),
  'simulator-reply': subject<string>((text) => simulatorReply(text)),
};

function advantages({ success, action, lengths, spans, search = false }: AdvantageArgs): unknown {
  const own = { success: toolPo()(success), action: toolPo()(action) };
  if (lengths === undefined) return own;
  const tokens = lengths.map((length, k) =>
    Array.from(
      withActions(
        new Float64Array(length).fill(own.success[k]!),
        own.action[k]!,
        actionMask(length, spans![k]!, { search }),
      ),
    ),
  );
  const group = success.map((value, k) => ({
    success: value,
    action: action[k]!,
    spans: spans![k]!,
  }));
  same(tokens, tokenAdvantages(group, lengths, search));
  return { ...own, tokens };
}

/** The clipped loss without dual clip, summed over a rollout's tokens. */
function objective(epsilon: number): NamedLoss {
  const settings = { clipLow: epsilon, clipHigh: epsilon, clipC: 1e6 };
  return { name: 'clipped', settings: { ...settings, aggregation: 'seq-mean-token-sum' } };
}

async function gradient({ group, epsilon, search }: GradientArgs, graphs: LogitGraphs) {
  const lengths = group.map(({ rounds }) => rounds.flatMap(({ tokens }) => tokens).length);
  const { success, action } = {
    success: toolPo()(group.map((one) => one.success)),
    action: toolPo()(group.map((one) => one.action)),
  };
  const sequences = group.flatMap(({ rounds, spans }, k) => {
    const plain = new Float64Array(lengths[k]!).fill(success[k]!);
    const all = withActions(plain, action[k]!, actionMask(lengths[k]!, spans, { search }));
    let at = 0;
    return rounds.map((round) => {
      const own = all.slice(at, at + round.tokens.length);
      at += round.tokens.length;
      return sequenceOf(round, own, k);
    });
  });
  const logits = group.flatMap(({ rounds }) =>
    rounds.flatMap((round) => round.logits.filter((_, t) => round.mask[t] === 1)),
  );
  const found = await graphs.run(objective(epsilon), sequences, logits);
  const rows = found.gradient.values();
  const gradients = group.map(({ rounds }) =>
    rounds.map((round) =>
      round.logits.map((row, t) =>
        round.mask[t] === 1 ? (rows.next().value as number[]) : row.map(() => 0),
      ),
    ),
  );
  same(found.loss, toolPoLoss(group, epsilon, search));
  same(gradients, toolPoGradient(group, epsilon, search));
  return { loss: found.loss, gradient: gradients };
}

/** Place 0 is no target, so token t is at place t + 1. */
function sequenceOf(
  { tokens, mask, oldLogProbs }: OracleRollout['rounds'][number],
  advantages: Float64Array,
  rollout: number,
): TargetSequence {
  // in float64, so that the arithmetic is checked and not the rounding
  const behind = (values: ArrayLike<number>) =>
    Float64Array.from([0, ...Array.from(values)]) as unknown as Float32Array;
  const sequence: TrainSequence = {
    tokens: Int32Array.from([0, ...tokens]),
    mask: Uint8Array.from([0, ...mask]),
    advantages: behind(advantages),
    oldLogProbs: behind(oldLogProbs),
    rollout,
  };
  return {
    ...sequence,
    places: [...sequence.mask.keys()].filter((at) => sequence.mask[at] === 1),
  };
}

/** `found`, which the plain writing must say too. */
function same<T>(found: T, plain: unknown): T {
  const { difference } = compare(found, plain, 1e-7);
  if (difference !== null) throw new Error(`product and plain writing differ: ${difference}`);
  return found;
}
