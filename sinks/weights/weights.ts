/**
 * The manifests of a run's weights: which version there is, what made it, and where it is.
 *
 * A manifest is what makes a version real: its checkpoint is written first, whole or not at all, the manifest
 * is committed after. A version that is no longer wanted is removed only when its successor's manifest is
 * committed; the first one and those that a rule keeps (trainer/keptWeights.ts) stay, with the state that
 * training continues from, so that a run can go back to them. Not every version has a state
 * (trainer/saveRule.ts), and the newest may be named before it is written: training continues from the newest
 * that exists (trainer/repeatSteps.ts). Only a checkpoint's kind knows how to read it
 * (model/checkpoints).
 */
import {
  filter,
  firstValueFrom,
  fromEvent,
  lastValueFrom,
  map,
  type Observable,
  takeUntil,
} from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { type CheckpointStore, checkpointsIn } from '../../model/checkpoints/index.ts';
import type {
  Checkpoint,
  SavedCheckpoint,
  TrainerCheckpoint,
  TrainerEngine,
} from '../../model/index.ts';
import { type From, type Log, recordsOf } from '../../streams/index.ts';
import {
  type Batch,
  type Position,
  roundsDone,
  topics,
  versionMade,
  type Weights,
} from '../../topics/index.ts';

export interface WeightsStore {
  /** What an engine loads for this manifest. */
  resolve(manifest: Weights): Checkpoint;
  /** The same with the state, for a trainer to return to. */
  saved(manifest: Weights): TrainerCheckpoint;
  /**
   * Version 0: the first policy, a policy file or a Hugging Face folder. A resumed run keeps the one that it
   * has. `there` = the file is not copied, for a run that trains nothing.
   */
  adopt(base: string, where?: 'copied' | 'there'): Promise<Weights>;
  /** Saves what the trainer holds after `batch`, whose step began with `parent`, and returns its manifest. */
  publish(trainer: TrainerEngine, made: StepMade): Promise<Weights>;
  /** Whether its weights are where its manifest says. */
  isThere(manifest: Weights): Promise<boolean>;
  /** The committed manifest of a version; fails if there is none. */
  manifest(version: number): Promise<Weights>;
  /** The same, waiting until it is committed; rejects when `signal` aborts first. */
  awaited(version: number, signal: AbortSignal): Promise<Weights>;
  /** The newest version up to this one that training can continue from: its state exists. */
  trainable(manifest: Weights): Promise<Weights>;
  /**
   * Saves what the trainer holds as this version again. Fails with code `DIGEST`, and replaces nothing, if it
   * differs.
   */
  saveAgain(trainer: TrainerEngine, manifest: Weights): Promise<void>;
  /** Removes an old version's state, and its weights unless they are to stay. The first version stays. */
  forget(version: number, keepWeights?: boolean): Promise<void>;
  /**
   * Removes the states of the versions before the newest committed one, `before`; `after` = those before
   * it have gone already.
   */
  forgetStates(before: number, after?: number): Promise<void>;
}

/** The step that made a version. */
export interface StepMade {
  readonly batch: Batch;
  /** Manifest of the version that the step began with. */
  readonly parent: Weights;
  /** Position of the batch. */
  readonly consumed: Position;
  /** Changes of settings that apply to what is due the new version; 0 unless given. */
  readonly controls?: number;
  /** Whether to save the state too (default), from which training can continue. */
  readonly state?: boolean;
}

/** The checkpoints that a manifest names, as they are recorded. */
export function checkpointsOf(manifest: Weights): TrainerCheckpoint {
  const { version, uri, digest, state, stateDigest } = manifest;
  return {
    weights: { version, uri, digest },
    state: state === '' ? null : { version, uri: state, digest: stateDigest },
  };
}

/** Where to look for a manifest first: most are needed soon after they are written. */
const LATELY: From = { kind: 'last', count: 64 };
const EARLIEST: From = { kind: 'earliest' };
const NEWEST: From = { kind: 'last', count: 1 };

/** The fields of a manifest that name checkpoints. */
function fieldsOf({ weights, state, bytes }: SavedCheckpoint, checkpoints: CheckpointStore) {
  const { uri, digest } = checkpoints.record(weights);
  const kept = state === null ? null : checkpoints.record(state);
  return { uri, digest, bytes, state: kept?.uri ?? '', stateDigest: kept?.digest ?? null };
}

