/**
 * An endless run through its life: rounds of endless questions in virtual time, restarted between stretches.
 * What a start reads, what is in memory and what is on disk must not grow with the age of the run, or be
 * bounded by settings.
 */
import { calibrateSettings } from '../../jobs/index.ts';
import { MemoryStore, openMemoryLog } from '../../streams/memory/index.ts';
import { Bounds } from '../world/bounds.ts';
import { Disk } from '../world/disk.ts';
import { Life } from '../world/life.ts';
import { CALM, partsIn, serversOf } from '../world/parts.ts';
import { processLife } from '../world/processLife.ts';
import { type Shape, shapeOf } from '../world/shape.ts';
import { VirtualClock } from '../world/virtualClock.ts';

export interface Age {
  /** Since the run began. */
  readonly rounds: number;
  readonly days: number;
  /** Records read although they are older than the last rounds, by topic, largest first. */
  readonly read: readonly (readonly [topic: string, records: number])[];
  readonly files: number;
  /** Bytes of the log per round of the stretch. */
  readonly recordsARound: number;
  /** Memory of the process in megabytes; null if garbage cannot be collected (`--expose-gc`). */
  readonly heapMb: number | null;
}

const LONG_MS = 600_000;

/** Counts records read although they are older than the last rounds. */
class WatchedStore extends MemoryStore {
  readonly old = new Map<string, number>();
  lately = 0;

  override sealed(topic: string, offset: number): Buffer | undefined {
    const rounds = Math.max(1, this.head('weights').end);
    if (offset < this.head(topic).end * (1 - this.lately / rounds)) {
      this.old.set(topic, (this.old.get(topic) ?? 0) + 1);
    }
    return super.sealed(topic, offset);
  }
}

/** A round of few questions, one every `arrivalMs`. */
function shapeFor(seed: number, arrivalMs: number): Shape {
  const settings = calibrateSettings.parse({
    ...{ rounds: 'forever', explore: 2, keep: 2, batchGroups: 2, rollouts: 2, heldOut: 1 },
    ...{ evaluationRollouts: 1, evaluateEvery: 64, initialRollouts: 2, select: 'groups' },
    ...{ branching: 'none', mixedOnly: false, miniBatches: 1, reward: 'accuracy', lagMax: 1 },
    ...{ keepVersions: 2, keepRounds: 2, saveEvery: 1, responseMax: 80, callLimit: 2 },
  });
  const processes = [{ name: 'lead', except: [] }];
  return {
    ...shapeOf(seed),
    ...{ method: 'calibrate', settings, processes, arrivalMs, tokenMs: 2, toolMs: 40, stepMs: 200 },
  };
}

export interface GrowthOptions {
  readonly seed: number;
  /** Of each stretch. */
  readonly rounds: number;
  readonly stretches: number;
  readonly arrivalMs: number;
  /** How many rounds of records may be looked back on. */
  readonly lately: number;
}

export async function* growth(options: GrowthOptions): AsyncGenerator<Age> {
  const { seed, rounds, stretches, arrivalMs, lately } = options;
  const shape = shapeFor(seed, arrivalMs);
  const clock = new VirtualClock(seed);
  const startMs = clock.now();
  const store = new WatchedStore(async (apply) => {
    await clock.sleep(2);
    apply();
  });
  store.lately = lately;
  const disk = new Disk();
  for (let stretch = 1; stretch <= stretches; stretch++) {
    store.old.clear();
    const recordsBefore = recordsIn(store);
    const life = new Life({
      ...{ name: 'lead', clock, aheadMs: () => 0, stillUntilMs: () => 0, passed: () => undefined },
    });
    const log = openMemoryLog({ store, clock: life.clock });
    const stop = new AbortController();
    let failed: unknown = null;
    const nothing = (): void => undefined;
    const broken = (what: string): void => {
      failed ??= new Error(what);
    };
    const bounds = new Bounds({ life, store, weighs: false, broken });
    void processLife({
      ...{ life, shape, process: shape.processes[0]!, log, disk, signal: stop.signal },
      parts: partsIn(shape, {
        ...{ life, disk, clock, servers: serversOf(shape, disk), ...CALM },
        ...{ busy: nothing, broken },
      }),
      ...{ bounds, print: nothing, onStats: (stats) => bounds.told(stats) },
    }).catch((error: unknown) => {
      failed = error;
    });
    const until = stretch * rounds;
    const endMs = clock.now() + LONG_MS + rounds * 100 * arrivalMs;
    await clock.run(
      () => failed !== null || store.head('weights').end > until || clock.now() > endMs,
    );
    if (failed !== null) throw failed;
    if (store.head('weights').end <= until) throw new Error(`the run stalls in stretch ${stretch}`);
    const read = [...store.old].toSorted(([, a], [, b]) => b - a);
    const held = heapMb();
    life.kill();
    let closed = false;
    void log.close().then(() => {
      closed = true;
    });
    // A commit under way takes its time.
    await clock.run(() => closed);
    const left = heapMb();
    yield {
      rounds: until,
      days: (clock.now() - startMs) / 86_400_000,
      read,
      files: disk.files.length,
      recordsARound: (recordsIn(store) - recordsBefore) / rounds,
      heapMb: held === null || left === null ? null : held - left,
    };
  }
}

function recordsIn(store: MemoryStore): number {
  return store.heads().reduce((sum, [, { end }]) => sum + end, 0);
}

function heapMb(): number | null {
  if (globalThis.gc === undefined) return null;
  globalThis.gc();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
