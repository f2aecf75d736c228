/** The folder of runs as the page lists it: each with its newest step and reward, read in passing and kept until it changes. */
import { resolve } from 'node:path';
import { glance, rowOf } from '../../views/page/runRow.ts';
import { type RunRow, type RunsTwin, WIRE } from '../../views/page/wire.ts';
import type { Io } from '../io.ts';
import { listRuns, type Run, withLog } from '../runs.ts';
import { version } from '../version.ts';

const ROWS_MAX = 200;
/** Logs that one listing opens: the newest runs. The others are listed by what `run.json` says. */
const GLANCES_MAX = 24;
const KNOWN_MAX = 1_000;
const FRESH_MS = 4_000;

interface Known {
  /** Of the record that it was read under. */
  readonly sign: string;
  readonly atMs: number;
  readonly row: RunRow;
}

export class RunsFolder {
  readonly #folder: string;
  readonly #io: Io;
  readonly #known = new Map<string, Known>();
  #listing: Promise<RunsTwin> | null = null;
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
      commands: [`${program} run quickstart --run first`, `${program} run --list`],
    };
  }

  async #row(run: Run, mayOpen: boolean): Promise<RunRow> {
    const sign = JSON.stringify([run.record.status, run.record.starts]);
    const known = this.#known.get(run.name);
    const nowMs = this.#io.clock.now();
    const isFresh = run.record.status !== 'running' || nowMs - (known?.atMs ?? 0) < FRESH_MS;
    if (known?.sign === sign && isFresh) return known.row;
    const row = await this.#look(run, mayOpen && run.record.log === undefined);
    this.#known.delete(run.name);
    this.#known.set(run.name, { sign, atMs: nowMs, row });
    if (this.#known.size > KNOWN_MAX) this.#known.delete([...this.#known.keys()][0]!);
    return row;
  }

  /** A broker is not asked for a list: its runs are known by their record until they are opened. */
  async #look(run: Run, mayOpen: boolean): Promise<RunRow> {
    const { name, record } = run;
    const viewed = {
      name,
      place: record.log ?? 'folder',
      resume: `${this.#io.program} run ${record.job.file} --run ${name}`,
    };
    const seen = mayOpen ? await withLog(run, glance).catch(() => null) : null;
    return rowOf({ viewed, facts: record, seen, nowMs: this.#io.clock.now() });
  }
}
