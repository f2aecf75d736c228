/**
 * Where a worker computes: the provider, and the turns that the process's workers take on it.
 */
import type { Provider } from './provider.ts';

export interface Place {
  readonly provider: Provider;
  readonly turns: SharedArrayBuffer;
}

/** One per process, like its devices. */
const turns = new SharedArrayBuffer(4);

export function placeOn(provider: Provider): Place {
  return { provider, turns };
}
