/** The folder of runs as the page lists it: each with its newest step and reward, read in passing and kept until it changes. */
import { resolve } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { type Glance, glance, rowOf } from '../../views/page/runRow.ts';
import { type RunRow, type RunsTwin, WIRE } from '../../views/page/wire.ts';
import type { Io } from '../io.ts';
import { listRuns, type Run, unreadableRuns, withLog } from '../runs.ts';
import { version } from '../version.ts';

const ROWS_MAX = 200;
/** Logs that one listing opens: the newest runs. The others are listed by what `run.json` says. */
const GLANCES_MAX = 24;
const UNREADABLE_MAX = 20;
const KNOWN_MAX = 1_000;
const FRESH_MS = 4_000;
/** A broker is asked less often, and not waited for. */
const BROKER_FRESH_MS = 15_000;
const BROKER_OPEN_MS = 5_000;

interface Known {
  /** Of the record that it was read under. */
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
    for (const [i, run] of runs.slice(0, ROWS_MAX).entries()) {
      rows.push(await this.#row(run, i < GLANCES_MAX));
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

  async #row(run: Run, mayOpen: boolean): Promise<RunRow> {
    const sign = JSON.stringify([run.record.status, run.record.starts]);
    const known = this.#known.get(run.name);
    const nowMs = this.#io.clock.now();
    const isOnBroker = run.record.log !== undefined;
    const isFresh =
      run.record.status !== 'running' ||
      nowMs - (known?.atMs ?? 0) < (isOnBroker ? BROKER_FRESH_MS : FRESH_MS);
    if (known?.sign === sign && isFresh) return known.row;
    if (!mayOpen) return this.#keep(run, sign, unread);
    if (!isOnBroker) return this.#keep(run, sign, await this.#look(run));
    this.#asked = this.#asked
      .then(() => this.#look({ ...run, openMs: BROKER_OPEN_MS }))
      .then((looked) => void this.#keep(run, sign, looked));
    return this.#keep(run, sign, unread, known?.sign === sign ? known.row : undefined);
  }

  /** Never rejects. */
  async #look(run: Run): Promise<Looked> {
    try {
      return { seen: await withLog(run, glance, () => undefined), problem: '' };
    } catch (error) {
      return { seen: null, problem: messageOf(error) };
    }
  }

  #keep(run: Run, sign: string, { seen, problem }: Looked, before?: RunRow): RunRow {
    const { name, record } = run;
    const nowMs = this.#io.clock.now();
    const viewed = {
      name,
      place: record.log ?? 'folder',
      resume: `${this.#io.program} run ${record.job.file} --run ${name}`,
    };
    const row = before ?? rowOf({ viewed, facts: record, seen, problem, nowMs });
    this.#known.delete(name);
    this.#known.set(name, { sign, atMs: nowMs, row });
    if (this.#known.size > KNOWN_MAX) this.#known.delete([...this.#known.keys()][0]!);
    return row;
  }
}
