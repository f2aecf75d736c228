/**
 * `batchDemonstrations`, `batchPairs`: the examples of a round's questions in, the schedule of the round's
 * optimiser steps out, once the last question is there.
 *
 * Guarantees:
 * - the schedule depends on the ids and the seed alone, not on the order in which questions came;
 * - only references wait, no texts; all steps of a round are committed together;
 * - a round in which nothing is worth learning ends too, with one step that has no examples and changes no
 *   weights; unless the run ends because there are fewer than `examplesMin` examples.
 */
import { type OperatorFunction, pipe } from 'rxjs';
import { shuffled } from '../base/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import { expandEach, gatherBy, mapEach } from '../streams/index.ts';
import {
  askedIn,
  type Batch,
  type Demonstrations,
  type ExampleRef,
  type Pairs,
  type Position,
  type Question,
  stepRecord,
  versionOf,
} from '../topics/index.ts';
import { type ClassMix, mixed } from './batching/mix.ts';

/** How demonstrations or pairs become steps: epochs, sizes, mixture. */
export interface BatchExamplesOptions {
  /**
   * Questions of a round, or how to get that number from one of them. All must arrive, including those
   * without an example.
   */
  readonly questions: number | ((question: Question) => number);
  /** How often each example is trained on, each time in a different order. */
  readonly epochs: number;
  /** Limit of examples per step. The steps of an epoch differ in size by one at most. */
  readonly size: number;
  /** Limit of examples per question. */
  readonly perQuestionMax: number;
  /**
   * Choose in turn among a question's actions (demonstrations) or rules (pairs), so that rare ones are
   * included.
   */
  readonly balance?: boolean;
  /**
   * The proportions in which classes of examples are trained on (batching/mix.ts); left out = all there are.
   */
  readonly mix?: ClassMix;
  /** Limit of examples per round, drawn from all of them; left out = no limit. */
  readonly examplesMax?: number;
  readonly seed: number;
  /** Limit of incomplete rounds. */
  readonly openMax: number;
  /**
   * Whether to hold some examples out for the trainer's measurements (`Batch.heldOut`): those of one question
   * in eight that have any, of eight questions at most.
   */
  readonly holdOut?: boolean;
  /** A round with fewer examples ends the run with the error of `tooFew` (default 0). */
  readonly examplesMin?: number;
  readonly tooFew?: (round: {
    readonly round: number;
    readonly examples: number;
  }) => Promise<Error>;
}

/** demonstrations → batches of kind `sft`. Classes of a mix: `<action>/<difficulty>`. */
export function batchDemonstrations(
  options: BatchExamplesOptions,
): OperatorFunction<Delivery<Demonstrations>, Delivery<Batch>> {
  return batchExamples('sft', options, ({ kept }) => kept.map(({ action }) => action));
}

/** pairs → batches of kind `dpo`. Classes of a mix: `<why>/<difficulty>`, or `<why>` without a difficulty. */
export function batchPairs(
  options: BatchExamplesOptions,
): OperatorFunction<Delivery<Pairs>, Delivery<Batch>> {
  return batchExamples('dpo', options, ({ pairs }) => pairs.map(({ why }) => why));
}

/** What the topics of examples have in common. */
interface FromQuestion {
  readonly question: Question;
  readonly difficulty: string;
  readonly version: number;
}

/** What waits for a question: which of its examples are trained on. */
interface Chosen {
  readonly questionId: string;
  readonly phase: string;
  readonly round: number;
  readonly version: number;
  readonly position: Position;
  readonly indices: readonly number[];
  /** The class of each. */
  readonly classes: readonly string[];
  /** Questions of its round. */
  readonly of: number;
}

/** `sortsOf` names the sort of each example of a record, in order. */
function batchExamples<In extends FromQuestion>(
  kind: 'sft' | 'dpo',
  options: BatchExamplesOptions,
  sortsOf: (record: In) => readonly string[],
): OperatorFunction<Delivery<In>, Delivery<Batch>> {
  return pipe(
    mapEach<In, Chosen>(
      (record, { position }) => {
        const { question, difficulty, version } = record;
        const { id: questionId, phase, round } = question;
        const sorts = sortsOf(record);
        const indices = choose(sorts, [questionId, phase, round], options);
        const classes = indices.map((index) => classOf(sorts[index]!, difficulty));
        const of =
          typeof options.questions === 'number' ? options.questions : options.questions(question);
        return { questionId, phase, round, version, position, indices, classes, of };
      },
      { concurrency: 1 },
    ),
    gatherBy<Chosen>({
      key: askedIn,
      size: ({ of }) => of,
      openMax: options.openMax,
    }),
    expandEach(
      async (round) => {
        await checkEnough(round, options);
        return schedule(kind, round, options);
      },
      { concurrency: 1, onError: 'fail' },
    ),
  );
}

