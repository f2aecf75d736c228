/** Checks that a checkpoint of a run is what was saved, before anything is made from it. */
import { MillraceError } from '../../base/index.ts';
import type { Checkpoint } from '../engine.ts';
import type { CheckpointStore } from './checkpointStore.ts';

export interface Of {
  /** The run's name. */
  readonly run: string;
  /** What else is known about the version, after its number: `, made by step 3`. */
  readonly about?: string;
  /** What to do besides restoring a backup, as the end of a sentence. */
  readonly advice: string;
}

/** Reads all of it. Fails with code `DIGEST` if it was changed; a missing one is for others to report. */
export async function mustBeWhole(
  store: CheckpointStore,
  checkpoint: Checkpoint,
  { run, about = '', advice }: Of,
): Promise<void> {
  const condition = await store.condition(checkpoint);
  if (condition.kind !== 'changed') return;
  const { uri, version } = checkpoint;
  throw new MillraceError(
    'DIGEST',
    `${uri} of version ${version}${about} of run ${run} ${condition.why}: it was changed or cut short after it was written. ` +
      `Restore it from a backup, or ${advice}`,
    { context: { run, version, file: uri } },
  );
}
