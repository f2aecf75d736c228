/**
 * Where weights lie: one folder of safetensors files, named by version, and the manifests that point at them.
 *
 * A manifest is what makes a version real: the files are written first (temporary name, sync, rename), the
 * manifest is committed after. A version that is no longer wanted is removed only when its successor's manifest is
 * committed; the first one and those that ended a round stay, with their optimiser state, so that a run can go back to
 * them.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { filter, firstValueFrom, fromEvent, map, type Observable, takeUntil } from 'rxjs';
import { MillraceError } from '../base/errors.ts';
import type { TrainerEngine, WeightsRef } from '../model/engine.ts';
import { finishesStage, stagesDone, versionMade } from '../operators/schedule.ts';
import type { Log } from '../streams/log.ts';
import type { Batch, Position, Weights } from '../streams/records.ts';
import { topics } from '../streams/topics.ts';

const FOLDER = 'weights';

export interface WeightsStore {
  /** What an engine loads for this manifest. */
  resolve(weights: Weights): WeightsRef;
  /** Absolute paths of its files, for a trainer to go back to. */
  files(weights: Weights): { readonly weights: string; readonly optimiser?: string };
  /** Version 0: a copy of `path` and its manifest. A resumed run keeps the copy that it has. */
  adopt(path: string): Promise<Weights>;
  /** Writes what the trainer holds after `batch` and gives its manifest. */
  publish(trainer: TrainerEngine, batch: Batch, consumed: Position): Promise<Weights>;
  /** The committed manifest of a version; fails when there is none. */
  manifest(version: number): Promise<Weights>;
  /** The same, waiting until it is committed; rejects when `signal` aborts first. */
  awaited(version: number, signal: AbortSignal): Promise<Weights>;
  /** Removes what an old version left unless it ended a round: its optimiser state, and its weights unless they are to stay. */
  forget(version: number, keepWeights?: boolean): Promise<void>;
}

async function digest(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Copies so that `to` is never half written: temporary name, sync, rename. */
async function copyWhole(from: string, to: string): Promise<void> {
  // Of several processes that start at once each writes its own.
  const temporary = `${to}.${process.pid}.tmp`;
  await copyFile(from, temporary);
  const handle = await open(temporary, 'r+');
  await handle.sync().finally(() => handle.close());
  await rename(temporary, to);
}

function names(version: number): { file: string; optimiser: string } {
  const stem = join(FOLDER, String(version).padStart(6, '0'));
  return { file: `${stem}.safetensors`, optimiser: `${stem}.optimiser.safetensors` };
}

/** The store of a run folder; manifests are looked up in its log. */
export function weightsStore(folder: string, log: Log): WeightsStore {
  const manifests = (version: number, follow: boolean): Observable<Weights> =>
    log.tap(topics.weights, { from: { kind: 'earliest' }, follow }).pipe(
      map((stored) => stored.value),
      filter((weights) => weights.version === version),
    );
  const committed = (version: number): Promise<Weights | null> =>
    firstValueFrom(manifests(version, false), { defaultValue: null });
  const manifest = async (version: number): Promise<Weights> => {
    const found = await committed(version);
    if (found !== null) return found;
    throw new MillraceError(
      'NO_WEIGHTS',
      `topic weights has no version ${version}; the run folder and its log do not belong together`,
    );
  };
  return {
    manifest,
    awaited: (version, signal) =>
      signal.aborted
        ? manifest(version)
        : firstValueFrom(manifests(version, true).pipe(takeUntil(fromEvent(signal, 'abort')))),
    resolve: ({ version, file, sha256 }) => ({ version, path: join(folder, file), sha256 }),
    files: ({ file, optimiser }) => ({
      weights: join(folder, file),
      ...(optimiser === '' ? {} : { optimiser: join(folder, optimiser) }),
    }),
    async adopt(path) {
      const known = await committed(0);
      if (known !== null) return known;
      const { file } = names(0);
      const kept = join(folder, file);
      await mkdir(join(folder, FOLDER), { recursive: true });
      await copyWhole(path, kept);
      const { size } = await stat(kept);
      const sha256 = await digest(kept);
      return {
        version: 0,
        parent: -1,
        step: 0,
        roundsDone: 0,
        file,
        sha256,
        bytes: size,
        optimiser: '',
        consumed: null,
      };
    },
    async publish(trainer, batch, consumed) {
      const version = versionMade(batch);
      const { file, optimiser } = names(version);
      const saved = await trainer.save({
        weights: join(folder, file),
        optimiser: join(folder, optimiser),
      });
      return {
        version,
        parent: batch.version,
        step: batch.step,
        roundsDone: stagesDone(batch),
        file,
        ...saved,
        optimiser,
        consumed,
      };
    },
    async forget(version, keepWeights = false) {
      if (version < 1) return;
      const [before, old] = await Promise.all([manifest(version - 1), manifest(version)]);
      if (finishesStage(old, before)) return;
      const { file, optimiser } = names(version);
      await rm(join(folder, optimiser), { force: true });
      if (!keepWeights) await rm(join(folder, file), { force: true });
    },
  };
}
