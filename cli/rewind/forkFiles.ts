/**
 * Copies the files of a run's folder into a fork: checkpoints up to its step, the metrics of its records, and
 * whatever else the job has put there.
 *
 * Guarantees: the checkpoints of its step are verified in the fork itself, so that it inherits no damage from
 * a run that is still going and may delete old versions meanwhile.
 */
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../base/index.ts';
import { checkpointsIn, LOCAL_FOLDER } from '../../model/checkpoints/index.ts';
import type { Checkpoint } from '../../model/index.ts';
import { writeMetrics } from '../../sinks/index.ts';
import type { Log } from '../../streams/index.ts';
import { upTo } from '../../streams/replay/index.ts';
import { topics } from '../../topics/index.ts';
import type { Run } from '../runs.ts';
import { checkWhole, type Version } from './steps.ts';

/** Files that are not copied, because a fork gets its own. */
const OWN_FILES = ['log', LOCAL_FOLDER, 'run.json', 'report.html', 'metrics.jsonl', 'metrics.csv'];

export interface ForkFiles {
  readonly run: Pick<Run, 'name' | 'folder'>;
  /** The fork's folder. */
  readonly to: string;
  /** The step's checkpoints. */
  readonly version: Version;
  /** Of the run. */
  readonly versions: readonly Version[];
  /** The original log, and how many of its metrics are in the fork. */
  readonly log: Log;
  readonly metrics: number;
}

/** Fails with code `DIGEST` or `NO_STEP` if a checkpoint of the step is not what was saved. */
export async function forkFiles({
  run,
  to,
  version,
  versions,
  log,
  metrics,
}: ForkFiles): Promise<void> {
  const { name, folder: from } = run;
  const store = checkpointsIn(from);
  const share = (checkpoint: Checkpoint): Promise<void> =>
    store.share(checkpoint, to).catch((error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error; // removed since it was found
    });
  for (const { weights, state, hasWeights, hasState } of versions.slice(0, version.offset + 1)) {
    if (hasWeights) await share(weights);
    if (state !== null && hasState) await share(state);
  }
  await checkWhole(to, version, versions, name);
  const entries = await readdir(from);
  if (entries.includes('metrics.jsonl')) {
    await writeMetrics(to, upTo(log, topics.metrics, metrics));
  }
  for (const entry of entries) {
    if (OWN_FILES.includes(entry) || entry.endsWith('.new') || entry.endsWith('.tmp')) continue;
    await cp(join(from, entry), join(to, entry), { recursive: true });
  }
}
