/**
 * Which versions' files are deleted once a newer one is committed. The first always stays, and the newest
 * few; of the others what the rule says: ends of rounds (all, or only the newest), every n-th version, and
 * those that evaluated best.
 *
 * The version that a resume would continue from stays too, for as long as it would.
 *
 * A version is judged when it leaves the newest, again when it leaves the newest ends of rounds, and again
 * when a better one takes its place among the best. Ends and figures of earlier starts are read once
 * from the topics.
 */
import { type Log, recordsOf } from '../../streams/index.ts';
import { finishesRound, topics, type Weights } from '../../topics/index.ts';

/** What stays besides the first version. */
export interface WeightsRule {
  /** Newest versions, at least 2; 0 = all, whatever else is said. */
  readonly newest: number;
  /** Newest ends of rounds; 0 = all. */
  readonly rounds: number;
  /** Versions whose number is a multiple of this; 0 = none. */
  readonly every: number;
  /** Versions with the highest accuracy on the held-out questions; 0 = none. */
  readonly best: number;
}

const FIGURE = 'eval/accuracy';

/** Says after each version which others go now. */
export class KeptWeights {
  readonly #rule: WeightsRule;
  readonly #log: Log;
  /** Ends of rounds that have not gone, oldest first. */
  #ends: number[] | null = null;
  /** Evaluated versions with their accuracy, as far as the topic was read. */
  readonly #figures = new Map<number, number>();
  #readTo = 0;
  /**
   * Whose files are there though neither newest nor an end, because they are among the best or needed; judged
   * again each time.
   */
  readonly #spared = new Set<number>();

  constructor(rule: WeightsRule, log: Log) {
    this.#rule = rule;
    this.#log = log;
  }

  /**
   * Versions to forget now that `made` is to be committed after `parent`; some may be gone already. `needed`
   * = the one that a resume continues from.
   */
  async goingAfter(made: Weights, parent: Weights, needed = parent.version): Promise<number[]> {
    const { newest, rounds } = this.#rule;
    if (newest === 0) return [];
    const old = made.version - Math.max(2, newest);
    this.#ends ??= await this.#endsBefore(made.version, Math.min(needed, old));
    if (finishesRound(made, parent)) this.#ends.push(made.version);
    const past = this.#ends.filter((end) => end <= old);
    const surplus = rounds === 0 ? [] : past.slice(0, Math.max(0, this.#ends.length - rounds));
    this.#ends = this.#ends.filter((end) => !surplus.includes(end));
    const leaving = [old, ...(needed < old ? [needed] : [])];
    const left = leaving.filter((version) => !this.#ends?.includes(version));
    const judged = [...surplus, ...this.#spared, ...left];
    const free = [...new Set(judged)].filter((version) => version > 0 && !this.#isEvery(version));
    if (free.length === 0) return [];
    const best = await this.#best();
    this.#spared.clear();
    const stays = (version: number): boolean => best.has(version) || version === needed;
    for (const version of free) if (stays(version)) this.#spared.add(version);
    return free.filter((version) => !stays(version));
  }

  #isEvery(version: number): boolean {
    const { every } = this.#rule;
    return every > 0 && version % every === 0;
  }

  /** What an earlier start may have left because it was needed then, before `old`, is judged again. */
  async #endsBefore(version: number, old: number): Promise<number[]> {
    const ends: number[] = [];
    let left = 0;
    let before: Weights | null = null;
    for await (const { value } of recordsOf(this.#log, topics.weights, EARLIEST)) {
      if (value.version >= version) break;
      if (before !== null && finishesRound(value, before)) ends.push(value.version);
      else if (value.state !== '' && value.version < old) left = value.version;
      before = value;
    }
    this.#spared.add(left);
    return ends;
  }

  async #best(): Promise<ReadonlySet<number>> {
    const { best } = this.#rule;
    if (best === 0) return new Set();
    const from = { kind: 'offset', offset: this.#readTo } as const;
    for await (const { value, position } of recordsOf(this.#log, topics.metrics, { from })) {
      if (value.name === FIGURE) this.#figures.set(value.step, value.value);
      this.#readTo = position.offset + 1;
    }
    // Of two alike the later one. Whatever is not among the best now never will be again.
    const sorted = [...this.#figures].sort((a, b) => b[1] - a[1] || b[0] - a[0]);
    for (const [version] of sorted.splice(best)) this.#figures.delete(version);
    return new Set(this.#figures.keys());
  }
}

const EARLIEST = { from: { kind: 'earliest' } } as const;
