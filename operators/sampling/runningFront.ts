/**
 * The running front: the candidates of a window are sorted together with the groups that were judged last, in
 * the windows before it.
 *
 * So a candidate is compared with the recent past of the stream, not only with its neighbours: a window that
 * is better than those before it keeps more, a worse one less. At most `memory` groups are held, two numbers
 * each, in the order of their windows and within one by id, which follows from the records alone: a restarted
 * run reads them back from its last verdicts and continues as if it had never stopped.
 */
import type { Selected } from '../../topics/index.ts';
import type { Point } from './fronts.ts';

/** How to remember earlier windows. */
export interface RunningFront {
  /** Limit of groups that candidates are sorted with: the last ones judged. */
  readonly memory: number;
  /**
   * The last verdicts of the run, at least `memory` of them if there are as many: read once, before the first
   * new one.
   */
  readonly recent: () => Promise<readonly Selected[]>;
  /** Resolves once every window before the one that begins with this version is judged. */
  readonly turn: (version: number, until: AbortSignal) => Promise<void>;
}

/** The current groups of earlier windows. */
export class EarlierGroups {
  readonly #front: RunningFront;
  readonly #epochs: number;
  #points: Point[] | null = null;

  /** `epochs` = how often a kept group has a verdict. */
  constructor(front: RunningFront, epochs: number) {
    this.#front = front;
    this.#epochs = epochs;
  }

  async points(): Promise<readonly Point[]> {
    if (this.#points !== null) return this.#points;
    const recent = await this.#front.recent();
    this.#points ??= pointsOf(recent, this.#epochs).slice(-this.#front.memory);
    return this.#points;
  }

  /** Remembers a window. */
  add(verdicts: readonly Selected[]): void {
    const points = [...(this.#points ?? []), ...pointsOf(verdicts, this.#epochs)];
    this.#points = points.slice(-this.#front.memory);
  }
}

/** In the order of the windows, which begin with ever later versions; each group once. */
function pointsOf(verdicts: readonly Selected[], epochs: number): Point[] {
  const once = verdicts.filter(({ index, of }) => index < of / epochs);
  const ordered = once.toSorted(
    (a, b) => a.version - b.version || (a.question.id < b.question.id ? -1 : 1),
  );
  return ordered.map(({ objectives: [first, second] }): Point => [first ?? 0, second ?? 0]);
}
