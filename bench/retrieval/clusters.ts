/**
 * Vectors in clusters, as those of a corpus do: each is near the centre of its cluster, has length
 * 1, and depends on its number alone.
 */
import { draws } from '../../base/draws.ts';
import type { TextEncoder } from '../../model/encoder/encoder.ts';

export interface Clusters {
  readonly dimensions: number;
  /** The vector of this number into `into`, from `at` on. */
  write(kind: 'passage' | 'query', index: number, into: Float32Array, at: number): void;
}

/** Members of a cluster, on average. */
const MEMBERS = 200;
/** How far a member is from its centre, whose distance from the origin is 1. */
const SPREAD = 1;

export function clusters(passages: number, dimensions: number): Clusters {
  const count = Math.max(1, Math.round(passages / MEMBERS));
  const centres = new Float32Array(count * dimensions);
  for (let i = 0; i < count; i++) {
    gaussians(i, 'centre', dimensions, (at, value) => {
      centres[i * dimensions + at] = value;
    });
    unit(centres, i * dimensions, dimensions);
  }
  return {
    dimensions,
    write(kind, index, into, at) {
      const cluster = draws('cluster', kind, index).integer(0, count) * dimensions;
      const scale = SPREAD / Math.sqrt(dimensions);
      gaussians(index, kind, dimensions, (i, value) => {
        into[at + i] = centres[cluster + i]! + scale * value;
      });
      unit(into, at, dimensions);
    },
  };
}

/** Numbers with mean 0 and variance 1, by sums of four uniform ones (xorshift from a keyed seed). */
function gaussians(
  index: number,
  kind: string,
  count: number,
  put: (at: number, value: number) => void,
): void {
  let state = Math.floor(draws('gaussians', kind, index).uniform(0) * 0xffff_ffff) | 1;
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let j = 0; j < 4; j++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      sum += (state >>> 0) / 0x1_0000_0000;
    }
    put(i, (sum - 2) * Math.sqrt(3));
  }
}

function unit(vectors: Float32Array, at: number, dimensions: number): void {
  let squares = 0;
  for (let i = at; i < at + dimensions; i++) squares += vectors[i]! ** 2;
  const scale = 1 / Math.sqrt(squares);
  for (let i = at; i < at + dimensions; i++) vectors[i]! *= scale;
}

/** An encoder that reads its vectors off the texts: `passage 12`, `query 3`. Costs next to nothing. */
export function clusterEncoder(of: Clusters): TextEncoder {
  const { dimensions } = of;
  return {
    dimensions,
    settings: {
      ...{ pooling: 'mean', queryPrefix: '', passagePrefix: '', normalised: true, tokensMax: 512 },
    },
    digest: 'clusters',
    async encode(texts) {
      const vectors = new Float32Array(texts.length * dimensions);
      for (const [i, text] of texts.entries()) {
        const [kind, index] = text.split(' ', 2) as ['passage' | 'query', string];
        of.write(kind, Number(index), vectors, i * dimensions);
      }
      return vectors;
    },
    close: async () => undefined,
  };
}
