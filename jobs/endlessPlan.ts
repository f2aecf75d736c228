/**
 * The plan of a job whose questions have no end: the order of `plan.ts`, but a question takes its place when
 * it comes.
 *
 * The first questions are held out, unless a file gives the held-out ones; the others are asked in the order
 * in which they come. A question is in the topic in the commit that advances its source and says how many
 * places of the plan are taken: a resumed run continues with the next place and the next question. Rows that
 * are asked again (the held-out ones, after every round) are kept in memory, and read back from the topic by
 * a resumed run. A question whose id was asked before is skipped.
 *
 * The rounds are walked as places are taken: there may be no last one. A round that is cut by time takes what
 * comes until its time is up; the places that it leaves are skipped, and the record that says how many it
 * took is written with the place after it. When it began is part of the cursor: a resumed run cuts it when
 * the one before it would have, or at once.
 */

import { type Clock, MillraceError, type SleepClock, sleepClock } from '../base/index.ts';
import { counted } from '../base/text/index.ts';
import type { EndlessQuestions } from '../sources/endless/index.ts';
import type { QuestionRow } from '../sources/index.ts';
import {
  beside,
  type Log,
  type Opening,
  type Place,
  RecentKeys,
  type Resumable,
  type ResumableItem,
  recordsOf,
  type SourceItem,
} from '../streams/index.ts';
import { pulled } from '../streams/run/index.ts';
import {
  type OpenWindow,
  type Question,
  topics,
  type Window,
  windowLeftMs,
  windowWith,
} from '../topics/index.ts';
import { oneAfterAnother, type RoundPlan } from './plan.ts';

/** What comes, and what to ask when. */
export interface EndlessPlan {
  readonly arriving: EndlessQuestions;
  /** The rows of a file, or how many of the first questions are held out. */
  readonly heldOut: readonly QuestionRow[] | number;
  /** Unusable rows of the file of held-out questions. */
  readonly deadLetters: readonly SourceItem<never>[];
  /**
   * The rounds after the first. They may ask a question of an earlier round again, except those without an
   * end.
   */
  readonly rounds: readonly RoundPlan[];
  readonly log: Log;
  readonly clock: Clock;
  readonly print: (line: string) => void;
}

/** A repeated question is recognised by its id among this many of the newest. */
export const REMEMBERED = 2 ** 20;

/** Report a wait this long, but never more often than this. */
const QUIET_MS = 5000;
const NOTICE_EVERY_MS = 60_000;
const SLEEP_MAX_MS = 86_400_000;

/** The parts of the cursor: how many places are taken, and which window is open. */
const TAKEN = 'plan';
const WINDOW = 'plan/window';

/** The questions of the plan in order, as a source that continues where it was. */
export function endlessItems(plan: EndlessPlan): Resumable<Question> {
  return { kind: 'resumable', open: (opening) => new Planner(plan, opening).items() };
}

/** How many arriving questions the plan takes (at most, if rounds are cut by time); null = all, endlessly. */
export function neededBy({
  heldOut,
  rounds,
}: Pick<EndlessPlan, 'heldOut' | 'rounds'>): number | null {
  if (rounds.at(-1)?.next !== undefined) return null;
  const rows = new Set<string>();
  for (const slot of slotsOf({ heldOut, rounds, deadLetters: [] })) {
    if (slot.kind === 'question') rows.add(slot.row);
  }
  return rows.size - (typeof heldOut === 'number' ? 0 : heldOut.length);
}

/** The same in words: `40`, `at most 40`. */
export function asksOf(plan: Pick<EndlessPlan, 'heldOut' | 'rounds'>): string | null {
  const needed = neededBy(plan);
  if (needed === null) return null;
  return plan.rounds.some(({ lengthMs }) => lengthMs !== undefined)
    ? `at most ${needed}`
    : `${needed}`;
}

/** Skips the rest of a round; returns how many places that is. */
function passedOver(slots: Iterator<Slot, void>): number {
  for (let passed = 1; ; passed++) {
    const { done, value } = slots.next();
    if (done === true || value.kind === 'cut') return passed;
  }
}

/** A place in the plan; `row` names a row, by the order in which rows arrive. */
type Slot =
  | { readonly kind: 'letter'; readonly item: SourceItem<never> }
  | {
      readonly kind: 'question';
      readonly row: string;
      readonly as: Pick<Question, 'phase' | 'round' | 'schedule'>;
      /** Whether a later place may ask the row again. */
      readonly again: boolean;
      /** How long its round takes questions; null = until it has all. */
      readonly lengthMs: number | null;
    }
  /** After the last question of a round that is cut by time. */
  | { readonly kind: 'cut' };

