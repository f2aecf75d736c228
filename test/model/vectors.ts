/**
 * Reference vectors (test/vectors/*.json) as typed values: numbers that the published Python code returned.
 */
import { readFileSync } from 'node:fs';
import type { DecoderConfig, Tensor } from '../../model/config.ts';
import type { Policy } from '../../model/policyFile.ts';

interface Coded {
  readonly shape: readonly number[];
  readonly data: string;
}

interface VectorFile<Args, Expect> {
  readonly tolerance: number;
  readonly cases: readonly { readonly id: string; readonly args: Args; readonly expect: Expect }[];
  readonly models?: Readonly<
    Record<string, { config: DecoderConfig; tensors: Readonly<Record<string, Coded>> }>
  >;
}

export function readVectors<Args, Expect>(subject: string): VectorFile<Args, Expect> {
  const url = new URL(`../vectors/${subject}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8'));
}

/** The tiny reference model called `tied` or `untied`, in arrays of its own. */
export function referencePolicy(name: string): Policy {
  const model = readVectors<unknown, unknown>('model-forward').models?.[name];
  if (model === undefined) throw new Error(`the vectors have no model '${name}'`);
  const tensors = Object.entries(model.tensors).map(
    ([tensor, { shape, data }]): [string, Tensor] => {
      return [
        tensor,
        { shape, data: new Float32Array(new Uint8Array(Buffer.from(data, 'base64')).buffer) },
      ];
    },
  );
  return { config: model.config, tensors: new Map(tensors) };
}

/** Largest |got - want| / max(1, |want|). Not-finite numbers may be written as strings, and must agree exactly. */
export function worstError(got: ArrayLike<number>, want: ArrayLike<number | string>): number {
  if (got.length !== want.length) throw new Error(`${got.length} numbers, not ${want.length}`);
  let worst = 0;
  for (let i = 0; i < got.length; i++) {
    const [a, b] = [got[i] as number, Number(want[i])];
    if (Object.is(a, b)) continue;
    const error = Math.abs(a - b) / Math.max(1, Math.abs(b));
    worst = Math.max(worst, Number.isNaN(error) ? Number.POSITIVE_INFINITY : error);
  }
  return worst;
}
