/**
 * The laws of the schedule, over rounds, sizes and lags drawn at random. What each record comes to under them
 * is in the tests of those who ask (plan, gate, batch, paretoSample, …).
 */
import { describe, expect, test } from '@jest/globals';
import { draws } from '../../base/draws.ts';
import {
  AFTER_LAST_ROUND,
  beginOfRound,
  decidedBy,
  finishesRound,
  firstStepOf,
  movedBy,
  movedSchedule,
  type Phase,
  placesEach,
  type Question,
  roundsBefore,
  roundsDone,
  stepAt,
  stepRecord,
  stepsOf,
  type VersionProgress,
  versionAfter,
  versionDue,
  versionMade,
  versionOf,
  windowLeftMs,
  windowOf,
  windowWith,
  withFirstVersion,
} from '../../topics/index.ts';
import { question } from '../support/records.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Drawn sizes of a job, the same at every run of the tests. */
const cases = range(30).map((seed) => {
  const chance = draws(seed, 'schedule');
  const size = (at: number, most: number): number => 1 + Math.floor(chance.uniform(at) * most);
  const rounds = range(size(0, 4)).map((round) => size(10 + round, 40));
  return { seed, per: size(1, 12), window: size(2, 12), rounds };
});

interface Job {
  /** Places of each round after the first. */
  readonly rounds: readonly number[];
  readonly per: number;
}

/** The versions of a whole run, as trainers make them: one a step, each round finished by its last. */
function made({ rounds, per }: Job): VersionProgress[] {
  const known: VersionProgress[] = [{ version: 0, roundsDone: 0 }];
  for (const [i, places] of rounds.entries()) {
    const first = known.at(-1)!.version;
    for (const index of range(stepsOf(places, per))) {
      const record = stepRecord(i + 1, versionOf(first, { index }), {
        index,
        of: stepsOf(places, per),
      });
      known.push({ version: versionMade(record), roundsDone: roundsDone(record) });
    }
  }
  return known;
}

const placed = (round: number, index: number, of: number, version: number): Question =>
  question({ phase: 'practice', round, schedule: { index, of, version } });

const pace = (per: number) => ({ batchGroups: per, window: per });

