/** The folder of runs as the page lists it: each with its newest step and reward, read in passing and kept until it changes. */
import { resolve } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { type Glance, glance, rowOf } from '../../page/server/views/runRow.ts';
import { type RunRow, type RunsTwin, WIRE } from '../../page/wire/wire.ts';
import type { Io } from '../io.ts';
import { listRuns, type Run, unreadableRuns, withLog } from '../runs.ts';
import { version } from '../version.ts';

const ROWS_MAX = 200;
/** Logs that one listing opens, newest runs first. The others are listed by what `run.json` says; later listings open them. */
const GLANCES_MAX = 24;
const UNREADABLE_MAX = 20;
const KNOWN_MAX = 1_000;
const FRESH_MS = 4_000;
/** A broker is asked less often, and not waited for. */
const BROKER_FRESH_MS = 15_000;
const BROKER_OPEN_MS = 5_000;

interface Known {
  readonly sign: string;
  readonly atMs: number;
  readonly row: RunRow;
}

interface Looked {
  readonly seen: Glance | null;
  /** Why its log could not be read; empty where it was, or was not asked. */
  readonly problem: string;
}

const unread: Looked = { seen: null, problem: '' };

export class RunsFolder {
  readonly #folder: string;
  readonly #io: Io;
  readonly #known = new Map<string, Known>();
  #listing: Promise<RunsTwin> | null = null;
  /** Brokers are asked one after the other, in the background; what they said is in the next listing. */
  #asked: Promise<void> = Promise.resolve();
  #listedMs = Number.NEGATIVE_INFINITY;

  constructor(runs: string, io: Io) {
    this.#folder = resolve(io.cwd, runs);
    this.#io = io;
  }

  get path(): string {
    return this.#folder;
  }

  /** Read again at most once a second. */
  list(): Promise<RunsTwin> {
    const nowMs = this.#io.clock.now();
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

  async #list(): Promise<RunsTwin> {
    const runs = await listRuns(this.#folder);
    const rows: RunRow[] = [];
    let left = GLANCES_MAX;
    for (const run of runs.slice(0, ROWS_MAX)) {
      const known = this.#fresh(run);
      rows.push(known ?? (await this.#row(run, left-- > 0)));
    }
    const { program, clock } = this.#io;
    return {
      wire: WIRE,
      nowMs: clock.now(),
      millrace: version,
      folder: this.#folder,
      program,
      runs: rows,
      total: runs.length,
      unreadable: (await unreadableRuns(this.#folder)).slice(0, UNREADABLE_MAX),
      commands: [`${program} run quickstart --run first`, `${program} run --list`],
    };
  }

  /** What was read of it, where that is not old. */
  #fresh(run: Run): RunRow | null {
    const known = this.#known.get(run.name);
    if (known?.sign !== signOf(run)) return null;
    const freshMs = isOnBroker(run) ? BROKER_FRESH_MS : FRESH_MS;
    const isOld = run.record.status === 'running' && this.#io.clock.now() - known.atMs >= freshMs;
    return isOld ? null : known.row;
  }

  async #row(run: Run, mayOpen: boolean): Promise<RunRow> {
    const known = this.#known.get(run.name);
    const before = known?.sign === signOf(run) ? known.row : undefined;
    if (!mayOpen) return before ?? this.#rowOf(run, unread);
    if (!isOnBroker(run)) return this.#keep(run, this.#rowOf(run, await this.#look(run)));
    this.#asked = this.#asked
      .then(() => this.#look({ ...run, openMs: BROKER_OPEN_MS }))
      .then((looked) => void this.#keep(run, this.#rowOf(run, looked)));
    return this.#keep(run, before ?? this.#rowOf(run, unread));
  }

  /** Never rejects. */
  async #look(run: Run): Promise<Looked> {
    try {
      return { seen: await withLog(run, glance, () => undefined), problem: '' };
    } catch (error) {
      return { seen: null, problem: messageOf(error) };
    }
  }

  #rowOf({ name, record }: Run, { seen, problem }: Looked): RunRow {
    const viewed = {
      name,
      place: record.log ?? 'folder',
      resume: `${this.#io.program} run ${record.job.file} --run ${name}`,
    };
    return rowOf({ viewed, facts: record, seen, problem, nowMs: this.#io.clock.now() });
  }

  #keep(run: Run, row: RunRow): RunRow {
    this.#known.delete(run.name);
    this.#known.set(run.name, { sign: signOf(run), atMs: this.#io.clock.now(), row });
    if (this.#known.size > KNOWN_MAX) this.#known.delete([...this.#known.keys()][0]!);
    return row;
  }
}

/** What a row was read under: a run that was started again, or has ended, is read again. */
function signOf({ record }: Run): string {
  return JSON.stringify([record.status, record.starts]);
}

function isOnBroker({ record }: Run): boolean {
  return record.log !== undefined;
}
