/** Manifests of weights as a run would have them. */
import type { Weights } from '../../topics/index.ts';

export function weights(version: number, roundsDone: number): Weights {
  return {
    version,
    parent: version - 1,
    step: version,
    roundsDone,
    uri: `w${version}`,
    digest: `digest ${version}`,
    bytes: 1,
    state: '',
    consumed: null,
    stateDigest: null,
    parentDigest: null,
    controls: 0,
  };
}
