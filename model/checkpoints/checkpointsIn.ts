/**
 * The checkpoints of a run, of whatever kind each is: a uri with a scheme is a service's, all others are
 * local.
 *
 * A service's checkpoint can only be looked at through the service, with its key. Here it is taken for
 * granted: it is recorded as it is, never deleted, and shared by all forks.
 */
import type { CheckpointStore } from './checkpointStore.ts';
import { isLocal, localCheckpoints } from './local.ts';

/** Checkpoints of the run in this folder. */
export function checkpointsIn(run: string): CheckpointStore {
  const local = localCheckpoints(run);
  return {
    target: (version) => local.target(version),
    async adopt(base, where) {
      const weights = { version: 0, uri: base, digest: null };
      return isLocal(weights) ? local.adopt(base, where) : { weights, state: null, bytes: 0 };
    },
    resolve: (checkpoint) => (isLocal(checkpoint) ? local.resolve(checkpoint) : checkpoint),
    record: (checkpoint) => (isLocal(checkpoint) ? local.record(checkpoint) : checkpoint),
    exists: async (checkpoint) => !isLocal(checkpoint) || local.exists(checkpoint),
    condition: async (checkpoint) =>
      isLocal(checkpoint) ? local.condition(checkpoint) : { kind: 'unseen' },
    async remove(checkpoint) {
      if (isLocal(checkpoint)) await local.remove(checkpoint);
    },
    async share(checkpoint, to) {
      if (isLocal(checkpoint)) await local.share(checkpoint, to);
    },
  };
}