/** If a record has no difficulty, its examples have their own, or none. */
function classOf(sort: string, difficulty: string): string {
  return difficulty === '' ? sort : `${sort}/${difficulty}`;
}

/** At most `perQuestionMax` indices among the examples of a question, drawn by its key, ascending. */
function choose(
  sorts: readonly string[],
  key: readonly (string | number)[],
  { perQuestionMax, balance = false, seed }: BatchExamplesOptions,
): number[] {
  const drawn = shuffled([...sorts.keys()], seed, 'choose', ...key);
  const taken = (balance ? inTurn(drawn, sorts) : drawn).slice(0, perQuestionMax);
  return taken.sort((a, b) => a - b);
}

/** One index of each sort, then another of each, and so on; otherwise in the order given. */
function inTurn(places: readonly number[], sorts: readonly string[]): number[] {
  const seen = new Map<string, number>();
  const turns = places.map((place) => {
    const turn = seen.get(sorts[place]!) ?? 0;
    seen.set(sorts[place]!, turn + 1);
    return { place, turn };
  });
  return turns.sort((a, b) => a.turn - b.turn).map(({ place }) => place);
}

async function checkEnough(
  chosen: readonly Chosen[],
  { examplesMin = 0, tooFew }: BatchExamplesOptions,
): Promise<void> {
  const examples = chosen.reduce((sum, { indices }) => sum + indices.length, 0);
  if (examples < examplesMin && tooFew) throw await tooFew({ round: chosen[0]!.round, examples });
}

/** One in how many questions with examples is held out, and how many at most. */
const HELD_OUT_OF = 8;
const HELD_OUT_MAX = 8;

/** Questions whose examples are not trained on; empty if there is only one question. */
function heldOutOf(chosen: readonly Chosen[], seed: number): readonly Chosen[] {
  const some = [...chosen].sort(byId).filter(({ indices }) => indices.length > 0);
  if (some.length < 2) return [];
  const count = Math.min(HELD_OUT_MAX, Math.max(1, Math.floor(some.length / HELD_OUT_OF)));
  const { phase, round } = some[0]!;
  return shuffled(some, seed, 'held out', phase, round).slice(0, count);
}

/** The steps of a round, each from the version that the one before it made. */
function schedule(
  kind: 'sft' | 'dpo',
  chosen: readonly Chosen[],
  options: BatchExamplesOptions,
): Batch[] {
  const { epochs, size, mix, examplesMax = Number.POSITIVE_INFINITY, seed } = options;
  const { phase, round } = chosen[0]!;
  const begun = Math.max(...chosen.map(({ version }) => version));
  const heldOut = options.holdOut ? heldOutOf(chosen, seed) : [];
  const learnt = chosen.filter((one) => !heldOut.includes(one));
  const listed = learnt.sort(byId).flatMap(examplesOf);
  const inOrder = (epoch: string | number) =>
    shuffled(listed, seed, 'examples', phase, round, epoch);
  const candidates = inOrder('drawn');
  const drawn = new Set(
    mix === undefined
      ? candidates.slice(0, examplesMax)
      : mixed(candidates, (example) => example.class, mix, examplesMax),
  );
  const steps = Array.from({ length: epochs }, (_, epoch) => {
    const examples = inOrder(epoch).filter((example) => drawn.has(example));
    return cut(
      examples.map(({ ref }) => ref),
      size,
    );
  }).flat();
  const parts = steps.length === 0 ? [[]] : steps;
  return parts.map((examples, index) => ({
    ...stepRecord(round, versionOf(begun, { index }), { index, of: parts.length }),
    kind,
    groups: [],
    examples,
    heldOut: heldOut.flatMap(examplesOf).map(({ ref }) => ref),
  }));
}

interface Example {
  readonly ref: ExampleRef;
  readonly class: string;
}

function examplesOf({ questionId, position, indices, classes }: Chosen): Example[] {
  return indices.map((index, i) => ({ ref: { questionId, position, index }, class: classes[i]! }));
}

/** Ids by their code units: the same order everywhere. */
function byId(a: Chosen, b: Chosen): number {
  return a.questionId < b.questionId ? -1 : Number(a.questionId > b.questionId);
}

/** As few runs of at most `size` as possible, of nearly equal size, in order. */
function cut<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  const from = (part: number) => Math.floor((part * items.length) / count);
  return Array.from({ length: count }, (_, part) => items.slice(from(part), from(part + 1)));
}