function* slotsOf({
  heldOut,
  deadLetters,
  rounds,
}: Pick<EndlessPlan, 'heldOut' | 'deadLetters' | 'rounds'>): Generator<Slot, void> {
  for (const item of deadLetters) yield { kind: 'letter', item };
  const held = typeof heldOut === 'number' ? heldOut : heldOut.length;
  function* evaluation(round: number): Generator<Slot, void> {
    for (let i = 0; i < held; i++) {
      const as = { phase: 'evaluate', round, schedule: null } as const;
      yield { kind: 'question', row: `held/${i}`, as, again: true, lengthMs: null };
    }
  }
  yield* evaluation(0);
  let round = 0;
  for (const { phase, count, skip, schedule, evaluated, lengthMs = null } of oneAfterAnother(
    rounds,
  )) {
    round += 1;
    for (let index = 0; phase !== null && index < count; index++) {
      const number = skip + index;
      const as = { phase, round, schedule: schedule?.(index) ?? null };
      const again = isAskedAgain(number, round, rounds);
      yield { kind: 'question', row: `train/${number}`, as, again, lengthMs };
    }
    if (lengthMs !== null) yield { kind: 'cut' };
    if (evaluated !== false) yield* evaluation(round);
  }
}

function isAskedAgain(row: number, round: number, rounds: readonly RoundPlan[]): boolean {
  return rounds
    .slice(round)
    .some(({ phase, skip, count }) => phase !== null && row >= skip && row < skip + count);
}

type Arrived = Place & { readonly value: QuestionRow };

class Planner {
  readonly #plan: EndlessPlan;
  readonly #opening: Opening;
  readonly #clock: SleepClock;
  /** Rows to ask again, by name. */
  readonly #kept = new Map<string, QuestionRow>();
  /** Questions that came and were taken. */
  #come = 0;
  /** The open window, if rounds are cut by time, and the places that such rounds left. */
  #open: OpenWindow | null = null;
  #left = 0;
  /** The pending request. */
  #pending: Promise<IteratorResult<ResumableItem<QuestionRow>>> | null = null;
  #lastNoticeMs = Number.NEGATIVE_INFINITY;

  constructor(plan: EndlessPlan, opening: Opening) {
    this.#plan = plan;
    this.#opening = opening;
    this.#clock = sleepClock(plan.clock);
    const { heldOut } = plan;
    if (typeof heldOut === 'number') return;
    for (const [i, row] of heldOut.entries()) this.#kept.set(`held/${i}`, row);
  }