describe.each(cases)('the schedule of case $seed', ({ per, window, rounds }) => {
  const known = made({ rounds, per });

  test('gives every place exactly one step, without gaps or overlaps', () => {
    for (const of of rounds) {
      const steps = new Map(range(of).map((index) => [stepAt({ index, of }, per).index, index]));
      expect([...steps.keys()]).toEqual(range(stepsOf(of, per)));
      let next = 0;
      for (const begin of range(stepsOf(of, per)).map((step) => step * per)) {
        const step = stepAt({ index: begin, of }, per);
        expect(step.begin).toBe(next);
        next = step.begin + step.size;
        for (const index of range(of)) {
          const inside = index >= step.begin && index < next;
          expect(stepAt({ index, of }, per).index === step.index).toBe(inside);
        }
        expect(step.last).toBe(next === of);
      }
      expect(next).toBe(of);
    }
  });

  test('lets windows follow each other, and has as many as requested', () => {
    for (const explore of rounds) {
      const steps = Math.min(window, explore);
      const size = placesEach(explore, steps);
      expect(stepsOf(explore, size)).toBeLessThanOrEqual(steps);
      const ends = range(explore)
        .map((index) => stepAt({ index, of: explore }, size))
        .map((step) => step.begin + step.size);
      for (const index of range(explore - 1)) {
        const { begin } = stepAt({ index: index + 1, of: explore }, size);
        const before = stepAt({ index, of: explore }, size);
        expect(begin).toBe((index + 1) % size === 0 ? ends[index] : before.begin);
      }
      expect(ends.at(-1)).toBe(explore);
    }
  });

  test('lets versions rise by one a step, and each round end with its last step', () => {
    expect(known.map(({ version }) => version)).toEqual(range(known.length));
    const finishing = known.filter((version, i) => i > 0 && finishesRound(version, known[i - 1]!));
    const ends = rounds.map((_, i) =>
      rounds.slice(0, i + 1).reduce((sum, places) => sum + stepsOf(places, per), 0),
    );
    expect(finishing.map(({ version }) => version)).toEqual(ends);
    for (const [i, end] of [0, ...ends].entries()) expect(versionAfter(i, known)).toBe(end);
    expect(versionAfter(rounds.length + 1, known)).toBeNull();
  });

  test('makes a place due exactly at the version its step begins with', () => {
    for (const [i, of] of rounds.entries()) {
      const first = versionAfter(i, known)!;
      for (const index of range(of)) {
        const step = stepAt({ index, of }, per);
        const record = stepRecord(i + 1, versionOf(first, step), step);
        const asked = placed(i + 1, index, of, first);
        expect(versionDue(asked, known, pace(per))).toBe(record.version);
        expect(record.step).toBe(versionMade(record));
        expect(beginOfRound(record)).toBe(first);
        expect(record.last).toBe(index >= of - ((of - 1) % per) - 1);
      }
    }
  });

  test('dates a schedule that was left open as the version that finished the round before', () => {
    for (const [i, of] of rounds.entries()) {
      const first = versionAfter(i, known)!;
      for (const index of [0, of - 1]) {
        const open = placed(i + 1, index, of, AFTER_LAST_ROUND);
        expect(versionDue(open, known, pace(per))).toBe(
          versionDue(placed(i + 1, index, of, first), known, pace(per)),
        );
        expect(withFirstVersion(open, known).schedule).toEqual({ index, of, version: first });
        expect(versionDue(open, known.slice(0, first), pace(per))).toBeNull();
        expect(() => withFirstVersion(open, known.slice(0, first))).toThrow('has not begun');
      }
    }
  });

  test('makes a question without a place due at the version that finished what precedes it', () => {
    const phases: Phase[] = ['explore', 'evolve', 'prefer', 'evaluate'];
    for (const round of range(rounds.length).map((i) => i + 1)) {
      for (const phase of phases) {
        const asked = question({ phase, round, schedule: null });
        expect(roundsBefore(asked)).toBe(phase === 'evaluate' ? round : round - 1);
        const due = versionDue(asked, known, pace(per))!;
        expect(due).toBe(versionAfter(roundsBefore(asked), known));
        expect(versionDue(asked, known.slice(0, due), pace(per))).toBeNull();
      }
    }
  });

  test('applies changed settings from one step on, by a version known before that step', () => {
    for (const lagMax of [0, 1, 3]) {
      const steps = range(known.length + lagMax + 2).map((index) => index + 1);
      for (const { version } of known) {
        const made = steps.filter((step) => decidedBy(step - 1, lagMax) >= version);
        expect(made[0]).toBe(firstStepOf(version, lagMax));
        // From then on, without a gap.
        expect(made).toEqual(steps.slice(steps.indexOf(made[0]!)));
      }
      for (const step of steps) {
        // What is due `step - 1` is admitted under no version older than that.
        expect(decidedBy(step - 1, lagMax)).toBeLessThanOrEqual(Math.max(0, step - 1 - lagMax));
      }
    }
  });

  test('moves the versions of a record so that rounds begin where they do now and the order stays', () => {
    const now = made({ rounds: rounds.map((places) => places + window), per });
    let newest = -1;
    for (const [i, of] of rounds.entries()) {
      const begun = versionAfter(i, now)!;
      const then = versionAfter(i, known)!;
      const open = placed(i + 1, 0, of, AFTER_LAST_ROUND);
      const moved = movedBy(open, known, begun);
      const versions = range(of).map((index) => {
        const recorded = { index, of, version: then };
        const schedule = movedSchedule(placed(i + 1, index, of, AFTER_LAST_ROUND), recorded, moved);
        expect(schedule).toEqual({ index, of, version: begun });
        // A rollout of then keeps its distance from the beginning of its round.
        return versionOf(then, stepAt(recorded, per)) + moved;
      });
      expect(versions[0]).toBe(begun);
      for (const version of versions) {
        expect(version).toBeGreaterThanOrEqual(newest);
        newest = version;
      }
    }
    const fixed = placed(1, 0, 3, 7);
    expect(movedSchedule(fixed, { index: 0, of: 3, version: 1 }, 5)).toEqual(fixed.schedule);
    const beyond = question({ phase: 'explore', round: rounds.length + 2, schedule: null });
    expect(movedBy(beyond, known, 99)).toBe(0);
  });
});

describe('windows', () => {
  test('of places are the steps of their round; without places a round is one', () => {
    for (const { window, rounds } of cases) {
      const of = rounds[0]!;
      for (const index of range(of)) {
        const schedule = { index, of, version: 3 };
        expect(windowOf({ schedule }, window)).toEqual(stepAt(schedule, window));
      }
      expect(windowOf({ schedule: null }, window)).toMatchObject({ index: 0, of: 1, size: window });
    }
  });

  test('that are cut by time begin at their first candidate, and end after their length', () => {
    const open = [100, 130, 190].reduce<ReturnType<typeof windowWith> | null>(
      (window, atMs) => windowWith(window, 2, atMs),
      null,
    );
    expect(open).toEqual({ round: 2, size: 3, beganMs: 100 });
    expect(windowLeftMs(open!, 60, 159)).toBe(1);
    expect(windowLeftMs(open!, 60, 160)).toBe(0);
    expect(windowWith(open, 3, 200)).toEqual({ round: 3, size: 1, beganMs: 200 });
  });
});
