/**
 * The data of two runs side by side: settings, answers paired by question with intervals, metrics, and the
 * first differing record.
 */

import { isDeepStrictEqual } from 'node:util';
import { counted } from '../../../base/text/index.ts';
import { byQuestion, meanFigures } from '../../../operators/metrics/index.ts';
import {
  compareMetrics,
  completeRounds,
  differencesOf,
  type Reading,
  readRun,
} from '../../../summary/index.ts';
import type { Scored } from '../../../topics/index.ts';
import { type DiffData, type Divergence, type Flip, type Paired, WIRE } from '../../wire/index.ts';
import { limits } from '../run/limits.ts';
import { refOf } from '../run/refs.ts';
import { namedRounds } from '../run/rounds.ts';
import type { RunView } from '../run/runView.ts';
import { finite, shown } from '../run/shown.ts';
import { flat } from './overview.ts';

/** Records of each run read for a comparison. */
const RECORDS_MAX = 3_000_000;
const VALUE_MAX = 500;
/** A question counts as solved when at least this share of its rollouts is right. */
const SOLVED = 0.5;

/** The comparison without the first differing record; it reads both runs. */
export type Figures = Pick<
  DiffData,
  'settings' | 'settingsTotal' | 'paired' | 'pairedWhy' | 'metrics'
>;

export async function figuresOf(a: RunView, b: RunView): Promise<Figures> {
  const facts = [await a.viewed.facts(), await b.viewed.facts()] as const;
  const { rows, total } = settingsOf(...facts);
  const readings = await bothRead(a, b);
  const { paired, pairedWhy } =
    readings === null
      ? {
          paired: null,
          pairedWhy: `a run has more than ${counted(RECORDS_MAX, 'record')}, too many to read here`,
        }
      : pairedOf(...readings, facts[0].seed);
  return {
    settings: rows,
    settingsTotal: total,
    paired,
    pairedWhy,
    metrics: readings === null ? [] : metricsOf(...readings),
  };
}

export async function diffData(
  a: RunView,
  b: RunView,
  { figures, divergence }: { readonly figures: Figures; readonly divergence: Divergence },
): Promise<DiffData> {
  const { clock, name, typed } = a.viewed;
  return {
    ...{ wire: WIRE, nowMs: clock.now(), a: await a.head(), b: await b.head() },
    ...{ ...figures, divergence },
    command: typed(`millrace diff ${name} ${b.viewed.name}`),
  };
}

type Facts = Awaited<ReturnType<RunView['viewed']['facts']>>;

function settingsOf(a: Facts, b: Facts): { rows: DiffData['settings']; total: number } {
  const of = ({ job, seed, settings }: Facts) =>
    new Map(flat({ job: job.name, seed, ...settings }, ''));
  const [first, second] = [of(a), of(b)];
  const names = [...new Set([...first.keys(), ...second.keys()])];
  const show = (value: unknown) => shown(value, { textMax: VALUE_MAX }).value;
  const rows = names
    .filter((name) => !isDeepStrictEqual(first.get(name), second.get(name)))
    .map((name) => ({ name, a: show(first.get(name)), b: show(second.get(name)) }));
  return { rows, total: names.length };
}

async function bothRead(a: RunView, b: RunView): Promise<readonly [Reading, Reading] | null> {
  const readings: Reading[] = [];
  for (const { viewed } of [a, b]) {
    const stats = await viewed.log.stats();
    const read = ['questions', 'scored', 'batches', 'metrics'];
    const records = stats
      .filter(({ topic }) => read.includes(topic))
      .reduce((sum, stat) => sum + stat.records, 0);
    if (records > RECORDS_MAX) return null;
    readings.push(await readRun(viewed.log, viewed.name, await viewed.facts()));
  }
  return [readings[0]!, readings[1]!];
}

function metricsOf(a: Reading, b: Reading): DiffData['metrics'] {
  const { nameOf } = namedRounds(new Map([...b.kinds, ...a.kinds]));
  return compareMetrics(a.metrics, b.metrics).map((row) => {
    const roundName = row.round === 0 ? `before ${nameOf(0)}` : nameOf(row.round);
    return { ...row, roundName, a: finite(row.a), b: finite(row.b) };
  });
}

export function pairedOf(
  a: Reading,
  b: Reading,
  seed: number,
): { readonly paired: Paired | null; readonly pairedWhy: string } {
  const none = (pairedWhy: string) => ({ paired: null, pairedWhy });
  const [roundA, roundB] = [completeRounds(a).at(-1), completeRounds(b).at(-1)];
  if (roundA === undefined) return none(`${a.run} has no complete evaluation`);
  if (roundB === undefined) return none(`${b.run} has no complete evaluation`);
  const first = a.evaluations.get(roundA)!.groups;
  const second = b.evaluations.get(roundB)!.groups;
  const [inA, inB] = [byQuestionAsked(first), byQuestionAsked(second)];
  const common = [...inA.keys()].filter((id) => inB.has(id));
  if (common.length === 0) return none(differentWhy(first, second));
  const [before, after] = [common.map((id) => inA.get(id)!), common.map((id) => inB.get(id)!)];
  const differences = differencesOf(before, after, { seed });
  const figures = (differences === null ? [] : meanFigures).map((name) => {
    const { difference, interval } = differences![name];
    const of = (groups: readonly Scored[]): number =>
      meanOf([...byQuestion(groups, name).values()]);
    return { name, a: of(before), b: of(after), difference, interval, questions: common.length };
  });
  const flips = flipsOf(before, after);
  return {
    pairedWhy: '',
    paired: {
      roundA,
      roundB,
      questions: common.length,
      onlyA: inA.size - common.length,
      onlyB: inB.size - common.length,
      figures,
      solvedToFailed: flips.filter(({ to }) => to === 'failed').length,
      failedToSolved: flips.filter(({ to }) => to === 'solved').length,
      flips: flips.slice(0, limits.flipsMax),
    },
  };
}

function differentWhy(a: readonly Scored[], b: readonly Scored[]): string {
  const ids = new Set(a.map(({ question }) => question.id));
  const alike = b.some(({ question }) => ids.has(question.id));
  return alike
    ? 'they were asked different questions, under the same ids: give both runs the same seed and question files'
    : 'they were asked different questions';
}

/** By what was asked: generated questions have the same ids under every seed. */
function byQuestionAsked(groups: readonly Scored[]): ReadonlyMap<string, Scored> {
  const asked = ({ question: { id, question, answers } }: Scored): string =>
    JSON.stringify([id, question, answers]);
  return new Map(groups.map((group) => [asked(group), group]));
}

/** Both sides in the same order of questions. */
function flipsOf(before: readonly Scored[], after: readonly Scored[]): Flip[] {
  const [a, b] = [byQuestion(before, 'accuracy'), byQuestion(after, 'accuracy')];
  return before.flatMap((group, i): Flip[] => {
    const { id, question } = group.question;
    const [was, is] = [a.get(id)!, b.get(id)!];
    if (was >= SOLVED === is >= SOLVED) return [];
    const refIn = ({ rollouts }: Scored): string | null =>
      rollouts[0] === undefined ? null : refOf(rollouts[0]);
    return [
      {
        question: id,
        text: question.slice(0, VALUE_MAX),
        to: is >= SOLVED ? 'solved' : 'failed',
        a: was,
        b: is,
        refA: refIn(group),
        refB: refIn(after[i]!),
      },
    ];
  });
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
