/**
 * The checkpoints of a run against their manifests: what must exist exists, what exists has the digest in its
 * manifest, and each manifest knows the digest of its parent. Old versions may be gone, but not the first,
 * the newest and those that the run's settings keep (keepRounds, keepEvery; by default the ends of rounds).
 * The newest optimiser state may be missing, because it is written after its manifest, but not the one before
 * it too.
 */

import { keepsFew } from '../../jobs/index.ts';
import { checkpointsIn } from '../../model/checkpoints/index.ts';
import type { Checkpoint } from '../../model/index.ts';
import { checkpointsOf } from '../../sinks/weights/index.ts';
import type { Finding } from '../../streams/doctor/index.ts';
import { finishesRound, type Weights } from '../../topics/index.ts';

export interface CheckedFiles {
  readonly findings: readonly Finding[];
  /** Worth knowing, but no damage. */
  readonly notes: readonly string[];
  /** Versions whose weights exist. */
  readonly checked: number;
}

/** Settings of the run that say which versions stay. */
export interface KeptBySettings {
  readonly keepVersions?: number | 'auto';
  readonly keepRounds?: number;
  readonly keepEvery?: number;
}

/** `manifests` in order of version. */
export async function checkWeightsFiles(
  folder: string,
  manifests: readonly Weights[],
  settings: KeptBySettings = {},
): Promise<CheckedFiles> {
  const store = checkpointsIn(folder);
  const needed = neededOf(manifests, settings);
  const findings: Finding[] = [];
  const states: StateThere[] = [];
  let checked = 0;
  for (const [place, manifest] of manifests.entries()) {
    const before = manifests[place - 1];
    const newest = place === manifests.length - 1;
    const { weights, state } = checkpointsOf(manifest);
    if (state === null && manifest.version === 0) states.push({ version: 0, there: true });
    const condition = await store.condition(weights);
    if (condition.kind !== 'missing') checked += 1;
    else if (needed.has(manifest.version)) findings.push(missing(weights, newest));
    if (condition.kind === 'changed') findings.push(changed(weights, 'weights', condition.why));
    if (state !== null) {
      const kept = await store.condition(state);
      states.push({ ...state, there: kept.kind !== 'missing' });
      if (kept.kind === 'changed') findings.push(changed(state, 'optimiser state', kept.why));
    }
    if (before !== undefined) findings.push(...strayed(manifest, before));
  }
  const [last, before] = states.toReversed();
  const notes: string[] = [];
  if (last?.there === false && before?.there === true) notes.push(unwritten(last, before));
  if (last?.there === false && before?.there !== true) findings.push(noOptimiser(last));
  return { findings, notes, checked };
}

/** A version with a state. */
interface StateThere extends Pick<Checkpoint, 'version'> {
  readonly there: boolean;
}

function unwritten(last: StateThere, before: StateThere): string {
  return (
    `the optimiser state of version ${last.version} is missing, as after a crash; ` +
    `a resume repeats the steps since version ${before.version}`
  );
}

function neededOf(
  manifests: readonly Weights[],
  { keepVersions, keepRounds: rounds = 0, keepEvery = 0 }: KeptBySettings,
): ReadonlySet<number> {
  // The state of full weights is twice their size, an adapter's is smaller: then fewer may be missing.
  const bytes = 3 * Math.max(0, ...manifests.map((manifest) => manifest.bytes));
  const keepRounds = rounds || (keepsFew(keepVersions, bytes) ? 1 : 0);
  const ends = manifests.filter((one, i) => i > 0 && finishesRound(one, manifests[i - 1]!));
  const every = manifests.filter(({ version }) => keepEvery > 0 && version % keepEvery === 0);
  const kept = [...manifests.slice(0, 1), ...ends.slice(-keepRounds), ...every];
  return new Set([...kept, ...manifests.slice(-1)].map(({ version }) => version));
}

function changed({ version, uri }: Checkpoint, what: string, why: string): Finding {
  return {
    rule: 'digest',
    where: uri,
    what: `the ${what} of version ${version} ${why}: the file was changed after it was written`,
    advice:
      'restore the file from a backup, or go back to a version whose file is intact with millrace rewind; check the disk',
  };
}

function missing({ version, uri }: Checkpoint, newest: boolean): Finding {
  return {
    rule: 'files',
    where: uri,
    what: `the weights of version ${version} are missing`,
    advice: newest
      ? 'the run cannot resume without them: restore the file, or go back to an older version with millrace rewind'
      : 'the run cannot be rewound to this version; restore the file from a backup if you need it',
  };
}

function noOptimiser({ version }: StateThere): Finding {
  return {
    rule: 'files',
    where: `weights of version ${version}`,
    what: `the optimiser state of version ${version}, the newest that was saved, is missing, and so is the one before it`,
    advice:
      'a resume has to repeat many steps: restore the file, or go back to an older version with millrace rewind',
  };
}

/** A version that was trained from other weights than those that its parent's manifest names. */
function strayed(manifest: Weights, parent: Weights): readonly Finding[] {
  const { version, parentDigest } = manifest;
  if (parentDigest === null || manifest.parent !== parent.version) return [];
  if (parentDigest === parent.digest) return [];
  return [
    {
      rule: 'lineage',
      where: manifest.uri,
      what: `version ${version} was trained from weights with digest ${parentDigest.slice(0, 12)}…, but the manifest of version ${parent.version} says ${(parent.digest ?? 'none').slice(0, 12)}…`,
      advice:
        'these records come from different runs: go back to the version before this one with millrace rewind',
    },
  ];
}
