/**
 * The phases of a run: which stages belong to each, by the topics between them, and which phases are
 * finished. A stage that serves all phases (the trainer) belongs to none.
 */
import { metricNames } from '../../../summary/index.ts';
import { type Metric, topics, type Weights } from '../../../topics/index.ts';

const FINE_TUNING = 'Fine-tuning';
const PREFERENCES = 'Preferences';
const RL = 'RL';
const MEASUREMENT = 'Measurement';

interface Stage {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly inflight: number;
}

/** The phase of each stage, in order; empty for none. */
export function phasesOf(stages: readonly Pick<Stage, 'from' | 'to'>[]): readonly string[] {
  const trainsOn = (topic: { readonly name: string }): boolean =>
    stages.some(({ from, to }) => to === topics.batches.name && from === topic.name);
  const rolled = trainsOn(topics.scored) || trainsOn(topics.selected);
  const preferred = trainsOn(topics.pairs) ? PREFERENCES : '';
  const phaseBy: readonly (readonly [
    phase: string,
    topics: readonly { readonly name: string }[],
  ])[] = [
    ['', [topics.weights]],
    [MEASUREMENT, [topics.metrics]],
    [FINE_TUNING, [topics.evolved, topics.demonstrations]],
    [PREFERENCES, [topics.pairs]],
    [rolled ? RL : preferred, [topics.rollouts, topics.scored, topics.selected]],
  ];
  return stages.map(({ from, to }) => {
    const found = phaseBy.find(([, of]) => of.some(({ name }) => name === to || name === from));
    return found?.[0] ?? '';
  });
}

/** What a run has trained on, by its metrics and weights. */
export class Trained {
  /** The newest round of demonstrations or pairs, and of groups of rollouts; 0 before any. */
  #examples = 0;
  #groups = 0;
  #done = 0;

  metric({ name, round }: Pick<Metric, 'name' | 'round'>): void {
    if (name === metricNames.examples) this.#examples = Math.max(this.#examples, round);
    if (name === metricNames.reward) this.#groups = Math.max(this.#groups, round);
  }

  weights({ roundsDone }: Pick<Weights, 'roundsDone'>): void {
    this.#done = Math.max(this.#done, roundsDone);
  }

  /**
   * Phases that are done, at least for now: the policy has learned what they teach, and none of their work is
   * left.
   */
  finished(stages: readonly Stage[], records: (topic: string) => number): ReadonlySet<string> {
    const phases = phasesOf(stages);
    const learned = this.#examples > 0 && this.#done >= this.#examples;
    const paired = records(topics.pairs.name) > 0;
    const done = new Set([
      ...(learned || (paired && this.#examples > 0) ? [FINE_TUNING] : []),
      ...(learned && paired ? [PREFERENCES] : []),
      ...(this.#groups > 0 && this.#examples > this.#groups ? [RL] : []),
    ]);
    stages.forEach(({ inflight }, i) => {
      if (inflight > 0) done.delete(phases[i]!);
    });
    return done;
  }
}
