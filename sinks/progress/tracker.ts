/**
 * How far a run is: from the weights of its rounds and the position of the last step in its round. Pure.
 */
import type { ProgressEvent, ProgressStatus, Pulse } from './events.ts';
import type { Measured } from './measuring.ts';

export interface TrackerOptions {
  /** Names of the rounds; round 0 is before any training. */
  readonly rounds: readonly string[];
  /** The last round repeats forever: the share done and the time left are unknown. */
  readonly endless?: boolean;
  /** Optimiser steps in all, if known. */
  readonly steps?: number;
  /** Weight of each round (its questions, for example), including round 0; left out = all equal. */
  readonly weights?: readonly number[];
}

/** Name of a round; those of an endless job only have numbers. */
export function roundName(rounds: readonly string[], round: number): string {
  const last = rounds.at(-1) ?? '';
  const number = /\d+$/.exec(last);
  if (round < rounds.length || number === null) return rounds[round] ?? `round ${round}`;
  return `${last.slice(0, number.index)}${Number(number[0]) + round - rounds.length + 1}`;
}

/** Until this share is done, the time left is unknown. */
const SHARE_MIN = 0.02;
/** Tokens are counted over this many samples. */
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
    const { rounds, steps } = this.#options;
    const last = this.#last;
    const under = this.#under(last);
    const measured = typeof pulse === 'string' ? null : (pulse.measuring ?? null);
    const round = this.#options.endless ? under : Math.min(rounds.length - 1, under);
    return {
      round,
      roundName: roundName(rounds, round),
      rounds: this.#options.endless ? null : rounds.length - 1,
      step: last?.kind === 'step' ? last.step : null,
      steps: steps ?? null,
      share: this.#options.endless ? null : Math.max(this.#share, this.#begun(measured)),
      leftMs: this.#leftMs(nowMs),
      generatedPerSecond: this.#generated(pulse, nowMs),
      trainedPerSecond: this.#trained,
      reward: this.#reward,
      measuring: measured && { ...measured, name: this.#measuredName(measured.round) },
      pulse,
    };
  }

  #measuredName(round: number): string {
    const name = roundName(this.#options.rounds, round);
    return round === 0 ? name : `after ${name}`;
  }

  /** The share done by the measurement before any training. */
  #begun(measured: Measured | null): number {
    const { weights, rounds, steps } = this.#options;
    if (measured === null || measured.round !== 0 || steps !== undefined) return 0;
    const all = weights ?? rounds.map(() => 1);
    const sum = all.reduce((total, one) => total + one, 0);
    return ((measured.done / measured.of) * (all[0] ?? 0)) / Math.max(1e-9, sum);
  }

  /** The round under way. */
  #under(last: ProgressEvent | null): number {
    if (last === null) return 0;
    return last.kind === 'evaluation' ? last.round + 1 : last.round;
  }

  #shareAt({ kind, round, step, numbers }: ProgressEvent): number {
    const { steps, rounds } = this.#options;
    if (steps !== undefined) return kind === 'step' ? Math.min(1, step / steps) : this.#share;
    const weights = this.#options.weights ?? rounds.map(() => 1);
    const sum = (of: readonly number[]): number => of.reduce((all, one) => all + one, 0);
    const own = weights[round] ?? 0;
    const within = kind === 'evaluation' ? 1 : (numbers['round/share'] ?? 0);
    return (sum(weights.slice(0, round)) + within * own) / Math.max(1e-9, sum(weights));
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
