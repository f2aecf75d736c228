/**
 * What a process of a run does from its start to its end: it wires the real job and runs its part of the
 * flow, like the command. Only its arguments belong to the simulated world.
 */
import { eitherSignal } from '../../base/index.ts';
import { followControl, type Log, partOf, restOf } from '../../streams/index.ts';
import { type FlowEnd, type FlowStats, runFlow } from '../../streams/run/index.ts';
import type { Bounds } from './bounds.ts';
import type { Disk } from './disk.ts';
import { jobOf, placeOn, type WorldParts } from './job.ts';
import type { Life } from './life.ts';
import type { ProcessShape, Shape } from './shape.ts';

export interface ProcessOptions {
  readonly life: Life;
  readonly shape: Shape;
  readonly process: ProcessShape;
  readonly log: Log;
  readonly disk: Disk;
  readonly parts: WorldParts;
  readonly bounds: Bounds;
  /** Aborts when the process is to end. */
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  readonly onStats: (stats: FlowStats) => void;
}

const GRACE_MS = 20_000;
const STATS_MS = 10_000;
const RETAIN_MS = 700;

/** Rejects if it fails, and never resolves if it is killed. */
export async function processLife(options: ProcessOptions): Promise<FlowEnd> {
  const { life, shape, process, log, disk, parts, bounds, print, onStats } = options;
  const { clock } = life;
  life.passes('build');
  const owned: { close(): Promise<void> }[] = [parts.engine, parts.tools];
  const ended = new AbortController();
  let retained: Promise<void> | null = null;
  const control = await followControl(log);
  // A process that is killed releases nothing, and Node keeps what listens to a signal of `AbortSignal.any`.
  const { signal: stopping } = eitherSignal([options.signal, control.stop]);
  bounds.stopsBy(stopping);
  try {
    const whole = await jobOf(shape, parts).build({
      ...{ run: 'simulated', folder: '/simulated', seed: shape.seed, log, clock, control, print },
      settings: shape.settings,
      screen: { event: nothing, status: nothing, warning: nothing, close: nothing },
      own: (resource) => {
        owned.push(resource);
        return resource;
      },
      place: placeOn(disk),
    });
    const alone = shape.processes.length === 1;
    const own = alone ? whole : partOf(whole, process);
    const rest = restOf(whole, own);
    const leads = rest.sources.length === 0;
    if (leads && shape.retention !== null) {
      const { signal: until } = eitherSignal([stopping, ended.signal]);
      retained = retaining(log, shape.retention, life, until);
    }
    return await runFlow(own, {
      ...{ log, clock, signal: stopping, graceMs: GRACE_MS, onStats, statsMs: STATS_MS },
      ...(leads ? { elsewhere: rest.stages } : { forever: true }),
    });
  } finally {
    ended.abort();
    await retained;
    for (const resource of owned.reverse()) await resource.close();
    await control.close();
  }
}

/** What does not fit into the log goes to the archive; one that cannot be written is tried again. */
async function retaining(
  log: Log,
  retention: NonNullable<Shape['retention']>,
  { clock }: Life,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(RETAIN_MS, signal).catch(() => undefined);
    if (!signal.aborted) await log.retain!(retention).catch(() => undefined);
  }
}

function nothing(): void {}
