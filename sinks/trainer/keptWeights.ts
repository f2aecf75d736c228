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
  /** Newest versions, at least 2; 0 = all, whatever the other settings say. */
  readonly newest: number;
  /** Newest ends of rounds; 0 = all. */
  readonly rounds: number;
  /** Versions whose number is a multiple of this; 0 = none. */
  readonly every: number;
  /** Versions with the highest accuracy on the held-out questions; 0 = none. */
  readonly best: number;
}

const FIGURE = 'eval/accuracy';

/** Says after each version which others to remove now. */
export class KeptWeights {
  readonly #rule: WeightsRule;
  readonly #log: Log;
  readonly #isThere: (weights: Weights) => Promise<boolean>;
  /** Ends of rounds still there, oldest first. */
  #ends: number[] | null = null;
  /** Evaluated versions with their accuracy, as far as the topic was read. */
  readonly #figures = new Map<number, number>();
  #readTo = 0;
  /**
   * Versions that are neither newest nor an end but stay because they are among the best or needed; judged
   * again each time.
   */
  readonly #spared = new Set<number>();

  /** `isThere` says whether a version's files exist. */
  constructor(rule: WeightsRule, log: Log, isThere: (weights: Weights) => Promise<boolean>) {
    this.#rule = rule;
    this.#log = log;
    this.#isThere = isThere;
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
    const gone = new Set(surplus);
    // If all ends stay, older ones are not looked up again.
    const from = rounds === 0 ? Math.min(needed, old) : 0;
    this.#ends = this.#ends.filter((end) => end >= from && !gone.has(end));
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

  /**
   * Ends of rounds that are still there, and what an earlier start may have left because it was needed then,
   * before `old`, which is judged again. Read from the newest manifest back: a run of a year has a million.
   */
  async #endsBefore(version: number, old: number): Promise<number[]> {
    for (let count = LATELY; ; count *= 8) {
      const all: Weights[] = [];
      const from = { kind: 'last', count } as const;
      for await (const { value } of recordsOf(this.#log, topics.weights, { from })) {
        if (value.version >= version) break;
        all.push(value);
      }
      const whole = all.length === 0 || all[0]!.version === 0;
      const ends = all.filter((made, i) => i > 0 && finishesRound(made, all[i - 1]!));
      const [known, enough] = await this.#there(ends, old);
      const isEnd = new Set(ends.map((made) => made.version));
      const left = all.findLast(
        (made, i) => i > 0 && made.state !== '' && made.version < old && !isEnd.has(made.version),
      );
      if (!whole && !enough) continue;
      this.#spared.add(left?.version ?? 0);
      return known;
    }
  }

  /** The ends of rounds that exist, and whether those before them are gone. */
  async #there(ends: readonly Weights[], old: number): Promise<readonly [number[], boolean]> {
    if (this.#rule.rounds === 0) {
      return [ends.map(({ version }) => version), (ends[0]?.version ?? old) < old];
    }
    const there: number[] = [];
    let missing = 0;
    for (const end of ends.toReversed()) {
      if (await this.#isThere(end)) there.unshift(end.version);
      else if (end.version <= old) missing += 1;
      if (missing > MISSING) return [there, true];
    }
    return [there, false];
  }

  async #best(): Promise<ReadonlySet<number>> {
    const { best } = this.#rule;
    if (best === 0) return new Set();
    const from = { kind: 'offset', offset: this.#readTo } as const;
    for await (const { value, position } of recordsOf(this.#log, topics.metrics, { from })) {
      if (value.name === FIGURE) this.#figures.set(value.step, value.value);
      this.#readTo = position.offset + 1;
    }
    // Of two equals the later one. Whatever is not among the best now never will be again.
    const sorted = [...this.#figures].sort((a, b) => b[1] - a[1] || b[0] - a[0]);
    for (const [version] of sorted.splice(best)) this.#figures.delete(version);
    return new Set(this.#figures.keys());
  }
}

/** Manifests to look at first. */
const LATELY = 512;
/** After this many removed versions in a row, none is left. */
const MISSING = 8;
