/**
 * The processes of a run by their newest report and an earlier one, the one before it or that of a while ago:
 * rates are differences between the two.
 *
 * A process that was restarted counts from its start.
 */
import {
  avroCodec,
  flag,
  list,
  real,
  record,
  text,
  withDefault,
} from '../streams/contracts/index.ts';
import type { WorkerStatus } from '../streams/run/index.ts';

/** A process, with the time that its latest rates cover. */
export interface Worker {
  readonly now: WorkerStatus;
  /** Null = its rates are since its start. */
  readonly before: WorkerStatus | null;
}

const stage = record('Stage', {
  name: text,
  from: text,
  to: text,
  in: real,
  out: real,
  settled: real,
  inflight: real,
  inflightMax: real,
  waiting: withDefault(real, 0),
  oldestMs: withDefault(real, 0),
  idleMs: real,
  fullMs: real,
  busyMs: withDefault(real, 0),
  blockedMs: withDefault(real, 0),
  pacedMs: withDefault(real, 0),
  commitMs: real,
});
const source = record('Source', {
  name: text,
  to: text,
  items: real,
  dropped: withDefault(real, 0),
  done: flag,
  waitMs: real,
});
const status = record('WorkerStatus', {
  worker: text,
  host: text,
  pid: real,
  startedMs: real,
  atMs: real,
  memoryBytes: real,
  ended: flag,
  stages: list(stage),
  sources: list(source),
});
const codec = avroCodec<WorkerStatus>('the status of a worker', status);

/**
 * The reports on the board; what cannot be read is left out: they come from outside (a file, a broker), and
 * those of an older version lack what has a default here.
 */
export function statusesIn(posted: readonly unknown[]): readonly WorkerStatus[] {
  return posted.flatMap((post) => {
    try {
      return codec.decode(codec.encode(post as WorkerStatus));
    } catch {
      return [];
    }
  });
}

const idOf = ({ worker, host, pid }: WorkerStatus): string => `${worker} ${host} ${pid}`;

export class Workers {
  /** Reports of each, oldest first. */
  readonly #known = new Map<string, WorkerStatus[]>();
  readonly #windowMs: number;

  /** Rates cover this time; 0 = since the previous report. */
  constructor(windowMs = 0) {
    this.#windowMs = windowMs;
  }

  /** Takes what is on the board now (`statusesIn`). */
  update(said: readonly WorkerStatus[]): readonly Worker[] {
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
