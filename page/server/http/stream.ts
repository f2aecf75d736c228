/**
 * The stream of server-sent events, to one reader at a time. It ticks twice a second; while a reader has not
 * taken what it was sent, ticks are skipped and merged into the next. A reader that takes nothing for half a
 * minute is dropped. Nothing here waits for a reader.
 */
import type { ServerResponse } from 'node:http';
import { type Clock, MillraceError } from '../../../base/index.ts';
import { type Hello, type RunRow, WIRE } from '../../wire/index.ts';
import { Cursor } from '../run/cursor.ts';
import { limits } from '../run/limits.ts';
import { RunStream, type StreamEvent } from '../run/runStream.ts';
import { safety } from './answers.ts';
import type { HotRuns } from './hotRuns.ts';
import type { RunsFolder } from './runsFolder.ts';

export interface StreamMeans {
  readonly hot: HotRuns;
  readonly folder: RunsFolder;
  readonly clock: Clock;
  /** Changes with every start of the server. */
  readonly server: string;
  readonly tickMs?: number;
}

const TICK_MS = 500;
/**
 * In ticks: how often the mill, the list of runs and a comment are sent, and how long a reader may take
 * nothing.
 */
const STATE_TICKS = 2;
const RUNS_TICKS = 10;
const COMMENT_TICKS = 30;
const STUCK_TICKS = 60;

export interface StreamAsked {
  readonly runs: readonly { readonly name: string; readonly metrics: readonly string[] }[];
  /** Whether it wants the list of runs as well. */
  readonly list: boolean;
  /** The reader's place in each run. */
  readonly since: ReadonlyMap<string, Cursor>;
}

/**
 * Fails with code `USAGE`. `lastId` = what a browser sends by itself after a break; it overrides `since=`.
 */
export function streamAsked(query: URLSearchParams, lastId: string | undefined): StreamAsked {
  const runs = query.getAll('run').map((text) => {
    const colon = text.indexOf(':');
    const name = colon < 0 ? text : text.slice(0, colon);
    const metrics =
      colon < 0
        ? []
        : text
            .slice(colon + 1)
            .split(',')
            .filter(Boolean);
    return { name, metrics };
  });
  if (runs.length > limits.streamRunsMax) {
    throw new MillraceError('USAGE', `a stream takes at most ${limits.streamRunsMax} runs`);
  }
  if (runs.some(({ metrics }) => metrics.length > limits.streamMetricsMax)) {
    throw new MillraceError(
      'USAGE',
      `a stream takes at most ${limits.streamMetricsMax} metrics per run`,
    );
  }
  const since = new Map<string, Cursor>();
  for (const part of (lastId ?? query.get('since') ?? '').split(';')) {
    const at = part.lastIndexOf('@');
    const cursor = at < 0 ? null : Cursor.parse(part.slice(at + 1));
    if (cursor !== null) since.set(part.slice(0, at), cursor);
  }
  return { runs, list: query.get('runs') === '1', since };
}

interface Followed {
  readonly stream: RunStream;
  readonly release: () => void;
}

export class EventStream {
  readonly #asked: StreamAsked;
  readonly #to: ServerResponse;
  readonly #means: StreamMeans;
  readonly #followed = new Map<string, Followed>();
  #rows = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #ticks = 0;
  #quiet = 0;
  #stuck = 0;
  #merged = 0;
  #ticking = false;
  #closed = false;

  constructor(asked: StreamAsked, to: ServerResponse, means: StreamMeans) {
    this.#asked = asked;
    this.#to = to;
    this.#means = means;
    to.on('close', () => this.close());
  }

