/**
 * Settings for which weights a run keeps, and how often it saves the optimiser state.
 *
 * `auto` decides by size: old versions of a small policy cost nothing and are good to have, those of a large
 * one fill the disk.
 */
import { z } from 'zod';
import { durationMs } from '../base/text/index.ts';
import type { TrainerOptions } from '../sinks/index.ts';

/** Bytes of a version (weights and state) above which few are kept. */
const LARGE_BYTES = 256 * 2 ** 20;
/** Between saves of the state of large versions: writing it takes about 2 % of that. */
const MS_PER_BYTE = 1e-4;
const kept = z.number().int().nonnegative();
const error = 'expected a number of steps, a duration such as 15m, or auto';
const duration = z.string().refine((text) => (durationMs(text) ?? 0) > 0, { error });

export const keepSettings = {
  saveEvery: z
    .union([z.number().int().positive({ error }), z.literal('auto'), duration], { error })
    .default('auto')
    .describe(
      'steps, or a duration (such as 15m), between saves of the optimiser state; a resume repeats the steps since the last one. auto = 1; for versions above 256 MB, 100 s per GB. Weights are written after every step',
    ),
  keepVersions: z
    .union([kept, z.literal('auto')], { error: 'expected a whole number, or auto' })
    .default('auto')
    .describe(
      'newest versions to keep with their optimiser state, besides the first and the ends of rounds; 0 = all; auto = 4; for versions above 256 MB, 2 and the newest end of a round, with only the newest optimiser state',
    ),
  keepRounds: kept.default(0).describe('newest ends of rounds to keep; 0 = all'),
  keepEvery: kept.default(0).describe('also keep every n-th version; 0 = none'),
  keepBest: kept
    .default(0)
    .describe(
      'also keep the n versions that are most accurate on the held-out questions; 0 = none',
    ),
};

type KeepSettings = {
  readonly [Key in keyof typeof keepSettings]: z.infer<(typeof keepSettings)[Key]>;
};
/** The settings of a run; whatever is left out does not apply to its job. */
export type Keeping = Pick<KeepSettings, 'keepVersions'> & Partial<KeepSettings>;

/** What the trainer gets from them. */
export type Kept = Required<
  Pick<TrainerOptions, 'keepVersions' | 'keepRule' | 'keepStates' | 'saveEvery'>
>;

/** For versions of this many bytes. */
export function keeping(
  {
    saveEvery = 'auto',
    keepVersions,
    keepEvery: every = 0,
    keepBest: best = 0,
    ...settings
  }: Keeping,
  bytes: number,
): Kept {
  const few = keepsFew(keepVersions, bytes);
  const rounds = settings.keepRounds || (few ? 1 : 0);
  return {
    keepVersions: keepVersions === 'auto' ? (few ? 2 : 4) : keepVersions,
    keepRule: { rounds, every, best },
    keepStates: few ? 'newest' : 'all',
    saveEvery: saving(saveEvery, bytes),
  };
}

function saving(every: KeepSettings['saveEvery'], bytes: number): Kept['saveEvery'] {
  if (typeof every === 'number') return every;
  if (every !== 'auto') return { ms: durationMs(every)! };
  return bytes > LARGE_BYTES ? { ms: Math.round(bytes * MS_PER_BYTE) } : 1;
}

/** Whether a run of such versions keeps only what a resume needs. */
export function keepsFew(keepVersions: number | 'auto' | undefined, bytes: number): boolean {
  return keepVersions === 'auto' && bytes > LARGE_BYTES;
}
