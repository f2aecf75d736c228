/**
 * A simulated world around one run: its processes, the log and the disk that outlive them, and what goes
 * wrong.
 *
 * A process that dies, fails or is stopped is started again a little later, until the run is done. One
 * process alone has the log for itself, as in a folder: it dies with it. Several share it, as on a broker.
 */
import { type Draws, draws, hasCode, messageOf } from '../../base/index.ts';
import { type ToolReply, toolTopics } from '../../operators/tools/index.ts';
import { controlTopic, type Log } from '../../streams/index.ts';
import { type MemoryStore, openMemoryLog } from '../../streams/memory/index.ts';
import type { FlowStats } from '../../streams/run/index.ts';
import { allTopics } from '../../topics/index.ts';
import type { Fault } from '../faults/fault.ts';
import { Weather } from '../faults/weather.ts';
import { admittedAtOnce } from './admitted.ts';
import { Bounds } from './bounds.ts';
import { Broker } from './broker.ts';
import { Disk } from './disk.ts';
import type { WorldParts } from './job.ts';
import { Life, never, type Point } from './life.ts';
import { partsIn, serversOf } from './parts.ts';
import { processLife } from './processLife.ts';
import { processLog } from './processLog.ts';
import type { SimulatedServer } from './servers.ts';
import type { Shape } from './shape.ts';
import { type Asked, TOOL } from './tools.ts';
import { VirtualClock } from './virtualClock.ts';
import { WatchedStore } from './watchedStore.ts';

export interface WorldOptions {
  readonly shape: Shape;
  readonly faults: readonly Fault[];
  /** Called with what happens, for people. */
  readonly print?: (line: string) => void;
}

/** How the run ended. */
export interface Outcome {
  /** Null if it ended well; otherwise why not. */
  readonly unfinished: string | null;
  /** Violations seen during the run. */
  readonly broken: readonly string[];
  /** Virtual time, and the number of things that processes did. */
  readonly ms: number;
  readonly points: number;
  readonly starts: number;
}

/** Once nothing is wrong any more, a run that commits nothing for this long is stuck. */
const STUCK_MS = 300_000;
/** More starts than faults and a few more mean that it fails again and again. */
const STARTS_SPARE = 16;
const MAY_FAIL = ['LOG_WRITE', 'NO_SPACE', 'TOOL_DOWN'];
/** A process whose name was taken over ends within this time, once it runs. */
const SHUT_OUT_MS = 60_000;
const BROKEN_MAX = 8;
/** A second answer comes within this. */
const AGAIN_MS = 3_000;
/** One in this many histories is checked for what it keeps in memory. */
const WEIGHED = 4;

export class World {
  readonly clock: VirtualClock;
  readonly store: MemoryStore;
  readonly disk = new Disk();
  readonly #shape: Shape;
  readonly #faults: readonly Fault[];
  readonly #weather: Weather;
  readonly #print: (line: string) => void;
  readonly #draws: Draws;
  readonly #startMs: number;
  readonly #board = { about: null };
  readonly #broken: string[] = [];
  readonly #over = new AbortController();
  readonly #lives: (Life | null)[];
  /** Of each process; they outlive it. */
  readonly #servers: readonly (readonly SimulatedServer[])[];
  readonly #stats = new Map<string, FlowStats>();
  /** Where the log is shared, the one behind all; else of the process that lives. */
  #log: Log | null = null;
  #broker: Broker | null = null;
  /** Processes stalled and taken for dead, and until when. */
  readonly #takenOver = new Map<Life, number>();
  #owner: Life | null = null;
  #applied = 0;
  #commits = 0;
  #replies = 0;
  #lastCommitMs = 0;
  #aheadMs = 0;
  #points = 0;
  #starts = 0;
  #done = false;

  constructor({ shape, faults, print = () => undefined }: WorldOptions) {
    this.#shape = shape;
    this.#faults = faults;
    this.#weather = new Weather(faults, () => this.#elapsedMs());
    this.#print = print;
    this.#draws = draws('world', shape.seed);
    this.clock = new VirtualClock(shape.seed);
    this.#startMs = this.clock.now();
    this.store = new WatchedStore(
      (apply) => this.#flush(apply),
      (what) => this.#break(what),
    );
    this.#lives = shape.processes.map(() => null);
    this.#servers = shape.processes.map(() => serversOf(shape, this.disk));
  }

