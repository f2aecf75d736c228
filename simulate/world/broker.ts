/**
 * The broker that a shared log is on, as its clients see it when the leader of a partition changes or two
 * processes have one name. The log behind it is one; what differs is what each learns of it.
 *
 * While no leader is elected a transaction of a process meets one of four ends: it is tried again once there
 * is one; it is written, and its number shows that then; or the client gives it up, whether it was written or
 * not. Whoever takes a name over shuts the one before out (`FENCED`): it reads no more, and nothing that it
 * still tries is written. Nothing that was acknowledged is ever gone. As with the Kafka log
 * (streams/kafka), a process sends one transaction after the other, a reader begins and a lag is told only
 * once all is decided, and the ends of topics may go back to what is decided.
 */
import { Observable } from 'rxjs';
import { type Draws, MillraceError } from '../../base/index.ts';
import type { Log, TopicStat } from '../../streams/index.ts';
import type { Life } from './life.ts';
import type { VirtualClock } from './virtualClock.ts';

export interface BrokerOptions {
  readonly log: Log;
  readonly clock: VirtualClock;
  readonly draws: Draws;
  /** Number of the current election; null if there is a leader. */
  readonly election: () => number | null;
}

/** A process that writes and reads under a name, until it is shut out. */
interface Session {
  out: boolean;
  /** End a reader each. */
  readonly readers: Set<() => void>;
}

export class Broker {
  readonly #options: BrokerOptions;
  /** The newest of each name. */
  readonly #sessions = new Map<string, Session>();
  /** Who gave up a transaction, and in which election: each does so once. */
  readonly #givenUp = new Set<string>();
  /** What is known of the topics without what was written and is not decided; null if all is. */
  #decided: readonly TopicStat[] | null = null;
  #sent = 0;
  #asked = 0;

  constructor(options: BrokerOptions) {
    this.#options = options;
  }

  /** The log for a process that takes over this name. */
  session(life: Life): Log {
    const { name } = life;
    const { log } = this.#options;
    this.#shutOut(name);
    const session: Session = { out: false, readers: new Set() };
    this.#sessions.set(name, session);
    const mine = (): void => {
      if (session.out) throw fenced(name);
    };
    /** What was sent before, while there is no leader. */
    let before: Promise<unknown> | null = null;
    return {
      ...{ mark: (of) => this.#knowing(() => log.mark(of)), tap: log.tap.bind(log) },
      lag: (topic, group) => this.#knowing(() => log.lag(topic, group)),
      fetch: (topic, positions) => log.fetch(topic, positions),
      stats: () => this.#stats(),
      standing: (after) => this.#knowing(() => log.standing!(after)),
      post: (about) => log.post!(about),
      posted: () => log.posted!(),
      retain: (retention) => log.retain!(retention),
      close: async () => undefined,
      read: (topic, asks) =>
        new Observable((subscriber) => {
          let reading = { unsubscribe: (): void => undefined };
          const gone = new AbortController();
          const out = (): void => {
            reading.unsubscribe();
            // A stalled process learns of it later, if it still reads.
            const learns = life.clock.sleep(0, gone.signal);
            learns.then(() => subscriber.error(fenced(name))).catch(() => undefined);
          };
          session.readers.add(out);
          if (session.out) out();
          else {
            reading = log.read(topic, asks).subscribe({
              next: (delivery) => subscriber.next(delivery),
              error: (error) => subscriber.error(error),
              complete: () => subscriber.complete(),
            });
          }
          return () => {
            session.readers.delete(out);
            gone.abort();
            reading.unsubscribe();
          };
        }),
      commit: (write) => {
        const commit = async (): Promise<void> => {
          mine();
          await this.#commit(name, () => {
            mine();
            return log.commit(write);
          });
          mine();
        };
        if (before === null && this.#options.election() === null) return commit();
        const turn = (before ?? Promise.resolve()).catch(() => undefined).then(commit);
        before = turn;
        const over = (): void => {
          if (before === turn) before = null;
        };
        turn.then(over, over);
        return turn;
      },
    };
  }

  #shutOut(name: string): void {
    const session = this.#sessions.get(name);
    if (session === undefined) return;
    session.out = true;
    for (const out of [...session.readers]) out();
  }

  async #commit(name: string, write: () => Promise<void>): Promise<void> {
    const election = this.#options.election();
    if (election === null) return write();
    const chance = this.#options.draws.under('transaction', this.#sent++);
    const written = chance.uniform(0) < 0.5;
    const [key, givesUp] = [`${election} ${name}`, chance.uniform(1) < 0.5];
    if (written) {
      this.#decided ??= await this.#options.log.stats();
      await write();
    }
    if (givesUp && !this.#givenUp.has(key)) {
      this.#givenUp.add(key);
      throw new MillraceError('LOG_WRITE', 'the broker gave no answer to a commit');
    }
    await this.#elected();
    if (!written) await write();
  }

  /** Of what is decided. */
  async #knowing<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#decided !== null) await this.#elected();
    return ask();
  }

  async #stats(): Promise<readonly TopicStat[]> {
    const now = await this.#options.log.stats();
    if (this.#options.election() === null) this.#decided = null;
    const back = this.#options.draws.under('stats', this.#asked++).uniform(0) < 0.5;
    return back ? (this.#decided ?? now) : now;
  }

  async #elected(): Promise<void> {
    while (this.#options.election() !== null) await this.#options.clock.sleep(50);
    this.#decided = null;
  }
}

function fenced(name: string): MillraceError {
  return new MillraceError('FENCED', `another process has taken over the name ${name}`);
}
