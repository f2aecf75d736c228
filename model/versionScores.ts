/**
 * A trainer that remembers its scores of fixed sequences under each version, so that engines elsewhere can be
 * compared with it (remote/canary.ts) although it has moved on.
 *
 * The sequences are scored when a version is saved or restored, after the calls that are under way: the
 * trainer answers in order, so the numbers are those of that version. Nothing is scored before someone asks
 * for it (`follow`).
 */
import type {
  Checkpoint,
  SavedCheckpoint,
  SaveTarget,
  StepReport,
  TrainBatch,
  TrainerCheckpoint,
  TrainerEngine,
} from './engine.ts';

/** Versions whose numbers are kept. */
const KEPT = 32;

type LogProbs = readonly Float32Array[];

export class VersionScores implements TrainerEngine {
  readonly #trainer: TrainerEngine;
  readonly #known = new Map<number, Promise<LogProbs | null>>();
  #sequences: readonly Int32Array[] | null = null;
  /** The version that the trainer holds, once all calls are answered; null = none that has a number. */
  #version: number | null;
  /** Counts the calls that change what it holds. */
  #changes = 0;

  /** `version` = the one that the trainer begins with. */
  constructor(trainer: TrainerEngine, version: number | null = 0) {
    this.#trainer = trainer;
    this.#version = version;
  }

  /**
   * What the trainer says about the sequences under this version; null = it was never asked while it had it.
   */
  async follow(
    { version }: Checkpoint,
    sequences: readonly Int32Array[],
  ): Promise<LogProbs | null> {
    this.#sequences = sequences;
    this.#note();
    return (await this.#known.get(version)) ?? null;
  }

  step(batch: TrainBatch): Promise<StepReport> {
    this.#changes++;
    this.#version = null;
    return this.#trainer.step(batch);
  }

  async save(target: SaveTarget): Promise<SavedCheckpoint> {
    this.#changes++;
    const saved = this.#trainer.save(target);
    this.#version = target.version;
    this.#known.delete(target.version);
    this.#note();
    return saved;
  }

  async restore(saved: TrainerCheckpoint, use: 'train' | 'score'): Promise<void> {
    const change = ++this.#changes;
    this.#version = null;
    await this.#trainer.restore(saved, use);
    if (this.#changes !== change) return;
    this.#version = saved.weights.version;
    this.#note();
  }

  score(sequences: readonly Int32Array[]): ReturnType<TrainerEngine['score']> {
    return this.#trainer.score(sequences);
  }

  close(): Promise<void> {
    return this.#trainer.close();
  }

  /** Requests the numbers of the version that the trainer holds, if they are wanted and missing. */
  #note(): void {
    const version = this.#version;
    if (version === null || this.#sequences === null || this.#known.has(version)) return;
    const scored = this.#trainer.score(this.#sequences).then(
      (rows) => rows.map(({ logProbs }) => logProbs),
      () => null,
    );
    this.#known.set(version, scored);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= KEPT) break;
      this.#known.delete(oldest);
    }
  }
}
