/** The command that rewinds to before a version with damaged files; shown when a run fails on one. */
import { MillraceError } from '../../base/index.ts';
import { checkpointsIn } from '../../model/checkpoints/index.ts';
import { type Log, recordsOf } from '../../streams/index.ts';
import { topics, type Weights } from '../../topics/index.ts';
import type { Run } from '../runs.ts';
import { type Version, versionsIn } from './steps.ts';

/**
 * `rewind …` to the newest step whose files are intact, excluding the version that failed, which may be lost
 * where we cannot see (a training service); null if the error is not about a version, or none is left.
 */
export async function rewindCommandFor(
  { name, folder }: Run,
  log: Log,
  error: unknown,
): Promise<string | null> {
  const failed = versionBehind(error);
  if (failed === undefined) return null;
  const manifests: Weights[] = [];
  const from = { kind: 'earliest' } as const;
  for await (const { value } of recordsOf(log, topics.weights, { from })) manifests.push(value);
  for (const version of (await versionsIn(folder, manifests)).toReversed()) {
    const { hasState, manifest } = version;
    const { step } = manifest;
    if (manifest.version !== failed && hasState && (await isWhole(folder, version))) {
      return `rewind ${name} --to step=${step} --into ${name}-step-${step}`;
    }
  }
  return null;
}

/** The version whose files an error is about; undefined = none. */
function versionBehind(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  const isOfFiles = error instanceof MillraceError && CODES.includes(error.code);
  return (isOfFiles ? error.context.version : undefined) ?? versionBehind(error.cause);
}

const CODES: readonly string[] = ['DIGEST', 'CHECKPOINT'];

async function isWhole(folder: string, version: Version): Promise<boolean> {
  const store = checkpointsIn(folder);
  for (const checkpoint of [version.weights, version.state]) {
    if (checkpoint === null) continue;
    const { kind } = await store.condition(checkpoint);
    if (kind === 'missing' || kind === 'changed') return false;
  }
  return true;
}
