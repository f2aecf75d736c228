/**
 * `--keep-log` and `--archive` of `millrace run`: how much of the large topics stays in the log, and where
 * the rest goes.
 */
import { resolve } from 'node:path';
import { messageOf } from '../../base/index.ts';
import { counted, durationMs } from '../../base/text/index.ts';
import { archiveAddress, isAddress } from '../../streams/archive/index.ts';
import type { Log, Retention } from '../../streams/index.ts';
import { usageError } from '../failure.ts';

export interface RetentionFlags {
  readonly keepLog?: string;
  readonly archive?: string;
}

/** As recorded in `run.json`. */
export type KeptLog = Pick<Retention, 'bytesMax' | 'ageMaxMs' | 'archive'>;

const BYTES = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 } as const;
/** How often to check. */
const LOOK_MS = 10_000;

/** `2GB`, `7d` or `2GB,7d`; null for none. */
export function retentionOf({ keepLog, archive }: RetentionFlags, cwd: string): KeptLog | null {
  if (keepLog === undefined) {
    if (archive === undefined) return null;
    throw usageError(
      '--archive needs --keep-log: it says where records go that --keep-log does not keep',
    );
  }
  const where = archive === undefined ? {} : { archive: placeOf(archive, cwd) };
  return Object.assign(where, ...keepLog.split(',').map((part) => limitOf(part.trim(), keepLog)));
}

/** A folder, or the address of an object store. */
function placeOf(archive: string, cwd: string): string {
  return isAddress(archive) ? archiveAddress(archive) : resolve(cwd, archive);
}

function limitOf(text: string, given: string): KeptLog {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(kB|MB|GB|TB)$/.exec(text) ?? [];
  if (unit in BYTES) return { bytesMax: Number(number) * BYTES[unit as keyof typeof BYTES] };
  const ageMaxMs = durationMs(text);
  if (ageMaxMs !== null) return { ageMaxMs };
  throw usageError(
    `--keep-log takes a size (500MB, 2GB), an age (12h, 7d) or both, comma-separated; given: ${given}`,
  );
}

/** Checks periodically until the returned function is called, which resolves once no work is under way. */
export function retaining(
  log: Log,
  kept: KeptLog | undefined,
  say: (line: string) => void,
  lookMs = LOOK_MS,
): () => Promise<void> {
  if (kept === undefined || log.retain === undefined) return async () => undefined;
  let moving: Promise<void> | null = null;
  let complained = '';
  const look = (): void => {
    moving ??= move(log, kept, say)
      .catch((error: unknown) => {
        const why = messageOf(error);
        if (why !== complained) say(`cannot archive records (${why}); keeping the whole log`);
        complained = why;
      })
      .finally(() => {
        moving = null;
      });
  };
  look();
  const timer = setInterval(look, lookMs);
  return async () => {
    clearInterval(timer);
    await moving;
  };
}

async function move(log: Log, kept: KeptLog, say: (line: string) => void): Promise<void> {
  const { records, segments } = await log.retain!(kept);
  if (segments > 0)
    say(`archived ${counted(records, 'record')} in ${counted(segments, 'segment')}`);
}
