/**
 * What `rope_freqs.weight` means: the scaling of Llama 3.1 and later, which its files give as a factor
 * for each frequency, and `config.json` as four numbers.
 *
 * Factors that these four do not give are refused.
 */
import type { DecoderConfig, RopeScaling } from '../config.ts';
import { rotation } from '../rope.ts';
import { refuse } from './network.ts';

/** The same for all Llamas that have it; only the factor differs. */
const USUAL = {
  lowFrequencyFactor: 1,
  highFrequencyFactor: 4,
  originalMaxPositions: 8192,
} as const;

const CLOSE = 1e-4;

/** `config` has no scaling yet. Throws `MODEL_CONFIG`. */
export function llama3Scaling(
  path: string,
  config: DecoderConfig,
  factors: Float32Array,
): RopeScaling {
  // the lowest frequency is divided by the whole factor
  const scaling = { kind: 'llama3', factor: Math.round(factors.at(-1)!), ...USUAL } as const;
  const plain = rotation(config).frequencies;
  const scaled = rotation({ ...config, ropeScaling: scaling }).frequencies;
  const same = (factor: number, i: number) =>
    Math.abs((factor * scaled[i]!) / plain[i]! - 1) < CLOSE;
  if (factors.length === plain.length && factors.every(same)) return scaling;
  throw refuse(path, 'rope_freqs.weight is not that of a Llama 3: its scaling is unknown');
}
