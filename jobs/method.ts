/**
 * Methods, and `trainPolicy`, which makes a training job of them.
 *
 * A method (`flywheel`, `finetune`, `calibrate`, `toolStar`, `toolLight`, …) is a value: how many rounds it
 * takes, what it decides of the loop, and its wiring. A job lists its methods; they train one policy, one
 * after the other, each from the weights of the one before:
 *
 *     trainPolicy(context, parts, rows, [flywheel(…), finetune(…), calibrate(…)])
 */
import { MillraceError } from '../base/index.ts';
import type { VerifyAnswer } from '../operators/rewards/index.ts';
import { type Flow, flow } from '../streams/index.ts';
import type { JobContext } from './defineJob.ts';
import { LiveHandle, type LiveSettings } from './live.ts';
import type { JobQuestions, RoundPlan } from './plan.ts';
import { planQuestions } from './planQuestions.ts';
import { type LoopOptions, type PolicyLoop, type PolicyParts, policyLoop } from './policyLoop.ts';
import type { PolicySettings } from './policySettings.ts';
import { verifierOf } from './verifier.ts';

/** What a method is planned for. */
export interface MethodPlace {
  /** Questions to train on; infinite if they are endless. */
  readonly train: number;
  /** The rounds of the methods before it. */
  readonly before: readonly RoundPlan[];
  readonly seed: number;
  /** Settings changed since the run began, as they apply to a question; empty if left out. */
  readonly live?: Pick<LiveSettings, 'of' | 'at' | 'ready'>;
  /** Compares mathematical answers symbolically; absent if `equality` names no verifier. */
  readonly verify?: VerifyAnswer;
}

/**
 * What a method decides about the loop. Losses, rates and other training options are merged; otherwise the
 * last method counts.
 */
export type LoopShare = Partial<Omit<LoopOptions, 'training'>> & {
  readonly training?: Partial<LoopOptions['training']>;
};

/** A method that knows how many questions there are and which rounds come before its own. */
export interface PlannedMethod {
  /** Its rounds, after those `before`. */
  readonly rounds: readonly RoundPlan[];
  readonly loop: LoopShare;
  /** Its parts of the flow, including those of the loop that it uses. */
  wire(loop: PolicyLoop): Flow;
}

/**
 * A method of training as a value: given its place in the job, its rounds, its share of the loop and its
 * wiring.
 */
export type Method = (place: MethodPlace) => PlannedMethod;

/**
 * The flow of a training job: plans the questions of all methods' rounds, opens the loop that they share, and
 * wires them.
 *
 * @param rows the questions to train on and to evaluate on, each read once.
 * @throws code `QUESTIONS_FILE` if there are too few questions, and code `METHOD` if no method says how
 * questions are rolled out.
 */
export async function trainPolicy(
  context: JobContext<PolicySettings>,
  parts: PolicyParts,
  rows: JobQuestions,
  methods: readonly Method[],
): Promise<Flow> {
  const { settings, seed, log, clock, print } = context;
  const live = context.own(new LiveHandle(context.control));
  const verify = await verifierOf(context);
  const verifying = verify === null ? {} : { verify };
  const planned = (train: number) => planMethods(methods, { train, seed, live, ...verifying });
  const layout = (train: number) => planned(train).flatMap(({ rounds }) => rounds);
  const shared = { log, clock, print };
  const plan = await planQuestions(rows, layout, { heldOut: settings.heldOut, seed, ...shared });
  const ready = planned(plan.train);
  const options = { ...loopOptions(ready.map((one) => one.loop)), live, ...verifying };
  const loop = await policyLoop(context, parts, plan, options);
  return flow(...ready.map((method) => method.wire(loop)));
}

/** The methods in order, each after the rounds of those before it. */
export function planMethods(
  methods: readonly Method[],
  place: Omit<MethodPlace, 'before'>,
): PlannedMethod[] {
  const planned: PlannedMethod[] = [];
  for (const method of methods) {
    const before = planned.flatMap(({ rounds }) => rounds);
    if (before.at(-1)?.next !== undefined) throw behindForever();
    planned.push(method({ ...place, before }));
  }
  return planned;
}

function behindForever(): MillraceError {
  return new MillraceError(
    'METHOD',
    'a method is listed after one that never ends (rounds=forever): list it first, or give that one a number of rounds',
  );
}

/** Merges several shares into one. */
export function sharesOf(shares: readonly LoopShare[]): LoopShare {
  const losses = Object.assign({}, ...shares.map(({ training }) => training?.losses));
  const training = Object.assign({}, ...shares.map((share) => share.training), { losses });
  const rates = Object.assign({}, ...shares.map((share) => share.rates));
  return Object.assign({}, ...shares, { training, rates });
}

/** The loop's options from all shares. */
export function loopOptions(shares: readonly LoopShare[]): LoopOptions {
  const { samples, branching, reward, advantage, ...share } = sharesOf(shares);
  if (!samples || !branching || !reward || !advantage) {
    throw new MillraceError(
      'METHOD',
      'no method of this job defines rollouts and rewards; add one that does, such as calibrate',
    );
  }
  const { training, rates = {}, batchGroups = 1, window = 1, ...rest } = share;
  return {
    ...rest,
    samples,
    branching,
    reward,
    advantage,
    training: { losses: {}, miniBatches: 1, ...training },
    rates,
    batchGroups,
    window,
  };
}
