/**
 * The weights files of a run against their manifests: what must be there is there, and what is there has the digest that
 * its manifest says. Old versions may be gone; the first, the newest and those that ended a round may not.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { finishesStage } from '../../operators/schedule.ts';
import type { Finding } from '../../streams/doctor/finding.ts';
import type { Weights } from '../../streams/records.ts';

export interface CheckedFiles {
  readonly findings: readonly Finding[];
  /** Files whose digests were computed. */
  readonly checked: number;
}

/** `manifests` in the order of their versions. */
export async function checkWeightsFiles(
  folder: string,
  manifests: readonly Weights[],
): Promise<CheckedFiles> {
  const findings: Finding[] = [];
  let checked = 0;
  for (const [place, manifest] of manifests.entries()) {
    const before = manifests[place - 1];
    const newest = place === manifests.length - 1;
    const endedRound = before !== undefined && finishesStage(manifest, before);
    const needed = newest || endedRound || before === undefined;
    const size = await sizeOf(join(folder, manifest.file));
    if (size === null && needed) findings.push(missing(manifest, newest));
    if (size !== null) {
      checked += 1;
      findings.push(...(await mismatch(folder, manifest)));
    }
    const { optimiser } = manifest;
    const state = optimiser === '' ? 0 : await sizeOf(join(folder, optimiser));
    if (newest && state === null) findings.push(noOptimiser(manifest));
  }
  return { findings, checked };
}

/** Bytes; null when there is nothing, `dir` for a folder of a policy that lies elsewhere. */
async function sizeOf(path: string): Promise<number | 'dir' | null> {
  const entry = await stat(path).catch(() => null);
  if (entry === null) return null;
  return entry.isDirectory() ? 'dir' : entry.size;
}

async function mismatch(
  folder: string,
  { version, file, sha256 }: Weights,
): Promise<readonly Finding[]> {
  const path = join(folder, file);
  if ((await sizeOf(path)) === 'dir') return [];
  const found = await digest(path);
  if (found === sha256) return [];
  return [
    {
      rule: 'digest',
      where: file,
      what: `the weights of version ${version} have digest ${found.slice(0, 12)}…, their manifest says ${sha256.slice(0, 12)}…: the file was changed after it was written`,
      advice:
        'restore the file from a backup, or go back to a version whose file is whole with millrace rewind; look after the disk',
    },
  ];
}

async function digest(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function missing({ version, file }: Weights, newest: boolean): Finding {
  return {
    rule: 'files',
    where: file,
    what: `the weights of version ${version} are not there`,
    advice: newest
      ? 'the run cannot go on without them: restore the file, or go back to an older version with millrace rewind'
      : 'nobody can go back to this version; restore the file from a backup if you need it',
  };
}

function noOptimiser({ version, optimiser }: Weights): Finding {
  return {
    rule: 'files',
    where: optimiser,
    what: `the optimiser state of version ${version}, the newest, is not there`,
    advice:
      'the run cannot go on as it would have: restore the file, or go back to an older version with millrace rewind',
  };
}
