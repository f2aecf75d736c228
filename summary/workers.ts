/**
 * The processes of a run by their newest report and an earlier one, the one before it or that of a while ago:
 * rates are differences between the two.
 *
 * A process that was restarted counts from its start. A report comes from outside (a file, a broker) and is
 * checked.
 */
import { z } from 'zod';
import type { WorkerStatus } from '../streams/run/index.ts';

const stage = z.object({
  name: z.string(),
  from: z.string(),
  to: z.string(),
  in: z.number(),
  out: z.number(),
  settled: z.number(),
  inflight: z.number(),
  inflightMax: z.number(),
  waiting: z.number().default(0),
  oldestMs: z.number().default(0),
  idleMs: z.number(),
  fullMs: z.number(),
  busyMs: z.number().default(0),
  blockedMs: z.number().default(0),
  pacedMs: z.number().default(0),
  commitMs: z.number(),
});
const source = z.object({
  name: z.string(),
  to: z.string(),
  items: z.number(),
  dropped: z.number().default(0),
  done: z.boolean(),
  waitMs: z.number(),
});
const status = z.object({
  worker: z.string(),
  host: z.string(),
  pid: z.number(),
  startedMs: z.number(),
  atMs: z.number(),
  memoryBytes: z.number(),
  ended: z.boolean(),
  stages: z.array(stage),
  sources: z.array(source),
});

/** A process, with the time that its latest rates are over. */
export interface Worker {
  readonly now: WorkerStatus;
  /** Null = its rates are since its start. */
  readonly before: WorkerStatus | null;
}

const idOf = ({ worker, host, pid }: WorkerStatus): string => `${worker} ${host} ${pid}`;

export class Workers {
  /** Reports of each, oldest first. */
  readonly #known = new Map<string, WorkerStatus[]>();
  readonly #windowMs: number;

  /** Rates are over this time; 0 = since the last report but one. */
  constructor(windowMs = 0) {
    this.#windowMs = windowMs;
  }

  /** What is on the board now; what cannot be read is left out. */
  update(posted: readonly unknown[]): readonly Worker[] {
    const said = posted.flatMap((post): WorkerStatus[] => {
      const { data } = status.safeParse(post);
      return data === undefined ? [] : [data];
    });
    for (const now of said) {
      const known = this.#known.get(idOf(now)) ?? [];
      const last = known.at(-1);
      if (last?.atMs === now.atMs) continue;
      const reports = last?.startedMs === now.startedMs ? [...known, now] : [now];
      while (reports.length > 2 && now.atMs - reports[1]!.atMs >= this.#windowMs) reports.shift();
      this.#known.set(idOf(now), reports);
    }
    const ids = new Set(said.map(idOf));
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
    return [...this.#known.values()].map((reports) => ({
      now: reports.at(-1)!,
      before: reports.length > 1 ? reports[0]! : null,
    }));
  }
}
