/**
 * How close an engine's log-probs must be to the trainer's if both have the same weights.
 *
 * With the same weights only rounding sets them apart: two float32 computations by about 1e-5 nats a token
 * (mean; SmolLM2-135M and small checkpoints, measured), half precision by some hundredths, products in 8 bits
 * by 0.07 (SmolLM2-135M). The first measurement bounds later ones: rounding stays the same, other weights
 * stand out.
 */

/** The arithmetic of an engine or a trainer, as far as known. */
export type Precision = 'float32' | 'lower' | 'int8' | 'unknown';

/** Differences of log-probs of the same tokens, nats. */
export interface Apart {
  readonly mean: number;
  readonly max: number;
}

/** How close an engine has to be. */
export interface AgreementRule {
  readonly precision: Precision;
  /** Largest mean difference (nats a token); null = what its precision allows. */
  readonly meanMax: number | null;
}

/** Between an engine and a trainer: the bounds are those of the less exact of the two. */
export function ruleBetween(
  { agreement }: { readonly agreement?: AgreementRule },
  { precision = 'float32' }: { readonly precision?: Precision },
): AgreementRule | null {
  if (agreement === undefined) return null;
  return agreement.precision === 'float32' ? { ...agreement, precision } : agreement;
}

/**
 * What precisions allow before any measurement, and what they allow however well the first weights agreed;
 * nats per token.
 */
const ALLOWED = {
  float32: { first: 1e-3, least: 2e-4 },
  lower: { first: 0.05, least: 0.02 },
  int8: { first: 0.25, least: 0.1 },
  unknown: { first: 0.05, least: 0.02 },
} as const satisfies Record<Precision, { first: number; least: number }>;

const REASONS: Record<Precision, string> = {
  float32: 'both compute in float32',
  lower: 'more than rounding in half precision',
  int8: 'more than rounding to 8 bits',
  unknown: 'more than rounding in half precision',
};

/** Later weights may agree this much worse than the first. */
const TIMES = 4;
/** The largest of some hundred differences is below this many times their bound. */
const PEAK = 20;

/**
 * The bound of one comparison that is repeated: a canary's, or that of the rollouts of every
 * step.
 */
export class Agreement {
  readonly #rule: AgreementRule;
  #first: number | null = null;

  constructor(rule: AgreementRule) {
    this.#rule = rule;
  }

  /** Largest mean difference, nats a token. */
  get meanMax(): number {
    const { precision, meanMax } = this.#rule;
    const { first, least } = ALLOWED[precision];
    const most = meanMax ?? first;
    if (this.#first === null) return most;
    return Math.min(most, Math.max(least, TIMES * this.#first));
  }

  /** Largest difference of any of some hundred tokens, nats. */
  get max(): number {
    return PEAK * this.meanMax;
  }

  /** Whether nothing has been measured yet. */
  get isNew(): boolean {
    return this.#first === null;
  }

  /** Records what the first weights agreed within; later measurements change nothing. */
  measured(mean: number): void {
    this.#first ??= mean;
  }

  /** The reason for the bound, for messages. */
  get reason(): string {
    const { precision, meanMax } = this.#rule;
    const first = this.#first;
    if (first !== null && this.meanMax < (meanMax ?? ALLOWED[precision].first)) {
      return `the first weights agreed within ${first.toPrecision(2)}`;
    }
    if (meanMax !== null) return 'engine.canaryMax';
    return REASONS[precision];
  }
}
