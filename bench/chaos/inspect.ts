/**
 * Whether a finished run is sound, and what it arrived at: the invariants that `millrace doctor` checks, over
 * all topics of either log, and what a finished run must have besides.
 */
import { lastValueFrom, tap } from 'rxjs';
import { checkWeightsFiles } from '../../cli/doctor/weightsFiles.ts';
import type { Log, Standing } from '../../streams/log.ts';
import { allTopics, Invariants, topics, type Weights } from '../../topics/index.ts';

export interface Inspected {
  /** One sentence each. */
  readonly violations: readonly string[];
  readonly records: number;
  /** Digests of the weights by version: the same in every run of the job. */
  readonly digests: readonly string[];
}

export async function inspect(log: Log, folder: string): Promise<Inspected> {
  const stats = await log.stats();
  const standing: Standing = {
    ends: Object.fromEntries(stats.map(({ topic, records }) => [topic, records])),
    // Everything is settled, or the lag is reported as a violation below.
    settled: Object.fromEntries(
      stats.map(({ topic, records, lag }) => [
        topic,
        Object.fromEntries(
          Object.entries(lag).map(([group, left]) => [group, { low: records - left, above: [] }]),
        ),
      ]),
    ),
    marks: {},
  };
  const invariants = new Invariants(standing);
  const manifests: Weights[] = [];
  const violations: string[] = [];
  let records = 0;
  for (const topic of allTopics) {
    const end = standing.ends[topic.name] ?? 0;
    let seen = 0;
    const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
    const looking$ = stored$.pipe(
      tap(({ value, position }) => {
        seen += 1;
        invariants.see(topic, value, position);
        if (topic.name === topics.weights.name) manifests.push(value as Weights);
      }),
    );
    if (end > 0) await lastValueFrom(looking$, { defaultValue: null });
    if (seen !== end) violations.push(`${topic.name} counts ${end} records and holds ${seen}`);
    records += seen;
  }
  for (const { topic, lag } of stats) {
    for (const [group, left] of Object.entries(lag)) {
      if (left !== 0) violations.push(`done, and ${group} has ${left} records of ${topic} to read`);
    }
  }
  manifests.sort((a, b) => a.version - b.version);
  const files = await checkWeightsFiles(folder, manifests);
  for (const { where, what } of [...invariants.findings(), ...files.findings]) {
    violations.push(`${where}: ${what}`);
  }
  const dead = standing.ends[topics.deadLetters.name] ?? 0;
  if (dead > 0) violations.push(`${dead} dead letters`);
  return { violations, records, digests: manifests.map(({ digest }) => String(digest)) };
}
