/** The steps that a run can go back to: those whose weights and optimiser state still exist. */
import { MillraceError } from '../../base/index.ts';
import { checkpointsIn, mustBeWhole } from '../../model/checkpoints/index.ts';
import type { TrainerCheckpoint } from '../../model/index.ts';
import { checkpointsOf } from '../../sinks/weights/index.ts';
import type { Weights } from '../../topics/index.ts';

export interface Version extends TrainerCheckpoint {
  readonly manifest: Weights;
  /** In the topic `weights`. */
  readonly offset: number;
  /** Whether the weights, and the optimiser state, exist; the first version needs none. */
  readonly hasWeights: boolean;
  readonly hasState: boolean;
}

/** Checks which checkpoints of these manifests exist. */
export async function versionsIn(
  folder: string,
  manifests: readonly Weights[],
): Promise<readonly Version[]> {
  const store = checkpointsIn(folder);
  return Promise.all(
    manifests.map(async (manifest, offset) => {
      const checkpoints = checkpointsOf(manifest);
      const { weights, state } = checkpoints;
      const hasWeights = await store.exists(weights);
      const hasState = state === null ? manifest.version === 0 : await store.exists(state);
      return { ...checkpoints, manifest, offset, hasWeights, hasState };
    }),
  );
}

/** The version that a step made. Fails with code `NO_STEP`, listing the available steps. */
export function versionOfStep(versions: readonly Version[], step: number, run: string): Version {
  const found = versions.find(({ manifest }) => manifest.step === step);
  if (found?.hasWeights && found.hasState) return found;
  if (found !== undefined) {
    throw noStep(versions, {
      step,
      run,
      why: found.hasWeights ? withoutState(found, run) : isGone('weights', step, run),
    });
  }
  throw noStep(versions, { step, run, why: `run ${run} has not made step ${step}` });
}

function withoutState({ manifest: { step }, state }: Version, run: string): string {
  if (state !== null) return isGone('optimiser state', step, run);
  return `run ${run} did not save the optimiser state of step ${step}`;
}

function isGone(what: string, step: number, run: string): string {
  return `run ${run} no longer has the ${what} of step ${step}`;
}

function noStep(
  versions: readonly Version[],
  { step, run, why }: { readonly step: number; readonly run: string; readonly why: string },
): MillraceError<'NO_STEP'> {
  return new MillraceError(
    'NO_STEP',
    `${why}; available steps: ${stepsOf(versions)}. A run keeps its first version, the ends of rounds and the newest few, of a large policy fewer; to keep more, set keepVersions (0 = all) and saveEvery (1 = every step) when you start it`,
    { context: { run, step } },
  );
}

/**
 * Verifies the checkpoints of a version in this folder. Fails with code `DIGEST` when one is not what was
 * saved, with `NO_STEP` when one is missing.
 */
export async function checkWhole(
  folder: string,
  { manifest, weights, state }: Version,
  versions: readonly Version[],
  run: string,
): Promise<void> {
  const store = checkpointsIn(folder);
  const others = versions.filter((other) => other.manifest !== manifest);
  const { step } = manifest;
  const about = `, made by step ${step}`;
  const advice = `choose another step (${stepsOf(others)})`;
  for (const [what, checkpoint] of [
    ['weights', weights],
    ['optimiser state', state],
  ] as const) {
    if (checkpoint === null) continue;
    if (!(await store.exists(checkpoint))) {
      throw noStep(others, { step, run, why: isGone(what, step, run) });
    }
    await mustBeWhole(store, checkpoint, { run, about, advice });
  }
}

/** Steps that are kept, as ranges. */
function stepsOf(versions: readonly Version[]): string {
  const kept = versions.filter(({ hasWeights, hasState }) => hasWeights && hasState);
  return ranges(kept.map(({ manifest }) => manifest.step));
}

/** `0, 3, 6-9`. */
export function ranges(numbers: readonly number[]): string {
  const parts: [from: number, to: number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
}
