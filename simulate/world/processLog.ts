/**
 * The log as one process sees it. It ends with the process, and waits while nothing answers. It constantly
 * checks that the log keeps its contract: no more is handed out than allowed, and what is acknowledged is in
 * the store.
 */
import { defer, from, Observable, switchMap } from 'rxjs';
import type { Delivery } from '../../streams/deliveries/index.ts';
import { type Log, Progress, type ReadOptions, type Topic } from '../../streams/index.ts';
import type { MemoryStore } from '../../streams/memory/index.ts';
import type { Bounds } from './bounds.ts';
import { type Life, never } from './life.ts';

/** Readers that gather nothing are held back early: otherwise a run this small would never fill a buffer. */
const BOUNDS: Readonly<Record<string, number>> = { files: 2, progress: 3 };

export interface ProcessLogOptions {
  readonly life: Life;
  /** What is behind the log. */
  readonly store: MemoryStore;
  /** Resolves once the log is reachable; null if it is. */
  readonly reach: () => Promise<void> | null;
  /** Transactions that are in the store. */
  readonly applied: () => number;
  readonly bounds: Bounds;
  /** Called for each record in the store. */
  readonly appended: (topic: string, value: unknown) => void;
  /** Called with violations. */
  readonly broken: (what: string) => void;
}

export function processLog(log: Log, options: ProcessLogOptions): Log {
  const { life, reach, applied, appended, broken } = options;
  /** Of `log`, for as long as the process lives; asked when it can be reached. */
  const asked = async <T>(work: () => Promise<T>): Promise<T> => {
    if (life.dead) return never();
    const there = reach();
    if (there !== null) await life.living(there);
    return life.living(work());
  };
  const whileAlive = <T>(items$: () => Observable<T>): Observable<T> =>
    new Observable((subscriber) => {
      if (life.dead) return undefined;
      const there = reach();
      const all$ = there === null ? defer(items$) : from(there).pipe(switchMap(items$));
      const subscription = all$.subscribe({
        next: (item) => subscriber.next(item),
        error: (error) => subscriber.error(error),
        complete: () => subscriber.complete(),
      });
      const forget = life.onDeath(() => subscription.unsubscribe());
      // It may have died of the first record.
      if (life.dead) subscription.unsubscribe();
      return () => {
        forget();
        subscription.unsubscribe();
      };
    });
  return {
    read: <T>(topic: Topic<T>, asks: ReadOptions) =>
      whileAlive(() => {
        const bound = {
          ...asks,
          inflightMax: Math.min(asks.inflightMax, BOUNDS[asks.group] ?? Infinity),
        };
        return watched(log.read(topic, bound), topic.name, bound, options);
      }),
    tap: (topic, asks) => whileAlive(() => log.tap(topic, asks)),
    async commit(write) {
      life.passes('commit');
      let before = 0;
      let writes = 0;
      let told: (() => void)[] = [];
      await asked(() => {
        before = applied();
        told = [];
        return log.commit((tx) =>
          write({
            append: (topic, value) => {
              writes += 1;
              told.push(() => appended(topic.name, value));
              tx.append(topic, value);
            },
            settle: (delivery) => {
              writes += 1;
              tx.settle(delivery);
            },
            mark: (name, value) => {
              writes += 1;
              tx.mark(name, value);
            },
          }),
        );
      });
      if (writes > 0 && applied() === before) {
        broken(`${life.name} was told that a commit is durable, and nothing was written since`);
      }
      for (const tell of told) tell();
      life.passes('committed');
      if (life.dead) await never();
    },
    fetch: (topic, positions) => asked(() => log.fetch(topic, positions)),
    mark: (name) => asked(() => log.mark(name)),
    lag: (topic, group) => asked(() => log.lag(topic, group)),
    stats: () => asked(() => log.stats()),
    standing: (after) => asked(() => log.standing!(after)),
    post: (about) => asked(() => log.post!(about)),
    posted: () => asked(() => log.posted!()),
    retain: (retention) => asked(() => log.retain!(retention)),
    close: () => asked(() => log.close()),
  };
}

/** Counts records handed out and not settled. */
function watched<T>(
  deliveries$: Observable<Delivery<T>>,
  topic: string,
  { group, inflightMax }: ReadOptions,
  { life, store, bounds, broken }: ProcessLogOptions,
): Observable<Delivery<T>> {
  const open = new Set<number>();
  return new Observable((subscriber) =>
    deliveries$.subscribe({
      next: (delivery) => {
        life.passes('read');
        if (life.dead) return;
        const { offset } = delivery.position;
        open.add(offset);
        bounds.handed(topic, group, delivery);
        if (open.size > inflightMax) {
          const settled = new Progress(store.progress(topic, group));
          if (settled.has(offset))
            broken(`${group} was handed ${topic}@${offset}, which is settled`);
          for (const one of open) if (settled.has(one)) open.delete(one);
          if (open.size > inflightMax) {
            broken(
              `${group} has ${open.size} unsettled records of ${topic}, more than ${inflightMax}`,
            );
          }
        }
        subscriber.next(delivery);
      },
      error: (error) => subscriber.error(error),
      complete: () => subscriber.complete(),
    }),
  );
}
