/**
 * What a run has achieved, from one reading of its log that all tabs share. New records cause a new reading,
 * but at most a tenth of the time is spent on it; until then the last reading counts, unless the run's status
 * has changed.
 */
import type { Clock } from '../../../base/index.ts';
import type { Log } from '../../../streams/index.ts';
import type { RunFacts, RunStatus } from '../../../summary/facts/index.ts';
import { type Achieved, readAchieved } from '../../../summary/index.ts';
import { topics } from '../../../topics/index.ts';

const SPENT = 10;
const FRESH_MS = 2_000;
const read: ReadonlySet<string> = new Set(
  [topics.questions, topics.scored, topics.batches, topics.metrics].map(({ name }) => name),
);

interface Of {
  readonly name: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly achieved?: Achieved;
}

export class Achievement {
  readonly #of: Of;
  #last: Achieved | null = null;
  #next: Promise<Achieved> | null = null;
  #sign = '';
  /** At the last reading. */
  #status: RunStatus | null = null;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(of: Of) {
    this.#of = of;
  }

  async get(facts: RunFacts): Promise<Achieved> {
    if (this.#of.achieved !== undefined) return this.#of.achieved;
    const known = facts.status === this.#status ? this.#last : null;
    if (this.#next === null && known !== null && this.#of.clock.now() < this.#nextMs) return known;
    this.#next ??= this.#read(facts).finally(() => {
      this.#next = null;
    });
    if (known === null) return this.#next;
    // The next caller learns why it cannot be read.
    this.#next.catch(() => {
      this.#last = null;
    });
    return known;
  }

  async #read(facts: RunFacts): Promise<Achieved> {
    const { log, name, clock } = this.#of;
    const startMs = clock.now();
    const ends = (await log.stats()).flatMap(({ topic, records }) =>
      read.has(topic) ? [records] : [],
    );
    const sign = JSON.stringify([facts.status, ends]);
    this.#status = facts.status;
    if (this.#last === null || sign !== this.#sign) {
      this.#last = await readAchieved(log, name, facts);
      this.#sign = sign;
    }
    const nowMs = clock.now();
    this.#nextMs = nowMs + Math.max(FRESH_MS, SPENT * (nowMs - startMs));
    return this.#last;
  }
}