/** The store in a run folder; manifests are looked up in its log. */
export function weightsStore(
  folder: string,
  log: Log,
  checkpoints: CheckpointStore = checkpointsIn(folder),
): WeightsStore {
  const manifests = (version: number, from: From, follow: boolean): Observable<Weights> =>
    log.tap(topics.weights, { from, follow }).pipe(
      map((stored) => stored.value),
      filter((weights) => weights.version === version),
    );
  const first = (version: number, from: From): Promise<Weights | null> =>
    firstValueFrom(manifests(version, from, false), { defaultValue: null });
  const newest = async (): Promise<Weights | undefined> => {
    const last$ = log.tap(topics.weights, { from: NEWEST, follow: false });
    return (await lastValueFrom(last$, { defaultValue: null }))?.value;
  };
  /** Versions rise by one, so the newest says how far back to look: a run of a year has a million. */
  const committed = async (version: number): Promise<Weights | null> => {
    const back = ((await newest())?.version ?? -1) - version;
    if (back < 0) return null;
    const near = version === 0 ? null : await first(version, { kind: 'last', count: back + 1 });
    return near ?? first(version, EARLIEST);
  };
  const manifest = async (version: number): Promise<Weights> => {
    const found = await committed(version);
    if (found !== null) return found;
    throw new MillraceError(
      'NO_WEIGHTS',
      `topic weights has no version ${version}: the run folder and its log come from different runs`,
    );
  };
  const hasState = async (made: Weights): Promise<boolean> => {
    const { state } = checkpointsOf(made);
    return state !== null && checkpoints.exists(state);
  };
  return {
    manifest,
    isThere: (weights) => checkpoints.exists(checkpointsOf(weights).weights),
    async awaited(version, signal) {
      if (signal.aborted) return manifest(version);
      const known = await committed(version);
      if (known !== null) return known;
      const coming$ = manifests(version, LATELY, true);
      return firstValueFrom(coming$.pipe(takeUntil(fromEvent(signal, 'abort'))));
    },
    resolve: (weights) => checkpoints.resolve(checkpointsOf(weights).weights),
    saved(weights) {
      const { state, ...recorded } = checkpointsOf(weights);
      return {
        weights: checkpoints.resolve(recorded.weights),
        state: state === null ? null : checkpoints.resolve(state),
      };
    },
    async adopt(base, where) {
      const known = await committed(0);
      if (known !== null) return known;
      const place = { version: 0, parent: -1, step: 0, roundsDone: 0, consumed: null };
      const adopted = await checkpoints.adopt(base, where);
      return { ...place, ...fieldsOf(adopted, checkpoints), parentDigest: null, controls: 0 };
    },
    async publish(trainer, { batch, parent, consumed, controls = 0, state = true }) {
      const version = versionMade(batch);
      const saved = await trainer.save({ ...checkpoints.target(version), state });
      return {
        version,
        parent: batch.version,
        step: batch.step,
        roundsDone: roundsDone(batch),
        ...fieldsOf(saved, checkpoints),
        consumed,
        parentDigest: parent.digest,
        controls,
      };
    },
    async trainable(newest) {
      let at = newest;
      while (at.version > 0 && !(await hasState(at))) at = await manifest(at.parent);
      return at;
    },
    async saveAgain(trainer, made) {
      const { weights, state } = checkpointsOf(made);
      const expected = { weights: weights.digest, state: state?.digest ?? null };
      const target = checkpoints.target(made.version);
      await trainer.save({ ...target, state: state !== null, expected });
    },
    async forgetStates(before, after) {
      const from: From =
        after === undefined ? EARLIEST : { kind: 'last', count: before - after + 1 };
      for await (const { value } of recordsOf(log, topics.weights, { from })) {
        const { state } = checkpointsOf(value);
        if (state !== null && value.version < before) await checkpoints.remove(state);
      }
    },
    async forget(version, keepWeights = false) {
      if (version < 1) return;
      const old = await manifest(version);
      const { weights, state } = checkpointsOf(old);
      if (state !== null) await checkpoints.remove(state);
      if (!keepWeights) await checkpoints.remove(weights);
    },
  };
}
