/**
 * The plan of a job whose questions have no end: the order of `plan.ts`, but a question takes its place when it comes.
 *
 * The first that come are held out, unless a file gives the held-out questions; the others are asked in the order of their
 * coming. A question is in the topic in the commit that moves its source on and says how many places of the plan are
 * taken: a resumed run goes on with the next place and the next question. Rows that are asked again (the held-out ones,
 * after every stage) are kept in memory, and read back from the topic by a resumed run. A question whose id was asked
 * before is passed over.
 *
 * The stages are walked as places are taken: there may be no last one.
 */
import type { Clock } from '../base/clock.ts';
import { MillraceError } from '../base/errors.ts';
import { type SleepClock, sleepClock } from '../base/sleepClock.ts';
import type { EndlessQuestions } from '../sources/endless/endlessQuestions.ts';
import type { QuestionRow } from '../sources/questions.ts';
import type { Log } from '../streams/log.ts';
import { RecentKeys } from '../streams/recentKeys.ts';
import type { Question } from '../streams/records.ts';
import { recordsOf } from '../streams/recordsOf.ts';
import type { Opening, Place, PlacedItem, Resumable } from '../streams/resumable.ts';
import { pulled } from '../streams/run/sourceRunner.ts';
import type { SourceItem } from '../streams/stage.ts';
import { topics } from '../streams/topics.ts';
import { oneAfterAnother, type StagePlan } from './plan.ts';

/** What comes, and what is to be asked when. */
export interface EndlessPlan {
  readonly arriving: EndlessQuestions;
  /** The rows of a file, or how many of the first that come are held out. */
  readonly heldOut: readonly QuestionRow[] | number;
  /** Rows that the file of held-out questions could not give. */
  readonly deadLetters: readonly SourceItem<never>[];
  /** The stages after the first. They may ask a question of an earlier stage again, but for those without an end. */
  readonly stages: readonly StagePlan[];
  readonly log: Log;
  readonly clock: Clock;
  readonly print: (line: string) => void;
}

/** A question that comes again is known by its id among this many of the newest questions. */
export const REMEMBERED = 2 ** 20;

/** A wait this long is told, but never more often than this. */
const QUIET_MS = 5000;
const TOLD_MS = 60_000;

/** The part of the cursor that says how many places are taken. */
const TAKEN = 'plan';

/** The questions of the plan in order, as a source that goes on where it was. */
export function endlessItems(plan: EndlessPlan): Resumable<Question> {
  return { kind: 'resumable', open: (opening) => new Planner(plan, opening).items() };
}

/** Questions that the plan takes of those that come; null = all, it has no end. */
export function neededBy({
  heldOut,
  stages,
}: Pick<EndlessPlan, 'heldOut' | 'stages'>): number | null {
  if (stages.at(-1)?.next !== undefined) return null;
  const rows = new Set<string>();
  for (const slot of slotsOf({ heldOut, stages, deadLetters: [] })) {
    if (slot.kind === 'question') rows.add(slot.row);
  }
  return rows.size - (typeof heldOut === 'number' ? 0 : heldOut.length);
}

/** A place in the plan; `row` names a row, by the order in which rows are met. */
type Slot =
  | { readonly kind: 'letter'; readonly item: SourceItem<never> }
  | {
      readonly kind: 'question';
      readonly row: string;
      readonly as: Pick<Question, 'phase' | 'stage' | 'schedule'>;
      /** Whether a later place may ask the row again. */
      readonly again: boolean;
    };

function* slotsOf({
  heldOut,
  deadLetters,
  stages,
}: Pick<EndlessPlan, 'heldOut' | 'deadLetters' | 'stages'>): Generator<Slot, void> {
  for (const item of deadLetters) yield { kind: 'letter', item };
  const held = typeof heldOut === 'number' ? heldOut : heldOut.length;
  function* evaluation(stage: number): Generator<Slot, void> {
    for (let i = 0; i < held; i++) {
      const as = { phase: 'evaluate', stage, schedule: null } as const;
      yield { kind: 'question', row: `held/${i}`, as, again: true };
    }
  }
  yield* evaluation(0);
  let stage = 0;
  for (const { phase, count, skip, schedule, evaluated } of oneAfterAnother(stages)) {
    stage += 1;
    for (let index = 0; phase !== null && index < count; index++) {
      const row = skip + index;
      const as = { phase, stage, schedule: schedule?.(index) ?? null };
      yield { kind: 'question', row: `train/${row}`, as, again: isAskedAgain(row, stage, stages) };
    }
    if (evaluated !== false) yield* evaluation(stage);
  }
}

