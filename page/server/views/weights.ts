/** The data of weights: their manifest, the step that made them, and the rollouts they sampled. */

import { takeWhile } from 'rxjs';
import { MillraceError } from '../../../base/index.ts';
import type { Log, Stored } from '../../../streams/index.ts';
import { topics, type Weights } from '../../../topics/index.ts';
import type { RolloutRow, WeightsData } from '../../wire/index.ts';
import { limits } from '../run/limits.ts';
import type { Moment } from '../run/moment.ts';
import { recordsAt, Search } from '../run/records.ts';
import { refOf } from '../run/refs.ts';
import { rolloutRow } from '../run/rollouts.ts';
import type { Rounds } from '../run/rounds.ts';
import type { RunView } from '../run/runView.ts';
import type { Asked } from './asked.ts';

const SEARCH_MAX = 100_000;
const ROLLOUTS_MAX = 64;

export async function data({ view, moment, id }: Asked): Promise<WeightsData> {
  if (!/^\d{1,12}$/.test(id))
    throw new MillraceError(
      'NOT_FOUND',
      `${JSON.stringify(id.slice(0, 100))} is not a version of the weights`,
    );
  const [found] = await weightsData(view, moment, [Number(id)]);
  return found!;
}

/** For several versions, in one pass over the rollouts. Fails with code `NOT_FOUND`. */
export async function weightsData(
  view: RunView,
  moment: Moment,
  versions: readonly number[],
): Promise<readonly WeightsData[]> {
  const found = await Promise.all(versions.map((version) => manifestOf(view, moment, version)));
  const rollouts = await rolloutsOf(view.viewed.log, moment, found);
  return Promise.all(found.map((stored, i) => dataOf(view, moment, stored, rollouts[i]!)));
}

async function dataOf(
  view: RunView,
  moment: Moment,
  { value, atMs, position }: Stored<Weights>,
  rollouts: WeightsData['rollouts'],
): Promise<WeightsData> {
  const { version } = value;
  const { marks } = view.timeline;
  const rounds = await view.rounds();
  const after = marks.find((mark) => mark.version > version)?.version ?? null;
  return {
    ...(await view.frame(moment, `millrace tap ${view.viewed.name}.weights`)),
    version,
    ref: refOf(position),
    atMs,
    parent: value.parent,
    step: value.step,
    roundsDone: value.roundsDone,
    finished: value.roundsDone > 0 ? rounds.nameOf(value.roundsDone) : '',
    uri: value.uri,
    digest: value.digest,
    parentDigest: value.parentDigest,
    bytes: value.bytes,
    file: await view.viewed.checkpoint(value),
    state: value.state,
    stateDigest: value.stateDigest,
    batch: await batchOf(view.viewed.log, value, rounds),
    metrics: metricsAt(view, value.step),
    rollouts,
    before: marks.findLast((mark) => mark.version < version)?.version ?? null,
    after: moment.at !== null && after !== null && after > moment.at.version ? null : after,
  };
}

/** The last one: a resumed run may have written a version again. */
async function manifestOf(
  { viewed: { log }, timeline }: RunView,
  moment: Moment,
  version: number,
): Promise<Stored<Weights>> {
  const search = new Search(log, moment, SEARCH_MAX);
  const only = { keys: [String(version)] };
  const found = await search.find(topics.weights, only, (weights) => weights.version === version);
  const last = found.at(-1);
  if (last !== undefined) return last;
  const newest = timeline.newest?.version;
  throw new MillraceError(
    'NOT_FOUND',
    `there is no version ${version} of the weights in this run${newest === undefined ? ' yet' : `; the newest is ${newest}`}`,
  );
}

async function batchOf(
  log: Log,
  { consumed }: Weights,
  { nameOf }: Rounds,
): Promise<WeightsData['batch']> {
  if (consumed === null) return null;
  const found = await recordsAt(log, topics.batches, [consumed]);
  const batch = found.get(refOf(consumed))?.value;
  if (batch === undefined) return null;
  const { step, round, kind, groups, examples } = batch;
  return {
    ref: refOf(consumed),
    step,
    round,
    roundName: nameOf(round),
    kind,
    groups: groups.map(({ questionId, scored }) => {
      return { question: questionId, scored: refOf(scored) };
    }),
    examples: examples.length,
  };
}

/** Only of series that still keep every step. */
function metricsAt({ book }: RunView, step: number): WeightsData['metrics'] {
  return book.names.flatMap(({ name }) => {
    const series = book.series(name);
    if (series === null || series.width > 1) return [];
    const [bucket] = series.between(step, step, 1).buckets;
    return bucket === undefined ? [] : [{ name, value: bucket.sum / bucket.count }];
  });
}

/** The rollouts of each, searched from the time its weights existed. */
async function rolloutsOf(
  log: Log,
  moment: Moment,
  weights: readonly Stored<Weights>[],
): Promise<readonly WeightsData['rollouts'][]> {
  const found = weights.map(({ value: { version }, atMs }) => {
    return { version, atMs, first: [] as RolloutRow[], count: 0, scanned: 0 };
  });
  const to = moment.endOf(topics.rollouts.name);
  await log
    .tap(topics.rollouts, {
      from: { kind: 'time', atMs: Math.min(...found.map(({ atMs }) => atMs)) },
      follow: false,
      ...(to === undefined ? {} : { to }),
      unreadable: () => undefined,
    })
    .pipe(takeWhile(() => found.some(({ scanned }) => scanned < limits.scanMax)))
    .forEach((stored) => {
      for (const one of found) {
        if (stored.atMs < one.atMs || one.scanned === limits.scanMax) continue;
        one.scanned += 1;
        if (stored.value.version !== one.version) continue;
        one.count += 1;
        if (one.first.length < ROLLOUTS_MAX) one.first.push(rolloutRow(stored, null));
      }
    });
  const stats = await log.stats();
  const of = stats.find(({ topic }) => topic === topics.rollouts.name)?.records ?? 0;
  return found.map(({ first, count, scanned }) => ({ first, count, scanned, of }));
}