  async *items(): AsyncGenerator<ResumableItem<Question>, void> {
    const slots = slotsOf(this.#plan);
    let taken = await this.#goOn(slots);
    const asked = await RecentKeys.of(this.#plan.log, topics.questions, REMEMBERED);
    const arrivals = pulled(await this.#plan.arriving.open(this.#opening));
    try {
      // Not for…of, which would end what `goOn` has begun.
      for (let next = slots.next(); next.done !== true; next = slots.next()) {
        const slot = next.value;
        taken += 1;
        const place = { [TAKEN]: String(taken) };
        if (slot.kind === 'letter') {
          yield { ...slot.item, at: place };
          continue;
        }
        if (slot.kind === 'cut') {
          yield this.#cut('full', place);
          continue;
        }
        const { row, as, again, lengthMs } = slot;
        const known = this.#kept.get(row);
        if (known !== undefined) {
          yield { value: { ...known, ...as }, at: { ...place, ...this.#counted(slot) } };
          continue;
        }
        const arrived = yield* this.#untilNew(arrivals, asked, this.#leftMs(lengthMs));
        if (arrived === null) return;
        if (arrived === 'over') {
          const passed = passedOver(slots);
          taken += passed;
          this.#left += passed;
          yield this.#cut('time', { [TAKEN]: String(taken) });
          continue;
        }
        const { value, at } = arrived;
        asked.add(value.id);
        this.#come += 1;
        if (again) this.#kept.set(row, value);
        const named = again ? { [row]: value.id } : {};
        const behind = { ...at, ...place, ...named, ...this.#counted(slot) };
        yield { ...arrived, value: { ...value, ...as }, at: behind };
      }
    } finally {
      void arrivals.return?.();
    }
  }

  /** The open window with a question of this place in it, as a part of the cursor. */
  #counted({
    as,
    lengthMs,
  }: Extract<Slot, { kind: 'question' }>): Readonly<Record<string, string>> {
    if (lengthMs === null) return {};
    this.#open = windowWith(this.#open, as.round, this.#clock.now());
    return this.#windowPart();
  }

  #windowPart(): Readonly<Record<string, string>> {
    return { [WINDOW]: JSON.stringify({ open: this.#open, left: this.#left }) };
  }

  /** The record of the open window, and the place after it. */
  #cut(why: Window['why'], place: Place['at']): Place {
    const cut: Window = { ...this.#open!, cutMs: this.#clock.now(), why };
    this.#open = null;
    return { at: { ...place, ...this.#windowPart() }, also: [beside(topics.windows, cut)] };
  }

  /** How much longer the open window takes questions; asked whenever one is waited for. */
  #leftMs(lengthMs: number | null): () => number {
    const open = this.#open;
    if (lengthMs === null || open === null) return () => Number.POSITIVE_INFINITY;
    return () => windowLeftMs(open, lengthMs, this.#clock.now());
  }

  /** Skips the places already taken and returns how many; keeps the rows to ask again. */
  async #goOn(slots: Generator<Slot, void>): Promise<number> {
    const taken = Number((await this.#opening.cursor(TAKEN)) ?? 0);
    const met = new Set<string>();
    const again = new Set<string>();
    for (let i = 0; i < taken; i++) {
      const { value: slot } = slots.next();
      if (slot?.kind !== 'question' || this.#kept.has(slot.row)) continue;
      met.add(slot.row);
      if (slot.again) again.add(slot.row);
      else again.delete(slot.row);
    }
    const window = await this.#opening.cursor(WINDOW);
    if (window !== null) {
      const { open, left } = JSON.parse(window) as { open: OpenWindow | null; left: number };
      this.#open = open;
      this.#left = left;
    }
    this.#come = met.size - this.#left;
    await this.#recall(again);
    return taken;
  }

  /** Reads rows back from the topic. */
  async #recall(rows: Iterable<string>): Promise<void> {
    const wanted = new Map<string, string>();
    for (const row of rows) {
      const id = await this.#opening.cursor(row);
      // A place that a round left when its time was over has no question.
      if (id !== null) wanted.set(id, row);
    }
    if (wanted.size === 0) return;
    for await (const { value } of recordsOf(this.#plan.log, topics.questions, {
      from: { kind: 'earliest' },
    })) {
      const row = wanted.get(value.id);
      if (row === undefined) continue;
      const { id, source, question, answers, ability } = value;
      this.#kept.set(row, { id, source, question, answers, ability });
      wanted.delete(id);
      if (wanted.size === 0) return;
    }
    const [id] = wanted.keys();
    throw new MillraceError(
      'DAMAGED',
      `held-out question ${id} is missing from the log; check the run with \`millrace doctor\``,
    );
  }

  /** Skips unusable and repeated questions; returns the first new one, null at the end. */
  async *#untilNew(
    arrivals: AsyncIterator<ResumableItem<QuestionRow>>,
    asked: RecentKeys,
    leftMs: () => number,
  ): AsyncGenerator<ResumableItem<never>, Arrived | 'over' | null> {
    for (;;) {
      const come = await this.#next(arrivals, leftMs);
      if (come === 'over') return come;
      const { done, value: item } = come;
      if (done === true) {
        if (this.#opening.signal.aborted) return null;
        throw this.#ended();
      }
      if (!('value' in item)) yield item;
      else if (!asked.has(item.value.id)) return item;
      else {
        const { value: _, ...place } = item;
        yield place;
      }
    }
  }

  /** The next question, unless the time is up first; then the next call returns it. */
  async #next(
    arrivals: AsyncIterator<ResumableItem<QuestionRow>>,
    leftMs: () => number,
  ): Promise<IteratorResult<ResumableItem<QuestionRow>> | 'over'> {
    if (leftMs() <= 0) return 'over';
    const over = new AbortController();
    this.#clock.sleep(QUIET_MS, over.signal).then(
      () => this.#tell(),
      () => undefined,
    );
    this.#pending ??= arrivals.next();
    const pending = this.#pending;
    pending.catch(() => undefined); // it may fail after the caller has gone
    try {
      const bounded = leftMs() < Number.POSITIVE_INFINITY;
      const come = await (bounded
        ? Promise.race([pending, this.#timeOver(leftMs, over.signal)])
        : pending);
      if (come === 'over' || leftMs() <= 0) return 'over';
      this.#pending = null;
      return come;
    } finally {
      over.abort();
    }
  }

  /** Resolves when no time is left; a timer takes at most some days at once. */
  async #timeOver(leftMs: () => number, signal: AbortSignal): Promise<'over'> {
    for (let ms = leftMs(); ms > 0 && !signal.aborted; ms = leftMs()) {
      await this.#clock.sleep(Math.min(ms, SLEEP_MAX_MS), signal).catch(() => undefined);
    }
    return 'over';
  }

  #tell(): void {
    const { arriving, print } = this.#plan;
    const nowMs = this.#clock.now();
    if (nowMs < this.#lastNoticeMs + NOTICE_EVERY_MS || this.#opening.signal.aborted) return;
    this.#lastNoticeMs = nowMs;
    print(`waiting for questions from ${arriving.name}: received ${this.#come}${this.#ofNeeded()}`);
  }

  #ofNeeded(): string {
    const asks = asksOf(this.#plan);
    if (asks === null) return '';
    return ` of ${asks} needed`;
  }

  #ended(): MillraceError {
    return new MillraceError(
      'QUESTIONS_FILE',
      `${this.#plan.arriving.name} ended after ${counted(this.#come, 'question')}${this.#ofNeeded()}; resume the run when there are more`,
    );
  }
}