function isAskedAgain(row: number, stage: number, stages: readonly StagePlan[]): boolean {
  return stages
    .slice(stage)
    .some(({ phase, skip, count }) => phase !== null && row >= skip && row < skip + count);
}

type Arrived = Place & { readonly value: QuestionRow };

class Planner {
  readonly #plan: EndlessPlan;
  readonly #opening: Opening;
  readonly #clock: SleepClock;
  /** Rows that are asked again, by name. */
  readonly #kept = new Map<string, QuestionRow>();
  /** Questions that came and were taken. */
  #come = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(plan: EndlessPlan, opening: Opening) {
    this.#plan = plan;
    this.#opening = opening;
    this.#clock = sleepClock(plan.clock);
    const { heldOut } = plan;
    if (typeof heldOut === 'number') return;
    for (const [i, row] of heldOut.entries()) this.#kept.set(`held/${i}`, row);
  }

  async *items(): AsyncGenerator<PlacedItem<Question>, void> {
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
        const { row, as, again } = slot;
        const known = this.#kept.get(row);
        if (known !== undefined) {
          yield { value: { ...known, ...as }, at: place };
          continue;
        }
        const arrived = yield* this.#untilNew(arrivals, asked);
        if (arrived === null) return;
        const { value, at } = arrived;
        asked.add(value.id);
        this.#come += 1;
        if (again) this.#kept.set(row, value);
        const named = again ? { [row]: value.id } : {};
        yield { ...arrived, value: { ...value, ...as }, at: { ...at, ...place, ...named } };
      }
    } finally {
      void arrivals.return?.();
    }
  }

  /** Passes over the places that are taken; their number. What of their rows is asked again is kept. */
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
    this.#come = met.size;
    await this.#recall(again);
    return taken;
  }

  /** Reads rows back from the topic. */
  async #recall(rows: Iterable<string>): Promise<void> {
    const wanted = new Map<string, string>();
    for (const row of rows) wanted.set((await this.#opening.cursor(row)) ?? '', row);
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
      `the log does not hold question ${id}, which is held out and was asked before; see what \`millrace doctor\` says`,
    );
  }

  /** Passes on what cannot be asked and what was asked before; gives the first question that is new, null at the end. */
  async *#untilNew(
    arrivals: AsyncIterator<PlacedItem<QuestionRow>>,
    asked: RecentKeys,
  ): AsyncGenerator<PlacedItem<never>, Arrived | null> {
    for (;;) {
      const { done, value: item } = await this.#next(arrivals);
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

  async #next<T>(arrivals: AsyncIterator<T>): Promise<IteratorResult<T>> {
    const come = new AbortController();
    this.#clock.sleep(QUIET_MS, come.signal).then(
      () => this.#tell(),
      () => undefined,
    );
    try {
      return await arrivals.next();
    } finally {
      come.abort();
    }
  }

  #tell(): void {
    const { arriving, print } = this.#plan;
    const nowMs = this.#clock.now();
    if (nowMs < this.#toldMs + TOLD_MS || this.#opening.signal.aborted) return;
    this.#toldMs = nowMs;
    print(
      `waiting for questions from ${arriving.name}: ${this.#come}${this.#ofNeeded()} have come`,
    );
  }

  #ofNeeded(): string {
    const needed = neededBy(this.#plan);
    return needed === null ? '' : ` of the ${needed} that the job asks`;
  }

  #ended(): MillraceError {
    return new MillraceError(
      'QUESTIONS_FILE',
      `${this.#plan.arriving.name} ended after ${this.#come}${this.#ofNeeded()}; start the run again when there are more`,
    );
  }
}
