/**
 * A run that the page shows: one reading of its log that all its pages and streams share. It follows
 * `metrics` and `weights` from their beginning, and tool calls and verdicts from now on, all in bounded
 * memory. Like a tap it belongs to no group and commits nothing.
 *
 * The activity of stages is read from the board at most once a second, and only while someone watches.
 */
import { Subject, Subscription } from 'rxjs';
import { type Clock, messageOf } from '../../../base/index.ts';
import type { Tokenizer } from '../../../model/index.ts';
import type { From, Log, Stored, Topic } from '../../../streams/index.ts';
import type { RunFacts } from '../../../summary/facts/index.ts';
import { type Achieved, type Live, Watch } from '../../../summary/index.ts';
import { type BatchKind, Learning, topics, type Weights } from '../../../topics/index.ts';
import {
  type Mill,
  type OfRun,
  type ReplayData,
  type RunHead,
  type WeightsData,
  WIRE,
} from '../../wire/index.ts';
import { Achievement } from './achievement.ts';
import type { Sample } from './bucketSeries.ts';
import { Cursor } from './cursor.ts';
import { Damage } from './damage.ts';
import { headOf } from './head.ts';
import { millOf } from './mill.ts';
import type { Moment } from './moment.ts';
import { Trained } from './phases.ts';
import { Places } from './places.ts';
import { RateHistory } from './rateHistory.ts';
import { Recent } from './recent.ts';
import { namedRounds, type Rounds, roundsOf } from './rounds.ts';
import { SeriesBook } from './seriesBook.ts';
import { Timeline } from './timeline.ts';

/** A run's properties outside its log. */
export interface Viewed {
  readonly name: string;
  readonly log: Log;
  /** `folder`, or the address of a broker without secrets. */
  readonly place: string;
  readonly clock: Clock;
  /** A text whose commands are written as they are typed here: `npx millrace tap …`. */
  readonly typed: (text: string) => string;
  /** The command that resumes it. */
  readonly resume: string;
  /** What `run.json` says now. */
  facts(): Promise<RunFacts>;
  /** Its policy's tokenizer; null if it is not here. Loaded on first use. */
  tokenizer(): Promise<Tokenizer | null>;
  /** Whether the file that a manifest names exists and is unchanged. */
  checkpoint(manifest: Weights): Promise<WeightsData['file']>;
  /** What `replay --verify` found last; null if it never ran. */
  verified(): Promise<ReplayData['verified']>;
  /** If it has been read already, for a page about one moment: the log is not read again for it. */
  readonly achieved?: Achieved;
}

/** A value of a metric as it arrived. */
export interface NewSample {
  readonly name: string;
  readonly sample: Sample;
}

const WINDOW_MS = 30_000;
const LOOK_MS = 900;
const CATCH_UP_MS = 5_000;

interface Looked {
  readonly live: Live;
  readonly facts: RunFacts;
  readonly mill: Mill;
}

export class RunView {
  readonly viewed: Viewed;
  readonly book = new SeriesBook();
  /** Where steps are in `metrics`. */
  readonly places = new Places();
  readonly timeline = new Timeline();
  readonly recent: Recent;
  readonly achievement: Achievement;
  readonly history = new RateHistory();
  readonly samples$ = new Subject<NewSample>();
  readonly #cursor = new Cursor();
  readonly #watch: Watch;
  readonly #following = new Subscription();
  /** Records still to be read, in each topic that is followed from its beginning. */
  readonly #ahead = new Map<string, number>();
  readonly #caughtUp: Promise<void>;
  #look: Promise<Looked> | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;
  readonly #damage = new Damage();
  readonly #learning = new Learning();
  readonly #trained = new Trained();
  /** Why a topic is no longer followed; empty if it is. */
  #trouble = '';

