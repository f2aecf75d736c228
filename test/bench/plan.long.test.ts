import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Case, learnedFrom, plannedSeconds, timedJob } from '../../bench/plan/job.ts';
import type { Learned } from '../../simulate/plan/learned.ts';
import { VirtualClock } from '../../simulate/world/virtualClock.ts';
import type { Log } from '../../streams/index.ts';
import { MemoryStore, openMemoryLog } from '../../streams/memory/index.ts';

const STEPS = 12;

/** The bench's job in virtual time, where nothing else takes any. */
async function happened(which: Case): Promise<{ readonly seconds: number; readonly log: Log }> {
  const virtual = new VirtualClock(1);
  const clock = {
    now: () => Math.floor(virtual.now()),
    sleep: (ms: number, signal?: AbortSignal) => virtual.sleep(ms, signal),
  };
  const store = new MemoryStore(async (apply) => {
    await virtual.sleep(5);
    apply();
  });
  const log = openMemoryLog({ store, clock });
  let end: { readonly seconds: number } | { readonly error: unknown } | null = null;
  timedJob({ ...which, log, clock, steps: STEPS }).then(
    (seconds) => {
      end = { seconds };
    },
    (error: unknown) => {
      end = { error };
    },
  );
  await virtual.run(() => end !== null);
  const how = end as { readonly seconds?: number; readonly error?: unknown } | null;
  if (how?.seconds === undefined) throw how?.error ?? new Error('the job stands still');
  return { seconds: how.seconds, log };
}

describe('what a plan learns from a run with lagMax 0', () => {
  let known: Learned;
  beforeAll(async () => {
    const first = { lagMax: 0, workers: 1 };
    known = await learnedFrom((await happened(first)).log, { ...first, steps: STEPS });
  });

  test.each([
    { lagMax: 0, workers: 1 },
    { lagMax: 1, workers: 1 },
    { lagMax: 4, workers: 1 },
    { lagMax: 0, workers: 4 },
    { lagMax: 1, workers: 4 },
  ])('predicts a step with lagMax $lagMax and $workers engines within a tenth', async (which) => {
    const { seconds } = await happened(which);
    const predicted = await plannedSeconds(known, which);
    expect(predicted / seconds).toBeGreaterThan(0.9);
    expect(predicted / seconds).toBeLessThan(1.1);
  });
});