  async live(): Promise<Outcome> {
    this.#plan();
    for (const i of this.#shape.processes.keys()) void this.#keepAlive(i);
    let unfinished: string | null = null;
    const end = await this.clock.run(() => {
      if (this.#done || this.#broken.length > 0 || this.#stopped) return true;
      const sinceMs = Math.max(this.#lastCommitMs, this.#weather.calmMs);
      if (this.#elapsedMs() - sinceMs > STUCK_MS) unfinished = this.#standstill();
      return unfinished !== null;
    });
    if (end === 'nothing') unfinished = `nothing is left to wait for: ${this.#standstill()}`;
    for (const life of this.#lives) life?.kill();
    return {
      ...{ unfinished, broken: this.#broken, ms: this.#elapsedMs() },
      ...{ points: this.#points, starts: this.#starts },
    };
  }

  #elapsedMs(): number {
    return this.clock.now() - this.#startMs;
  }

  /** A run without an end was stopped, and all its processes have ended. */
  get #stopped(): boolean {
    if (this.#shape.stopMs === null || !this.#over.signal.aborted) return false;
    return this.#lives.every((life) => life === null || life.dead);
  }

  // What goes wrong.

  #plan(): void {
    const { stopMs } = this.#shape;
    if (stopMs !== null) this.clock.at(this.#startMs + stopMs, () => this.#over.abort());
    for (const fault of this.#faults) {
      if (!('fromMs' in fault)) continue;
      this.clock.at(this.#startMs + fault.fromMs, () => this.#befall(fault));
    }
  }

  #befall(fault: Fault): void {
    this.#say(`fault ${JSON.stringify(fault)}`);
    switch (fault.kind) {
      case 'kill':
        this.#kill(this.#lives[fault.process] ?? null);
        break;
      case 'twice':
        this.#startAnother(fault.process, fault.forMs);
        break;
      case 'jump':
        this.#aheadMs += fault.byMs;
        break;
      case 'restart':
        for (const server of this.#servers.flat()) server.restart(fault.behind);
        break;
      case 'full':
        this.disk.full = true;
        this.clock.at(this.clock.now() + fault.forMs, () => {
          this.disk.full = this.#weather.is('full');
        });
        break;
      case 'pause':
        void this.#command('pause', fault.fromMs)
          .then(() => this.clock.sleep(fault.forMs))
          .then(() => this.#command('resume', fault.fromMs));
        break;
      case 'stop':
        void this.#command('stop', fault.fromMs);
        break;
      case 'set': {
        const { setting, value, fromMs } = fault;
        for (const again of [0, 1, 1500]) {
          const send = (): void =>
            void this.#command('set', fromMs, { setting, value: JSON.stringify(value) });
          this.clock.at(this.clock.now() + again, send);
        }
        break;
      }
      default:
    }
  }

  /** From outside, like a user's command: sent again until it is acknowledged. */
  async #command(
    kind: 'set' | 'pause' | 'resume' | 'stop',
    number: number,
    { setting = '', value = '' } = {},
  ): Promise<void> {
    const record = {
      ...{ id: `${kind}-${number}`, kind, setting, value },
      ...{ by: 'someone', askedMs: number },
    };
    while (!this.#done) {
      const log = this.#weather.is('broker') || this.#weather.is('elect') ? null : this.#log;
      const sent = log
        ?.commit((tx) => tx.append(controlTopic, record))
        .then(
          () => true,
          () => false,
        );
      // Of a log that has died nothing is heard.
      if ((await Promise.race([sent ?? false, this.clock.sleep(2_000)])) === true) return;
      await this.clock.sleep(100);
    }
  }

  #passed(life: Life, point: Point): void {
    this.#points += 1;
    const dies = this.#faults.some(
      (fault) => fault.kind === 'crash' && fault.point === this.#points,
    );
    if (!dies) return;
    this.#say(`fault crash of ${life.name} at ${point} (${this.#points})`);
    this.#kill(life);
  }

  #kill(life: Life | null): void {
    if (life === null) return;
    life.kill();
    if (this.#owner === life) {
      this.#owner = null;
      this.#log = null;
    }
    const place = this.#lives.indexOf(life);
    if (place >= 0) void this.#restart(place, 'killed');
  }

  // Answers of tools, where calls go through topics.

  #appended(topic: string, value: unknown): void {
    if (topic !== toolTopics.replies.name) return;
    const chance = this.#draws.under('again', this.#replies++);
    if (chance.uniform(0) >= this.#weather.share('again')) return;
    const reply = value as ToolReply;
    this.clock.at(this.clock.now() + AGAIN_MS * chance.uniform(1) ** 2, () => this.#reply(reply));
  }

  /** The worker had said that the call was given up. */
  #late(call: Asked, output: string): void {
    if (this.#shape.settings.toolCalls !== 'topics') return;
    this.#reply({
      ...{ ...call, tool: TOOL, output, ok: true, failure: '' },
      ...{ attempts: 1, cached: false, ms: 0 },
    });
  }

  #reply(reply: ToolReply): void {
    if (this.#done) return;
    this.#say(`once more: the answer to ${reply.rolloutId}#${reply.turn}`);
    this.#log?.commit((tx) => tx.append(toolTopics.replies, reply)).catch(() => undefined);
  }

  // The log's store.

  async #flush(apply: () => void): Promise<void> {
    const owner = this.#owner;
    const number = this.#commits++;
    await this.clock.sleep(1 + 8 * this.#draws.under('flush', number).uniform(0));
    while (this.#shared && this.#weather.is('broker')) await this.clock.sleep(50);
    if (this.disk.full) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    // Killed before it was written, or right after.
    if (owner?.dead) return never();
    apply();
    this.#applied += 1;
    this.#lastCommitMs = this.#elapsedMs();
  }

  /** A shared log outlives its clients: whatever was begun is completed. */
  async #archive(life: Life | null, apply: () => void): Promise<void> {
    const passed = (): void => (life ?? this.#lives[0])?.passes('archive');
    passed();
    await (life ?? this).clock.sleep(10);
    if (this.disk.full) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    apply();
    passed();
  }

  get #shared(): boolean {
    return this.#shape.processes.length > 1;
  }

  #openLog(life: Life, bounds: Bounds): Log {
    const open = (clock: VirtualClock | Life['clock']): Log =>
      openMemoryLog({
        ...{ store: this.store, clock, board: this.#board },
        retention: {
          topics: allTopics,
          write: (apply) => this.#archive(this.#shared ? null : life, apply),
        },
      });
    if (!this.#shared) {
      this.#owner = life;
      this.#log = open(life.clock);
    } else if (this.#broker === null) {
      this.#log = open(this.clock);
      this.#broker = new Broker({
        ...{ log: this.#log, clock: this.clock, draws: this.#draws.under('broker') },
        election: () => this.#weather.now('elect')[0]?.fromMs ?? null,
      });
    }
    return processLog(this.#broker?.session(life) ?? this.#log!, {
      ...{ life, store: this.store, bounds, applied: () => this.#applied },
      broken: (what) => this.#break(what),
      appended: (topic, value) => this.#appended(topic, value),
      reach: () => (this.#shared && this.#weather.is('broker') ? this.#reached() : null),
    });
  }

  async #reached(): Promise<void> {
    while (this.#weather.is('broker')) await this.clock.sleep(50);
  }

  // Processes.

  async #keepAlive(place: number): Promise<void> {
    const process = this.#shape.processes[place]!;
    this.#starts += 1;
    if (
      this.#starts >
      this.#faults.length * this.#lives.length + this.#lives.length + STARTS_SPARE
    ) {
      this.#break(`${process.name} was started ${this.#starts} times in vain`);
      return;
    }
    const life: Life = new Life({
      ...{ name: process.name, clock: this.clock, aheadMs: () => this.#aheadMs },
      stillUntilMs: () => this.#stillUntilMs(place, life),
      passed: (one, point) => this.#passed(one, point),
    });
    this.#lives[place] = life;
    this.#say(`${process.name} starts`);
    const bounds = new Bounds({
      ...{ life, store: this.store, weighs: this.#shape.seed % WEIGHED === 0 },
      broken: (what) => this.#break(what),
    });
    const log = this.#openLog(life, bounds);
    try {
      const end = await processLife({
        ...{ life, shape: this.#shape, process, log, disk: this.disk, bounds },
        parts: this.#partsOf(life, this.#servers[place]!),
        signal: this.#over.signal,
        print: (line) => this.#say(`${process.name}: ${line}`),
        onStats: (stats) => {
          this.#stats.set(process.name, stats);
          bounds.told(stats);
        },
      });
      if (life.dead) return;
      bounds.ended();
      await this.#closed(life);
      this.#say(`${process.name} ends: ${end}`);
      if (this.#takenOver.has(life)) return;
      if (end === 'quiescent' && place === 0) {
        this.#done = true;
        this.#over.abort();
      } else if (!this.#over.signal.aborted) await this.#restart(place, end);
    } catch (error) {
      if (life.dead) return;
      await this.#closed(life);
      this.#say(`${process.name} fails: ${messageOf(error)}`);
      const replaced = this.#takenOver.has(life);
      if (replaced && isOf(error, 'FENCED')) return;
      if (!this.#mayFail(error)) this.#break(`${process.name} failed: ${messageOf(error)}`);
      else if (!replaced) await this.#restart(place, 'failed');
    }
  }

  /** The end of a process in order: nothing of it goes on. */
  async #closed(life: Life): Promise<void> {
    if (this.#owner === life) {
      const log = this.#log;
      this.#owner = null;
      this.#log = null;
      await log?.close();
    }
    life.kill();
  }

  async #restart(place: number, why: string): Promise<void> {
    this.#lives[place] = null;
    const wait = this.#draws.under('restart', place, why, this.#starts);
    await this.clock.sleep(100 + 3_000 * wait.uniform(0));
    // Whoever starts a run again has made room first.
    while (this.disk.full) await this.clock.sleep(500);
    if (!this.#done && !this.#over.signal.aborted) void this.#keepAlive(place);
  }

  /** A supervisor of a process without a sign of life starts another one under its name. */
  #startAnother(place: number, forMs: number): void {
    const life = this.#lives[place];
    if (life === null || life === undefined) return;
    this.#takenOver.set(life, this.clock.now() + forMs);
    void this.#restart(place, 'taken over');
    const calmMs = Math.max(this.#elapsedMs() + forMs, this.#weather.calmMs);
    this.clock.at(this.#startMs + calmMs + SHUT_OUT_MS, () => {
      if (!life.dead && !this.#done) this.#break(`${life.name} goes on although it was replaced`);
    });
  }

  /** What a user would understand: there is no room, or the tool that a flywheel asks is not there. */
  #mayFail(error: unknown): boolean {
    return MAY_FAIL.some((code) => isOf(error, code));
  }

  #stillUntilMs(place: number, life: Life): number {
    const replaced = this.#takenOver.get(life);
    if (replaced !== undefined) return replaced;
    const ends = this.#weather
      .now('still')
      .filter(({ process }) => process === place)
      .map(({ fromMs, forMs }) => this.#startMs + fromMs + forMs);
    return Math.max(0, ...ends);
  }

  #partsOf(life: Life, servers: readonly SimulatedServer[]): WorldParts {
    return partsIn(this.#shape, {
      ...{ life, disk: this.disk, clock: this.clock, servers, busy: this.#admission() },
      broken: (what) => this.#break(what),
      weather: () => ({
        lost: this.#weather.share('lost'),
        late: this.#weather.share('late'),
        away: this.#weather.is('server'),
      }),
      toolWeather: () => ({
        hang: this.#weather.share('hang'),
        overdue: this.#weather.share('overdue'),
        down: this.#weather.is('down'),
      }),
      lateAnswer: (call, output) => this.#late(call, output),
    });
  }

  /** Where the setting is changed on the way, there is nothing to compare with. */
  #admission(): ReturnType<typeof admittedAtOnce> {
    const isSet = this.#faults.some(({ kind }) => kind === 'set');
    const most = isSet ? Number.POSITIVE_INFINITY : this.#shape.settings.concurrency;
    return admittedAtOnce(most, (what) => this.#break(what));
  }

  // What people are shown.

  #break(what: string): void {
    if (this.#broken.length < BROKEN_MAX) this.#broken.push(what);
    this.#say(`BROKEN ${what}`);
  }

  /** Describes who waits for what. */
  #standstill(): string {
    const lines = [...this.#stats].flatMap(([process, { stages }]) =>
      stages
        .filter(({ inflight, waiting }) => inflight + waiting > 0)
        .map(
          ({ name, from, inflight, waiting }) =>
            `${process}: ${name} holds ${inflight} of ${from} (${waiting} in open groups)`,
        ),
    );
    const lags = this.store.heads().flatMap(([topic, { end }]) =>
      this.store
        .groups(topic)
        .filter(([, { low }]) => low < end)
        .map(([group, { low }]) => `${group} has settled ${topic} up to ${low} of ${end}`),
    );
    return `no commit for ${STUCK_MS / 1000} s; ${[...lines, ...lags].join('; ')}`;
  }

  #say(line: string): void {
    this.#print(`${String(this.#elapsedMs()).padStart(8)} ${line}`);
  }
}

function isOf(error: unknown, code: string): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (hasCode(cause, code)) return true;
  }
  return false;
}
