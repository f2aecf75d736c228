/** The outcome of training, whether or not anything was measured on held-out questions. In bounded memory. */
import type { Metric } from '../topics/index.ts';
import { metricNames } from './metricNames.ts';

/** A number over the steps. */
export interface Course {
  readonly first: number;
  readonly last: number;
  readonly lowest: number;
  /** Where it was lowest. */
  readonly lowestStep: number;
  readonly highest: number;
}

/** What `report --json` says about training. */
export interface Training {
  readonly steps: number;
  /** Tokens trained on, over all steps. */
  readonly tokens: number;
  /** Time in the trainer. */
  readonly seconds: number;
  /** Demonstrations or pairs; null if the steps were on rollouts. */
  readonly examples: number | null;
  readonly loss: Course | null;
  readonly learningRate: Course | null;
  /** Mean cross-entropy of held-out targets; null if there are none. */
  readonly heldOutLoss: Course | null;
}

export class TrainingTally {
  readonly #courses = new Map<string, Course>();
  #steps = 0;
  /** The last step that was counted, or left out. */
  #lastStep = -1;
  #rate = 0;
  #tokens = 0;
  #ms = 0;
  #examples: number | null = null;

  /** In the order of the log. */
  add({ name, step, value }: Metric): void {
    if (courses.has(name)) this.#follow(name, step, value);
    if (name === metricNames.trained) this.#rate = value;
    if (name === metricNames.examples) this.#examples = (this.#examples ?? 0) + value;
    if (name === metricNames.leftOut) this.#lastStep = step;
    // The last number of a step, so its rate has been read before.
    if (name !== metricNames.trainMs) return;
    if (step !== this.#lastStep) this.#steps += 1;
    this.#lastStep = step;
    this.#ms += value;
    this.#tokens += (this.#rate * Math.max(1, value)) / 1000;
  }

  /** Null before the first step. */
  get training(): Training | null {
    const heldOutLoss = this.#courses.get(metricNames.heldOutLoss) ?? null;
    if (this.#steps === 0 && heldOutLoss === null) return null;
    return {
      steps: this.#steps,
      tokens: Math.round(this.#tokens),
      seconds: this.#ms / 1000,
      examples: this.#examples,
      loss: this.#courses.get(metricNames.loss) ?? null,
      learningRate: this.#courses.get(metricNames.learningRate) ?? null,
      heldOutLoss,
    };
  }

  #follow(name: string, step: number, value: number): void {
    if (!Number.isFinite(value)) return;
    const before = this.#courses.get(name);
    const isLowest = before === undefined || value < before.lowest;
    this.#courses.set(name, {
      first: before?.first ?? value,
      last: value,
      lowest: isLowest ? value : before.lowest,
      lowestStep: isLowest ? step : before.lowestStep,
      highest: Math.max(before?.highest ?? value, value),
    });
  }
}

const courses: ReadonlySet<string> = new Set([
  metricNames.loss,
  metricNames.learningRate,
  metricNames.heldOutLoss,
]);
