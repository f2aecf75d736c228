/** The data of weights: their manifest, the step that made them, and the rollouts that they made. */

import { take } from 'rxjs';
import { MillraceError } from '../../../base/index.ts';
import type { Log, Stored } from '../../../streams/index.ts';
import { topics, type Weights } from '../../../topics/index.ts';
import type { RolloutRow, WeightsData } from '../../wire/index.ts';
import { limits } from '../run/limits.ts';
import type { Moment } from '../run/moment.ts';
import { recordsAt, Search } from '../run/records.ts';
import { refOf } from '../run/refs.ts';
import { rolloutRow } from '../run/rollouts.ts';
import type { RunView } from '../run/runView.ts';
import type { Asked } from './asked.ts';

const SEARCH_MAX = 100_000;
const ROLLOUTS_MAX = 64;

export function data({ view, moment, id }: Asked): Promise<WeightsData> {
  if (/^\d{1,12}$/.test(id)) return weightsData(view, moment, Number(id));
  throw new MillraceError('NOT_FOUND', 'no such address');
}

/** Fails with code `NOT_FOUND`. */
export async function weightsData(
  view: RunView,
  moment: Moment,
  version: number,
): Promise<WeightsData> {
  const { log } = view.viewed;
  const stored = await manifestOf(log, moment, version);
  if (stored === null) {
    const newest = view.timeline.newest?.version;
    throw new MillraceError(
      'NOT_FOUND',
      `no weights of version ${version}${newest === undefined ? '; this run has none yet' : `; the newest is ${newest}`}`,
    );
  }
  const { value, atMs, position } = stored;
  const { marks } = view.timeline;
  const after = marks.find((mark) => mark.version > version)?.version ?? null;
  return {
    ...(await view.frame(moment)),
    version,
    ref: refOf(position),
    atMs,
    parent: value.parent,
    step: value.step,
    roundsDone: value.roundsDone,
    uri: value.uri,
    digest: value.digest,
    parentDigest: value.parentDigest,
    bytes: value.bytes,
    file: await view.viewed.checkpoint(value),
    state: value.state,
    stateDigest: value.stateDigest,
    batch: await batchOf(log, value),
    metrics: metricsAt(view, value.step),
    rollouts: await rolloutsOf(log, moment, stored),
    before: marks.findLast((mark) => mark.version < version)?.version ?? null,
    after: moment.at !== null && after !== null && after > moment.at.version ? null : after,
  };
}

/** The last one: a run that was resumed may have written a version again. */
async function manifestOf(
  log: Log,
  moment: Moment,
  version: number,
): Promise<Stored<Weights> | null> {
  const search = new Search(log, moment, SEARCH_MAX);
  const only = { keys: [String(version)] };
  const found = await search.find(topics.weights, only, (weights) => weights.version === version);
  return found.at(-1) ?? null;
}

async function batchOf(log: Log, { consumed }: Weights): Promise<WeightsData['batch']> {
  if (consumed === null) return null;
  const found = await recordsAt(log, topics.batches, [consumed]);
  const batch = found.get(refOf(consumed))?.value;
  if (batch === undefined) return null;
  const { step, round, kind, groups, examples } = batch;
  return {
    ref: refOf(consumed),
    step,
    round,
    kind,
    groups: groups.map(({ questionId, scored }) => {
      return { question: questionId, scored: refOf(scored) };
    }),
    examples: examples.length,
  };
}

/** Those that are kept step by step. */
function metricsAt({ book }: RunView, step: number): WeightsData['metrics'] {
  return book.names.flatMap(({ name }) => {
    const series = book.series(name);
    if (series === null || series.width > 1) return [];
    const [bucket] = series.between(step, step, 1).buckets;
    return bucket === undefined ? [] : [{ name, value: bucket.sum / bucket.count }];
  });
}

/** Looked for from the moment on when they were there. */
async function rolloutsOf(
  log: Log,
  moment: Moment,
  { value: { version }, atMs }: Stored<Weights>,
): Promise<WeightsData['rollouts']> {
  const first: RolloutRow[] = [];
  let count = 0;
  let scanned = 0;
  const to = moment.endOf(topics.rollouts.name);
  await log
    .tap(topics.rollouts, {
      from: { kind: 'time', atMs },
      follow: false,
      ...(to === undefined ? {} : { to }),
      unreadable: () => undefined,
    })
    .pipe(take(limits.scanMax))
    .forEach((stored) => {
      scanned += 1;
      if (stored.value.version !== version) return;
      count += 1;
      if (first.length < ROLLOUTS_MAX) first.push(rolloutRow(stored, null));
    });
  const stats = await log.stats();
  const of = stats.find(({ topic }) => topic === topics.rollouts.name)?.records ?? 0;
  return { first, count, scanned, of };
}