  constructor(viewed: Viewed) {
    const log = this.#damage.noted(viewed.log);
    const { name, clock } = viewed;
    this.viewed = { ...viewed, log };
    this.recent = new Recent(clock);
    this.achievement = new Achievement(this.viewed);
    this.#watch = new Watch(log, name, { windowMs: WINDOW_MS });
    this.#watch.follow(clock.now());
    const earliest = { kind: 'earliest' } as const;
    const latest = { kind: 'latest' } as const;
    const caughtUp = [
      this.#follow(topics.weights, earliest, (stored) => {
        this.timeline.add(stored);
        this.#trained.weights(stored.value);
      }),
      this.#follow(topics.metrics, earliest, ({ value, position }) => {
        this.#cursor.seen(position);
        this.places.seen(position, value.step);
        this.#learning.add(value);
        this.#trained.metric(value);
        this.samples$.next({ name: value.name, sample: this.book.add(value) });
      }),
    ];
    void this.#follow(topics.toolCalls, latest, ({ value }) => this.recent.toolCall(value));
    void this.#follow(topics.selected, latest, ({ value }) => this.recent.verdict(value));
    this.#caughtUp = Promise.all(caughtUp).then(() => undefined);
  }

  /** The stream's place: what a reader sends to go on from here. */
  get cursor(): Cursor {
    return this.#cursor;
  }

  /** Records of `metrics` and `weights` that are still to be read. */
  get behind(): number {
    return [...this.#ahead.values()].reduce((sum, records) => sum + records, 0);
  }

  /**
   * Resolves when everything that was there has been read; for a very long run after a while, with `behind`
   * saying how much is missing.
   */
  async ready(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CATCH_UP_MS);
    });
    await Promise.race([this.#caughtUp, late]);
    clearTimeout(timer);
  }

  /** Its state now, at most a second old. */
  async look(): Promise<Looked> {
    const nowMs = this.viewed.clock.now();
    if (this.#look === null || nowMs - this.#lookedMs >= LOOK_MS) {
      this.#lookedMs = nowMs;
      const looking = this.#lookNow();
      looking.catch(() => {
        if (this.#look === looking) this.#look = null;
      });
      this.#look = looking;
    }
    return this.#look;
  }

  /** The beginning of every page's data; `command` shows the same in a terminal. */
  async frame(moment: Moment, command: string): Promise<OfRun> {
    const { clock, typed } = this.viewed;
    const run = await this.head(moment);
    return { wire: WIRE, nowMs: clock.now(), run, at: moment.at, command: typed(command) };
  }

  async head(moment: Moment | null = null): Promise<RunHead> {
    const { facts, live } = await this.look();
    const at = moment?.at ?? null;
    const damaged = this.#damaged !== '';
    return headOf({
      viewed: this.viewed,
      facts,
      live,
      newest: at ?? this.timeline.newest,
      damaged,
    });
  }

  /** The names of its rounds. */
  async rounds(): Promise<Rounds> {
    const { facts } = await this.look();
    const achieved = await this.achievement.get(facts).catch(() => null);
    if (achieved !== null) return roundsOf(achieved.results.rounds);
    // A damaged run is named by the batches that can be read.
    const kinds = new Map<number, BatchKind>();
    const all = { from: { kind: 'earliest' }, follow: false, unreadable: () => undefined } as const;
    await this.viewed.log.tap(topics.batches, all).forEach(({ value: { round, kind } }) => {
      kinds.set(round, kind);
    });
    return namedRounds(kinds);
  }

  /** Which records cannot be read; empty for none. */
  get #damaged(): string {
    const { typed, name } = this.viewed;
    const texts = [this.#damage.text(typed(`millrace doctor ${name}`)), this.#trouble];
    return texts.filter((text) => text !== '').join(' ');
  }

  stop(): void {
    this.#watch.stop();
    this.#following.unsubscribe();
    this.samples$.complete();
  }

  async #lookNow(): Promise<Looked> {
    const { viewed } = this;
    const facts = await viewed.facts();
    const live = await this.#watch.look(facts, viewed.clock);
    const stats = await viewed.log.stats();
    this.history.add(stats, viewed.clock.now());
    const newest = this.timeline.newest;
    const damage = this.#damaged;
    const head = headOf({ viewed, facts, live, newest, damaged: damage !== '' });
    const mill = millOf({
      live,
      facts,
      stats,
      newest,
      head,
      damage,
      idle: this.#learning.notes(viewed.name).map(viewed.typed),
      history: this.history,
      recent: this.recent,
      trained: this.#trained,
    });
    return { live, facts, mill };
  }

  /** Resolves once everything now in it has been read. */
  #follow<T>(topic: Topic<T>, from: From, next: (stored: Stored<T>) => void): Promise<void> {
    return new Promise((resolve) => {
      if (from.kind === 'earliest') this.#ahead.set(topic.name, 0);
      const ahead = (records: number): void => {
        if (from.kind === 'earliest') this.#ahead.set(topic.name, records);
        if (records === 0) resolve();
      };
      const tap$ = this.viewed.log.tap(topic, {
        from,
        follow: true,
        ahead,
        unreadable: () => undefined,
      });
      const error = (cause: unknown): void => {
        this.#trouble = `${topic.name} cannot be followed: ${messageOf(cause)}.`;
        resolve();
      };
      this.#following.add(tap$.subscribe({ next, error, complete: resolve }));
    });
  }
}
