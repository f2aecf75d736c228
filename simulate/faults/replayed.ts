/**
 * Replays a history from its records, like `millrace replay --verify`: every record has to come out again,
 * and the same weights.
 */
import { verify } from '../../jobs/replay/index.ts';
import { MemoryStore, openMemoryLog } from '../../streams/memory/index.ts';
import { Disk } from '../world/disk.ts';
import { jobOf, placeOn } from '../world/job.ts';
import { calmParts } from '../world/parts.ts';
import type { Shape } from '../world/shape.ts';
import { VirtualClock } from '../world/virtualClock.ts';

/** Nothing takes longer, so a replay that does is stuck. */
const LONG_MS = 24 * 3_600_000;

/** What comes out differently; null if nothing does. */
export async function replayedOtherwise(shape: Shape, store: MemoryStore): Promise<string | null> {
  const clock = new VirtualClock(shape.seed);
  const disk = new Disk();
  const endMs = clock.now() + LONG_MS;
  const recorded = openMemoryLog({ store, clock });
  const scratch = openMemoryLog({ store: new MemoryStore(), clock });
  let said: string | null | undefined;
  verify({
    ...{ run: 'simulated', seed: shape.seed, settings: shape.settings, recorded, scratch },
    ...{ folder: '/simulated', clock, place: placeOn(disk) },
    job: jobOf(shape, calmParts(shape, { clock, disk })),
    signal: new AbortController().signal,
    print: () => undefined,
  }).then(
    ({ difference }) => {
      said = difference === null ? null : JSON.stringify(difference, shortened);
    },
    (error: unknown) => {
      said = String(error);
    },
  );
  await clock.run(() => said !== undefined || clock.now() > endMs);
  if (said === undefined) return 'a replay of the history stands still';
  return said === null ? null : `a replay of the history gives something else: ${said}`;
}

function shortened(_key: string, value: unknown): unknown {
  return typeof value === 'string' && value.length > 80 ? `${value.slice(0, 80)}…` : value;
}
