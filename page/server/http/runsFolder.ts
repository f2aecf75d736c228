/**
 * The folder of runs as the page lists it: each run with its newest step and reward, read along the way and
 * kept until it changes.
 */
import { hasCode, messageOf } from '../../../base/index.ts';
import { type RunRow, type RunsData, WIRE } from '../../wire/index.ts';
import { type Glance, glance, rowOf } from '../views/runRow.ts';
import type { Host, KnownRun } from './host.ts';

const ROWS_MAX = 1_000;
/**
 * How many logs are opened before a listing is answered, newest runs first, and how long that may take. The
 * others are listed from `run.json` and opened afterwards; later listings include them.
 */
const GLANCES_MAX = 24;
const GLANCES_MS = 400;
const UNREADABLE_MAX = 20;
const KNOWN_MAX = 1_000;
const FRESH_MS = 4_000;
/** A broker is asked less often and never waited for. */
const BROKER_FRESH_MS = 15_000;
const BROKER_OPEN_MS = 5_000;

interface Known {
  readonly sign: string;
  readonly atMs: number;
  readonly row: RunRow;
}

interface Looked {
  readonly seen: Glance | null;
  /** Why its log could not be read; empty if it was read, or not tried. */
  readonly problem: string;
  readonly damaged: boolean;
}

const unread: Looked = { seen: null, problem: '', damaged: false };

export class RunsFolder {
  readonly #host: Host;
  readonly #known = new Map<string, Known>();
  #listing: Promise<RunsData> | null = null;
  /** Brokers are asked one after the other, in the background; the next listing has their answers. */
  #asked: Promise<void> = Promise.resolve();
  /** Those that a listing skipped are opened, at most one pass at a time. */
  #late: Promise<void> | null = null;
  #listedMs = Number.NEGATIVE_INFINITY;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Read again at most once a second. */
  list(): Promise<RunsData> {
    const nowMs = this.#host.clock.now();
    if (this.#listing === null || nowMs - this.#listedMs >= 1_000) {
      this.#listedMs = nowMs;
      const listing = this.#list();
      listing.catch(() => {
        if (this.#listing === listing) this.#listing = null;
      });
      this.#listing = listing;
    }
    return this.#listing;
  }

  async #list(): Promise<RunsData> {
    const { typed, version, clock, folder } = this.#host;
    const runs = await this.#host.runs();
    const rows: RunRow[] = [];
    const late: KnownRun[] = [];
    let left = GLANCES_MAX;
    const startMs = clock.now();
    for (const run of runs.slice(0, ROWS_MAX)) {
      const known = this.#fresh(run);
      const mayOpen = known === null && left > 0 && clock.now() - startMs < GLANCES_MS;
      if (mayOpen) left -= 1;
      else if (known === null) late.push(run);
      rows.push(known ?? (await this.#row(run, mayOpen)));
    }
    this.#late ??= this.#open(late).finally(() => {
      this.#late = null;
    });
    return {
      wire: WIRE,
      nowMs: clock.now(),
      millrace: version,
      folder,
      runs: rows,
      total: runs.length,
      unreadable: (await this.#host.unreadable()).slice(0, UNREADABLE_MAX),
      commands: [typed('millrace run quickstart --run first'), typed('millrace run --list')],
      command: typed('millrace view'),
    };
  }

  /** One at a time, so that the server's other work goes on in between. */
  async #open(runs: readonly KnownRun[]): Promise<void> {
    for (const run of runs) {
      if (this.#fresh(run) === null) await this.#row(run, true);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** What was read from it, unless that is out of date. */
  #fresh(run: KnownRun): RunRow | null {
    const known = this.#known.get(run.name);
    if (known?.sign !== signOf(run)) return null;
    const freshMs = isOnBroker(run) ? BROKER_FRESH_MS : FRESH_MS;
    const isOld = run.facts.status === 'running' && this.#host.clock.now() - known.atMs >= freshMs;
    return isOld ? null : known.row;
  }

  async #row(run: KnownRun, mayOpen: boolean): Promise<RunRow> {
    const known = this.#known.get(run.name);
    const before = known?.sign === signOf(run) ? known.row : undefined;
    if (!mayOpen) return before ?? this.#rowOf(run, unread);
    if (!isOnBroker(run)) return this.#keep(run, this.#rowOf(run, await this.#look(run)));
    this.#asked = this.#asked
      .then(() => this.#look(run))
      .then((looked) => void this.#keep(run, this.#rowOf(run, looked)));
    return this.#keep(run, before ?? this.#rowOf(run, unread));
  }

  /** Never rejects. */
  async #look(run: KnownRun): Promise<Looked> {
    try {
      return { ...unread, seen: await run.withLog(glance, BROKER_OPEN_MS) };
    } catch (error) {
      // Errors that `doctor` would report; a broker that does not answer is a different matter.
      const damaged = ['DAMAGED', 'NO_LOG'].some((code) => hasCode(error, code));
      return { seen: null, problem: messageOf(error), damaged };
    }
  }

  #rowOf(run: KnownRun, looked: Looked): RunRow {
    return rowOf({ viewed: run, facts: run.facts, ...looked, nowMs: this.#host.clock.now() });
  }

  #keep(run: KnownRun, row: RunRow): RunRow {
    this.#known.delete(run.name);
    this.#known.set(run.name, { sign: signOf(run), atMs: this.#host.clock.now(), row });
    if (this.#known.size > KNOWN_MAX) this.#known.delete([...this.#known.keys()][0]!);
    return row;
  }
}

/** The state in which a row was read: a run that has restarted or ended since is read again. */
function signOf({ facts }: KnownRun): string {
  return JSON.stringify([facts.status, facts.starts]);
}

function isOnBroker({ place }: KnownRun): boolean {
  return place !== 'folder';
}
