/**
 * Rotary positions: the angle per position of every pair of a head's dimensions, scaled for longer contexts
 * or not.
 *
 * Pair i of a head of width d turns by position * f[i], f[i] = theta^(-2i / d) before scaling. Formulas of
 * the scaled forms are those of the `transformers` library, so that its checkpoints mean the same here. All
 * of them are fixed by the configuration: no angle depends on how long a sequence is, which cached keys could
 * not follow.
 */
import { type DecoderConfig, headDim, type RopeScaling } from './config.ts';

export interface Rotation {
  /** Radians per position, one a pair: [headDim / 2]. */
  readonly frequencies: readonly number[];
  /** Factor on cosines and sines; 1 except for YaRN. */
  readonly factor: number;
}

/** What positions do to queries and keys under this configuration. */
export function rotation(config: DecoderConfig): Rotation {
  const plain = plainFrequencies(config);
  const scaling = config.ropeScaling;
  switch (scaling?.kind) {
    case undefined:
    case 'dynamic':
      return { frequencies: plain, factor: 1 };
    case 'linear':
      return { frequencies: plain.map((value) => value / scaling.factor), factor: 1 };
    case 'llama3':
      return { frequencies: plain.map((value) => llama3(value, scaling)), factor: 1 };
    case 'yarn':
      return { frequencies: yarn(plain, config, scaling), factor: sharpening(scaling) };
    default:
      throw new Error(`unknown rope scaling '${JSON.stringify(scaling satisfies never)}'`);
  }
}

/**
 * Throws when a context of `positions` tokens cannot be computed. Dynamic scaling changes every angle with
 * the length of the sequence once that passes `maxPositions`; keys that are cached would have other angles
 * than new ones.
 */
export function checkPositions({ ropeScaling, maxPositions }: DecoderConfig, positions: number) {
  if (ropeScaling?.kind !== 'dynamic') return;
  if (maxPositions === undefined || positions > maxPositions)
    throw new Error(
      `a context of ${positions} tokens is beyond the ${maxPositions ?? 'unknown number of'} positions ` +
        'that dynamic rope scaling leaves unscaled: use shorter contexts, or yarn or linear scaling',
    );
}

function plainFrequencies(config: DecoderConfig): readonly number[] {
  const half = headDim(config) / 2;
  return Array.from({ length: half }, (_, i) => config.ropeTheta ** (-i / half));
}

function llama3(
  frequency: number,
  scaling: Extract<RopeScaling, { readonly kind: 'llama3' }>,
): number {
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high } = scaling;
  /** Turns over the original context. */
  const turns = (scaling.originalMaxPositions * frequency) / (2 * Math.PI);
  if (turns < low) return frequency / factor;
  if (turns > high) return frequency;
  const kept = (turns - low) / (high - low);
  return (1 - kept) * (frequency / factor) + kept * frequency;
}

type Yarn = Extract<RopeScaling, { readonly kind: 'yarn' }>;

function yarn(plain: readonly number[], config: DecoderConfig, scaling: Yarn): readonly number[] {
  const width = headDim(config);
  const { factor, originalMaxPositions, betaFast = 32, betaSlow = 1, truncate = true } = scaling;
  /** The dimension whose pair makes this many turns over the original context. */
  const dimension = (turns: number) =>
    (width * Math.log(originalMaxPositions / (turns * 2 * Math.PI))) /
    (2 * Math.log(config.ropeTheta));
  const [first, last] = [dimension(betaFast), dimension(betaSlow)];
  const low = Math.max(truncate ? Math.floor(first) : first, 0);
  const high = Math.min(truncate ? Math.ceil(last) : last, width - 1);
  const span = high === low ? 0.001 : high - low;
  return plain.map((frequency, i) => {
    const divided = Math.min(1, Math.max(0, (i - low) / span));
    return divided * (frequency / factor) + (1 - divided) * frequency;
  });
}

function sharpening({ factor, attentionFactor, mscale, mscaleAllDim }: Yarn): number {
  const scale = (strength: number) => (factor <= 1 ? 1 : 0.1 * strength * Math.log(factor) + 1);
  if (attentionFactor !== undefined) return attentionFactor;
  return mscale && mscaleAllDim ? scale(mscale) / scale(mscaleAllDim) : scale(1);
}
