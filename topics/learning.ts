/**
 * Whether the steps of a run taught the policy anything, from its metrics: a step on groups in which all
 * rollouts got the same reward, on no examples, or whose gradients were not finite makes a version like the
 * one before it, and looks like any other. A fold over `metrics` in order, in bounded memory.
 */
import { counted } from '../base/text/index.ts';
import type { Metric } from './metrics.ts';

/** Why a step taught nothing. */
export type Idleness =
  | 'uniform'
  | 'failed'
  | 'examples'
  | 'refused'
  | 'skipped'
  | 'rate'
  | 'gradient';

/** Consecutive steps that taught nothing, all for the same reason. */
export interface IdleSteps {
  readonly why: Idleness;
  readonly from: number;
  readonly to: number;
  /** Of the last step; 0 if nothing is rewarded. */
  readonly reward: number;
  readonly accuracy: number;
  /** Examples left out. */
  readonly dropped: number;
  /** Mean difference between the engine's and the trainer's log-probs, in nats per token. */
  readonly apart: number;
}

/** One or two steps without anything to learn are normal; from here on the run looks stuck. */
const NOTABLE = 3;

/** The last number that a step writes; the others were committed before it. */
const LAST = 'time/train_ms';

/** Reads the metrics of a run in order and finds the steps that taught nothing. */
export class Learning {
  #numbers = new Map<string, number>();
  #first: number | null = null;
  #steps = 0;
  #now: IdleSteps | null = null;
  /** The longest streak for each reason, in order of appearance. */
  readonly #longest = new Map<Idleness, IdleSteps>();

  /** The streak of steps that taught nothing, once it is too long. Once per reason. */
  add({ name, step, value }: Pick<Metric, 'name' | 'step' | 'value'>): IdleSteps | null {
    this.#numbers.set(name, value);
    if (name !== LAST) return null;
    const numbers = this.#numbers;
    this.#numbers = new Map();
    this.#first ??= step;
    this.#steps += 1;
    const why = idlenessOf(numbers);
    if (why === null) {
      this.#now = null;
      return null;
    }
    const from = this.#now?.why === why ? this.#now.from : step;
    const of = (metric: string): number => numbers.get(metric) ?? 0;
    const [reward, accuracy] = [of('reward/mean'), of('accuracy/mean')];
    const [dropped, apart] = [of('examples/dropped'), of('logprob/diff_mean')];
    const now = { why, from, to: step, reward, accuracy, dropped, apart };
    const before = this.#longest.get(why);
    this.#now = now;
    if (before === undefined || lengthOf(now) > lengthOf(before)) this.#longest.set(why, now);
    const wasNotable = before !== undefined && isNotable(before);
    return !wasNotable && isNotable(now) ? now : null;
  }

  /** Notes on the run so far, one sentence each; empty if it learns. */
  notes(run: string): readonly string[] {
    return [...this.#longest.values()]
      .filter((idle) => isNotable(idle) || this.#isAll(idle))
      .map((idle) => noteOf(idle, { run, all: this.#isAll(idle) }));
  }

  #isAll(idle: IdleSteps): boolean {
    return lengthOf(idle) === this.#steps && this.#first === 1;
  }
}

function idlenessOf(numbers: ReadonlyMap<string, number>): Idleness | null {
  if (numbers.get('step/left_out') === 1) return null;
  if (numbers.get('examples') === 0) return 'examples';
  if (numbers.get('step/refused') === 1) return 'refused';
  if (numbers.get('rollouts/failed') === 1) return 'failed';
  if (numbers.get('groups/uniform') === 1) return 'uniform';
  if (numbers.get('step/applied') === 0 && numbers.get('step/skipped') !== 0) return 'skipped';
  if (numbers.get('lr') === 0) return 'rate';
  // Some services do not report it; then it is NaN.
  return numbers.get('grad_norm') === 0 ? 'gradient' : null;
}

function lengthOf({ from, to }: IdleSteps): number {
  return to - from + 1;
}

/** Steps without examples, or with rollouts of other weights, are reported at once. */
function isNotable(idle: IdleSteps): boolean {
  return idle.why === 'examples' || idle.why === 'refused' || lengthOf(idle) >= NOTABLE;
}

/** Which steps taught nothing, why, and what to do. `all` = they are all of the run's steps. */
export function noteOf(
  idle: IdleSteps,
  { run = 'RUN', all = false }: { readonly run?: string | undefined; readonly all?: boolean } = {},
): string {
  const { from, to } = idle;
  const which = from === to ? `step ${from}` : `steps ${from} to ${to}`;
  const steps = all
    ? `no step taught the policy anything (${which})`
    : `${which} taught the policy nothing`;
  return `${steps}: ${reasonOf(idle, run)}`;
}

function reasonOf({ why, reward, accuracy, dropped, apart }: IdleSteps, run: string): string {
  switch (why) {
    case 'uniform':
      return `all rollouts of a question got the same reward (mean ${reward.toFixed(3)}), so none was better than another; ${adviceOf(accuracy, run)}`;
    case 'failed':
      return `every rollout failed; see why: millrace tap ${run}.rollouts -n 3`;
    case 'examples':
      return dropped > 0
        ? `there were no examples (${counted(dropped, 'example')} left out as too long or without anything to learn); see tokensMax`
        : `there were no examples: the attempts gave no demonstration or pair; see: millrace tap ${run}.demonstrations ${run}.pairs`;
    case 'refused':
      return `its rollouts were not sampled with the policy's weights: the engine's log-probs differ from the trainer's by ${apart.toPrecision(2)} nats a token; the weights are being published again`;
    case 'skipped':
      return 'no gradient was finite, so no optimiser step was made; lower lr, and check your loss if you wrote it';
    case 'rate':
      return 'the learning rate was 0; see lr, lrSteps and the schedule';
    case 'gradient':
      return 'the gradient was 0; no trained token has an advantage, or all are clipped (clip/fraction)';
  }
}

function adviceOf(accuracy: number, run: string): string {
  if (accuracy === 0) {
    return 'no answer was right: use easier questions, more rollouts per question or a higher temperature, or fine-tune on demonstrations first';
  }
  if (accuracy === 1) return 'every answer was right: use harder questions';
  return `more rollouts per question or a higher temperature would make them differ; to see the rewards: millrace tap ${run}.scored -n 3`;
}
