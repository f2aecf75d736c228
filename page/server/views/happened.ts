/** The data of what happened: the change points of all curves, grouped by step. */
import { metricNames } from '../../../summary/index.ts';
import { isTimeMetric, topics } from '../../../topics/index.ts';
import type { HappenedData, HappenedEvent, LevelChange } from '../../wire/index.ts';
import { changePoints } from '../run/changePoints.ts';
import { recordsAt, Search } from '../run/records.ts';
import { refOf } from '../run/refs.ts';
import type { RunView } from '../run/runView.ts';
import type { Asked } from './asked.ts';

const EVENTS_MAX = 20;
const CHANGES_MAX = 8;
/** Values of a curve that are compared. */
const BUCKETS = 400;
const SEARCH_MAX = 10_000;
/** Schedules: they change because their settings say so. */
const schedules: ReadonlySet<string> = new Set([metricNames.learningRate, 'round/share']);

interface Change extends LevelChange {
  readonly step: number;
}

export async function data({ view, moment }: Asked): Promise<HappenedData> {
  const last = moment.at?.step ?? Number.POSITIVE_INFINITY;
  const names = view.book.names.map(({ name }) => name).filter((name) => !schedules.has(name));
  const changes = names
    .flatMap((name) => changesOf(view, name, last))
    .sort((a, b) => a.step - b.step);
  const events = together(changes);
  const learning = events.filter((event) => event.some(isLearning));
  const roundAt = await rounds(view);
  const described = async (shown: readonly Change[][]): Promise<HappenedEvent[]> => {
    const found: HappenedEvent[] = [];
    for (const event of largest(shown)) {
      const step = stepOf(event);
      const sides = [];
      for (const side of [step - 1, step].filter((one) => one > 0)) {
        sides.push({ step: side, rollout: await rolloutOf({ view, moment }, side) });
      }
      found.push({
        step,
        ...roundAt(step),
        changes: event.filter(isLearning).slice(0, CHANGES_MAX).map(withoutStep),
        speed: event.filter((change) => !isLearning(change)).map(withoutStep),
        sides,
      });
    }
    return found;
  };
  return {
    ...(await view.frame(moment, `millrace tap ${view.viewed.name}.metrics`)),
    events: await described(learning),
    speedEvents: await described(events.filter((event) => !event.some(isLearning))),
    total: learning.length,
    curves: names.length,
  };
}

function isLearning({ name }: Change): boolean {
  return !isTimeMetric(name);
}

function withoutStep({ name, before, after, size }: Change): LevelChange {
  return { name, before, after, size };
}

/** The largest changes by step, of learning if there are any. */
function largest(events: readonly Change[][]): Change[][] {
  const size = (event: readonly Change[]): number => (event.find(isLearning) ?? event[0]!).size;
  const first = [...events].sort((a, b) => size(b) - size(a)).slice(0, EVENTS_MAX);
  return first.sort((a, b) => stepOf(a) - stepOf(b));
}

function changesOf({ book }: RunView, name: string, last: number): Change[] {
  const buckets = book.series(name)?.between(Number.NEGATIVE_INFINITY, last, BUCKETS).buckets ?? [];
  const values = buckets.map(({ sum, count }) => sum / count);
  return changePoints(values).map(({ index, ...change }) => ({
    ...change,
    name,
    step: buckets[index]!.step,
  }));
}

/** Changes at one step or the next are one event, the largest first. */
function together(changes: readonly Change[]): Change[][] {
  const events: Change[][] = [];
  for (const change of changes) {
    const event = events.at(-1);
    if (event !== undefined && change.step - event[0]!.step <= 1) event.push(change);
    else events.push([change]);
  }
  return events.map((event) => event.sort((a, b) => b.size - a.size));
}

function stepOf(event: readonly Change[]): number {
  return Math.min(...event.map(({ step }) => step));
}

async function rounds(
  view: RunView,
): Promise<(step: number) => Pick<HappenedEvent, 'round' | 'begins'>> {
  const { facts } = await view.look();
  const { results, curves } = await view.achievement.get(facts);
  // The last step of each round, after a 0 for the time before training.
  const ends = curves.roundEnds;
  return (step) => {
    const place = ends.findIndex((end) => step <= end);
    const name = results.rounds[place - 1]?.name ?? '';
    const first = (ends[place - 1] ?? Number.NaN) + 1;
    return { round: name, begins: step === first };
  };
}

/** The first of the rollouts that the step was trained on. */
async function rolloutOf(
  { view, moment }: Pick<Asked, 'view' | 'moment'>,
  step: number,
): Promise<string | null> {
  const { log } = view.viewed;
  const search = new Search(log, moment, SEARCH_MAX);
  const about = { keys: [String(step)] };
  const batches = await search.find(topics.batches, about, (batch) => batch.step === step);
  const position = batches.at(-1)?.value.groups[0]?.scored;
  if (position === undefined) return null;
  const groups = await recordsAt(log, topics.scored, [position]);
  const rollout = groups.get(refOf(position))?.value.rollouts[0];
  return rollout === undefined ? null : refOf(rollout);
}
