/** Manifests of weights as a run would have them. */
import type { Weights } from '../../streams/records.ts';

export function weights(version: number, roundsDone: number): Weights {
  return {
    version,
    parent: version - 1,
    step: version,
    roundsDone,
    file: `w${version}`,
    sha256: `digest ${version}`,
    bytes: 1,
    optimiser: '',
    consumed: null,
  };
}
