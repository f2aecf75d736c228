/** How far a run is: from what its stages weigh, and where in its stage the last step was. Pure but for what it is told. */
import type { ProgressEvent, ProgressStatus, Pulse } from './events.ts';

export interface TrackerOptions {
  /** What each stage is called; stage 0 is before any training. */
  readonly stages: readonly string[];
  /** The last of them is repeated without an end: nobody can say what share is done, or how much is left. */
  readonly endless?: boolean;
  /** Optimiser steps in all, where that is known. */
  readonly steps?: number;
  /** What each stage weighs (its questions, say), stage 0 included; left out = all the same. */
  readonly weights?: readonly number[];
}

/** What a stage is called; those of a job without an end are rounds, told apart by their number. */
export function stageName(stages: readonly string[], stage: number): string {
  const last = stages.at(-1) ?? '';
  const number = /\d+$/.exec(last);
  if (stage < stages.length || number === null) return stages[stage] ?? `stage ${stage}`;
  return `${last.slice(0, number.index)}${Number(number[0]) + stage - stages.length + 1}`;
}

/** Before so much has been done, nobody can say how long the rest takes. */
const SHARE_MIN = 0.02;
/** Tokens are counted over so many looks. */
const LOOKS = 10;

export class ProgressTracker {
  readonly #options: TrackerOptions;
  /** The share and the time at the first event: a resumed run does not begin at 0. */
  #first: { readonly share: number; readonly atMs: number } | null = null;
  #last: ProgressEvent | null = null;
  #share = 0;
  #reward: number | null = null;
  #trained: number | null = null;
  readonly #looks: { readonly tokens: number; readonly atMs: number }[] = [];

  constructor(options: TrackerOptions) {
    this.#options = options;
  }

  add(event: ProgressEvent): void {
    this.#last = event;
    this.#share = Math.max(this.#share, this.#shareAt(event));
    this.#first ??= { share: this.#share, atMs: event.atMs };
    this.#reward = event.numbers['reward/mean'] ?? this.#reward;
    this.#trained = event.numbers['thr/train_tok_s'] ?? this.#trained;
  }

  status(pulse: Pulse | string, nowMs: number): ProgressStatus {
    const { stages, steps } = this.#options;
    const last = this.#last;
    const under = this.#under(last);
    const stage = this.#options.endless ? under : Math.min(stages.length - 1, under);
    return {
      stage,
      stageName: stageName(stages, stage),
      stages: this.#options.endless ? null : stages.length - 1,
      step: last?.kind === 'step' ? last.step : null,
      steps: steps ?? null,
      share: this.#options.endless ? null : this.#share,
      leftMs: this.#leftMs(nowMs),
      generatedPerSecond: this.#generated(pulse, nowMs),
      trainedPerSecond: this.#trained,
      reward: this.#reward,
      pulse,
    };
  }

  /** The stage that is under way. */
  #under(last: ProgressEvent | null): number {
    if (last === null) return 0;
    return last.kind === 'evaluation' ? last.stage + 1 : last.stage;
  }

  #shareAt({ kind, stage, step, numbers }: ProgressEvent): number {
    const { steps, stages } = this.#options;
    if (steps !== undefined) return kind === 'step' ? Math.min(1, step / steps) : this.#share;
    const weights = this.#options.weights ?? stages.map(() => 1);
    const sum = (of: readonly number[]): number => of.reduce((all, one) => all + one, 0);
    const own = weights[stage] ?? 0;
    const within = kind === 'evaluation' ? 1 : (numbers['stage/share'] ?? 0);
    return (sum(weights.slice(0, stage)) + within * own) / Math.max(1e-9, sum(weights));
  }

  #leftMs(nowMs: number): number | null {
    if (this.#options.endless) return null;
    if (this.#first === null || this.#last === null || this.#share >= 1) return null;
    const done = this.#share - this.#first.share;
    if (done < SHARE_MIN) return null;
    const tookMs = this.#last.atMs - this.#first.atMs;
    const leftMs = (tookMs / done) * (1 - this.#share);
    return Math.max(0, leftMs - (nowMs - this.#last.atMs));
  }

  #generated(pulse: Pulse | string, nowMs: number): number | null {
    if (typeof pulse === 'string') return null;
    this.#looks.push({ tokens: pulse.generatedTokens, atMs: nowMs });
    if (this.#looks.length > LOOKS) this.#looks.shift();
    const [from] = this.#looks;
    const ms = nowMs - from!.atMs;
    return ms <= 0 ? null : ((pulse.generatedTokens - from!.tokens) * 1000) / ms;
  }
}
