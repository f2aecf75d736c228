/**
 * The files of a run's folder for a fork of it: checkpoints up to its step, the metrics of its records, and what else the
 * job has put there.
 */
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkpointsIn } from '../../model/checkpoints/checkpointsIn.ts';
import { LOCAL_FOLDER } from '../../model/checkpoints/local.ts';
import { writeMetrics } from '../../sinks/metricFiles.ts';
import type { Log } from '../../streams/log.ts';
import { upTo } from '../../streams/replay/places.ts';
import { topics } from '../../streams/topics.ts';
import type { Version } from './steps.ts';

/** Files that a fork gets of its own, and that are not copied. */
const OWN_FILES = ['log', LOCAL_FOLDER, 'run.json', 'report.html', 'metrics.jsonl', 'metrics.csv'];

export interface ForkFiles {
  readonly from: string;
  readonly to: string;
  /** Those up to the step. */
  readonly versions: readonly Version[];
  /** The log that is forked, and how many of its metrics are in the fork. */
  readonly log: Log;
  readonly metrics: number;
}

export async function forkFiles({ from, to, versions, log, metrics }: ForkFiles): Promise<void> {
  const store = checkpointsIn(from);
  for (const { weights, state, hasWeights, hasState } of versions) {
    if (hasWeights) await store.share(weights, to);
    if (state !== null && hasState) await store.share(state, to);
  }
  const entries = await readdir(from);
  if (entries.includes('metrics.jsonl')) {
    await writeMetrics(to, upTo(log, topics.metrics, metrics));
  }
  for (const entry of entries) {
    if (OWN_FILES.includes(entry) || entry.endsWith('.new') || entry.endsWith('.tmp')) continue;
    await cp(join(from, entry), join(to, entry), { recursive: true });
  }
}