  /** Rejects before the first byte if the stream cannot begin. */
  async start(): Promise<void> {
    const missed: StreamEvent[] = [];
    for (const { name, metrics } of this.#asked.runs) {
      missed.push(...(await this.#open(name, metrics)));
    }
    if (this.#closed) return;
    this.#to.writeHead(200, {
      ...safety,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    this.#to.socket?.setNoDelay(true);
    this.#to.write('retry: 2000\n\n');
    this.#send(await this.#hello());
    for (const event of missed) this.#send(event);
    await this.#states();
    if (this.#asked.list) await this.#list();
    if (this.#closed) return;
    this.#timer = setInterval(() => void this.#tick(), this.#means.tickMs ?? TICK_MS);
    this.#timer.unref();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    for (const { stream, release } of this.#followed.values()) {
      stream.close();
      release();
    }
    this.#followed.clear();
    this.#to.destroy();
  }

  /** What it missed. A run that does not exist yet is looked for again later. */
  async #open(name: string, metrics: readonly string[]): Promise<readonly StreamEvent[]> {
    const taken = await this.#means.hot.take(name).catch(() => null);
    if (taken === null) return [];
    await taken.view.ready();
    if (this.#closed || this.#followed.has(name)) {
      taken.release();
      return [];
    }
    const stream = new RunStream(taken.view, metrics);
    this.#followed.set(name, { stream, release: taken.release });
    const since = this.#asked.since.get(name);
    return since === undefined ? [] : stream.missed(since);
  }

  async #hello(): Promise<StreamEvent> {
    const { hot, clock, server } = this.#means;
    const names = [...this.#followed.keys()];
    const runs: Hello['runs'] = await Promise.all(
      names.map((name) => hot.with(name, (view) => view.head())),
    );
    const missing = this.#asked.runs
      .map(({ name }) => name)
      .filter((name) => !this.#followed.has(name));
    return { event: 'hello', data: { wire: WIRE, nowMs: clock.now(), server, runs, missing } };
  }

  async #tick(): Promise<void> {
    if (this.#closed) return;
    this.#ticks += 1;
    this.#quiet += 1;
    if (this.#to.writableNeedDrain) {
      this.#merged += 1;
      this.#stuck += 1;
      if (this.#stuck >= STUCK_TICKS) this.close();
      return;
    }
    this.#stuck = 0;
    // A log that answers slowly makes ticks rarer, not more numerous.
    if (this.#ticking) return;
    this.#ticking = true;
    try {
      for (const { stream } of this.#followed.values()) {
        for (const event of stream.points(this.#merged)) this.#send(event);
      }
      this.#merged = 0;
      if (this.#ticks % STATE_TICKS === 0) await this.#states();
      if (this.#ticks % RUNS_TICKS === 0) await this.#again();
      if (this.#quiet >= COMMENT_TICKS) this.#write(': still here\n\n');
    } catch {
      // The log did not answer this time; the comment keeps the stream alive, and the page shows how old its
      // data is.
    } finally {
      this.#ticking = false;
    }
  }

  async #states(): Promise<void> {
    for (const { stream } of this.#followed.values()) {
      for (const event of await stream.state()) this.#send(event);
    }
  }

  /** Runs that did not exist before, and the list. */
  async #again(): Promise<void> {
    const missing = this.#asked.runs.filter(({ name }) => !this.#followed.has(name));
    const before = this.#followed.size;
    for (const { name, metrics } of missing) await this.#open(name, metrics);
    if (this.#followed.size > before) this.#send(await this.#hello());
    if (this.#asked.list) await this.#list();
  }

  async #list(): Promise<void> {
    const { runs } = await this.#means.folder.list();
    const rows = new Map(runs.map((row) => [row.name, timeless(row)]));
    const changed = runs.filter(({ name }) => this.#rows.get(name) !== rows.get(name));
    const gone = [...this.#rows.keys()].filter((name) => !rows.has(name));
    this.#rows = rows;
    if (changed.length + gone.length === 0) return;
    this.#send({ event: 'runs', data: { runs: changed, gone } });
  }

  #send({ event, data }: StreamEvent): void {
    const id = [...this.#followed.values()].map(({ stream }) => stream.cursor).join(';');
    this.#write(`event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  #write(text: string): void {
    if (this.#closed || this.#to.writableEnded) return;
    this.#quiet = 0;
    this.#to.write(text);
  }
}

function timeless({ heardMs: _, ...row }: RunRow): string {
  return JSON.stringify(row);
}
