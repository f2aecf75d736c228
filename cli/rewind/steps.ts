/** The steps that a run can go back to: those whose weights and optimiser state still lie in its folder. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { MillraceError } from '../../base/errors.ts';
import type { Weights } from '../../streams/records.ts';

export interface Version {
  readonly manifest: Weights;
  /** In the topic `weights`. */
  readonly offset: number;
  /** Whether the weights and, where there is one, the optimiser state are there. */
  readonly weights: boolean;
  readonly optimiser: boolean;
}

/** Looks which files of these manifests are there. */
export async function versionsIn(
  folder: string,
  manifests: readonly Weights[],
): Promise<readonly Version[]> {
  const there = async (file: string): Promise<boolean> => {
    if (file === '') return true;
    return access(join(folder, file)).then(
      () => true,
      () => false,
    );
  };
  return Promise.all(
    manifests.map(async (manifest, offset) => ({
      ...{ manifest, offset },
      weights: await there(manifest.file),
      optimiser: await there(manifest.optimiser),
    })),
  );
}

/** The version that a step made. Fails with code `NO_STEP`, saying which steps there are. */
export function versionOfStep(versions: readonly Version[], step: number, run: string): Version {
  const found = versions.find(({ manifest }) => manifest.step === step);
  if (found?.weights && found.optimiser) return found;
  const kept = versions.filter(({ weights, optimiser }) => weights && optimiser);
  const steps = ranges(kept.map(({ manifest }) => manifest.step));
  const why =
    found === undefined
      ? `run ${run} has made no step ${step}`
      : `the ${found.weights ? 'optimiser state' : 'weights'} of step ${step} of run ${run} are no longer there`;
  throw new MillraceError(
    'NO_STEP',
    `${why}; it can go back to steps ${steps}. Kept are the first version, the ends of rounds and the newest few: set keepVersions (0 = all) when you start a run`,
    { context: { run, step } },
  );
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
