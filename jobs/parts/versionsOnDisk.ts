/**
 * Which versions the trainer keeps and how much disk a run needs for them, reported before the first step if
 * it is much.
 */
import { statfs } from 'node:fs/promises';
import { counted } from '../../base/text/index.ts';
import type { TrainerEngine, VersionSizes } from '../../model/index.ts';
import type { JobContext } from '../defineJob.ts';
import { type Keeping, type Kept, keeping } from '../keptVersions.ts';
import { gib } from './memory.ts';

/** What else grows with a run. */
export interface Growing {
  /** Rounds; null = endless. */
  readonly rounds: number | null;
  /** Limit of response tokens that it may record; null = unknown. */
  readonly tokens: number | null;
}

/** About how many bytes a response token takes in the log, with the text of tools (docs/plan.md). */
const TOKEN_BYTES = 16;
/** Report it from here on. */
const MUCH_BYTES = 2 ** 30;

/**
 * Reports what the versions take, and returns what the settings keep. A replay reports nothing and keeps all.
 */
export async function versionsOnDisk(
  { sizes }: Pick<TrainerEngine, 'sizes'>,
  settings: Keeping,
  { folder, print, replay }: Pick<JobContext<unknown>, 'folder' | 'print' | 'replay'>,
  growing: Growing,
): Promise<Kept> {
  const kept = keeping(settings, sizes === undefined ? 0 : sizes.weights + sizes.state);
  if (replay?.keepAll) return { ...kept, keepVersions: 0, keepStates: 'all' };
  if (sizes === undefined) return kept;
  const { bavail, bsize } = await statfs(folder);
  const said = diskText(sizes, kept, growing, bavail * bsize);
  if (said !== null) print(said);
  return kept;
}

/** Null if it is little, also relative to the free space. */
export function diskText(
  { weights, state }: VersionSizes,
  { keepVersions, keepRule: { rounds, every, best }, keepStates }: Kept,
  growing: Growing,
  free: number,
): string | null {
  const ends = rounds || (growing.rounds ?? 0);
  const endless = keepVersions === 0 || every > 0 || (rounds === 0 && growing.rounds === null);
  // One more is written before the oldest goes; the same for states.
  const versions = Math.max(2, keepVersions) + 1 + ends + best;
  const states = keepStates === 'newest' ? 3 : versions;
  const records = (growing.tokens ?? 0) * TOKEN_BYTES;
  const bytes = versions * weights + states * state + records;
  if (bytes < MUCH_BYTES && bytes < free / 2) return null;
  const each = `a version of the weights takes ${gib(weights)}, the optimiser state ${gib(state)}`;
  const most = `${counted(versions, 'version')} and ${counted(states, 'state')} at a time`;
  const log = records < MUCH_BYTES / 10 ? '' : ` and up to ${gib(records)} of records`;
  const grows = endless ? ', and more as it goes on' : '';
  const need = `disk: ${each}; the run needs ${gib(bytes)} for ${most}${log}${grows}; ${gib(free)} are free`;
  return bytes < free ? need : `${need}, which is too little: ${LESS}`;
}

const LESS = 'lower keepVersions, keepRounds, keepEvery or keepBest, or put --runs on another disk';
