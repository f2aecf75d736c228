/**
 * What can be done with the checkpoints of a run without an engine: where new ones go, whether one is there
 * and whole, and what happens to it when it is forgotten or forked. Each kind of checkpoint has its own store
 * (local.ts: files and folders).
 *
 * A manifest has a checkpoint as it is *recorded*: what is in the run's folder is named relative to it, so
 * that the folder can be moved. Engines and trainers get it *resolved*.
 */
import type { Checkpoint, SavedCheckpoint, SaveTarget } from '../engine.ts';

/** What has happened to a checkpoint since it was recorded. */
export type Condition =
  | { readonly kind: 'whole' }
  | { readonly kind: 'missing' }
  /** It cannot be read, or its digest has changed. */
  | { readonly kind: 'changed'; readonly why: string }
  /** Unknown here: a service keeps it. */
  | { readonly kind: 'unseen' };

/** Every checkpoint is recorded unless it says otherwise. */
export interface CheckpointStore {
  /** Where a trainer should save a version. */
  target(version: number): SaveTarget;
  /**
   * Version 0 of the run, resolved: a copy of the policy file `base`, or the Hugging Face folder `base`,
   * which stays where it is, as the file does with `there`. A copy is there whole or not at all. A uri with a
   * scheme is what a service has already.
   */
  adopt(base: string, where?: 'copied' | 'there'): Promise<SavedCheckpoint>;
  resolve(recorded: Checkpoint): Checkpoint;
  record(resolved: Checkpoint): Checkpoint;
  /** False = it is known to be gone. */
  exists(checkpoint: Checkpoint): Promise<boolean>;
  /** Reads all of it if it has a digest. */
  condition(checkpoint: Checkpoint): Promise<Condition>;
  /** Deletes it if the run owns it; does nothing if it is already gone. */
  remove(checkpoint: Checkpoint): Promise<void>;
  /**
   * Copies it for the run in another folder, whose record is the same; what lies outside the run's folder
   * serves both.
   */
  share(checkpoint: Checkpoint, run: string): Promise<void>;
}
