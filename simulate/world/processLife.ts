/**
 * What a process of a run does from its start to its end: it wires the real job and runs its part of the flow,
 * as the command does. Only what is passed in is of the simulated world.
 */
import {
  type JobContext,
  type PolicyParts,
  type PolicySettings,
  trainPolicy,
} from '../../jobs/index.ts';
import { followControl, keepIf, type Log, partOf, restOf } from '../../streams/index.ts';
import { type FlowEnd, type FlowStats, runFlow } from '../../streams/run/index.ts';
import { checkpointsOn, type Disk } from './disk.ts';
import type { Life } from './life.ts';
import { methodOf, type ProcessShape, type Shape } from './shape.ts';
import { dialect, sums } from './words.ts';

export interface ProcessOptions {
  readonly life: Life;
  readonly shape: Shape;
  readonly process: ProcessShape;
  readonly log: Log;
  readonly disk: Disk;
  readonly parts: Pick<PolicyParts, 'engine' | 'trainer' | 'tools'>;
  /** Aborts when the process is to end. */
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
  readonly onStats: (stats: FlowStats) => void;
}

const GRACE_MS = 20_000;
const STATS_MS = 10_000;

/** Rejects when it fails, and never resolves when it is killed. */
export async function processLife(options: ProcessOptions): Promise<FlowEnd> {
  const { life, shape, process, log, disk, parts, print, onStats } = options;
  const { clock } = life;
  life.passes('build');
  const owned: { close(): Promise<void> }[] = [];
  const control = await followControl(log);
  const stopping = AbortSignal.any([options.signal, control.stop]);
  try {
    const context: JobContext<PolicySettings> = {
      ...{ run: 'simulated', folder: '/simulated', seed: shape.seed, log, clock, control, print },
      settings: shape.settings,
      screen: { event: nothing, status: nothing, warning: nothing, close: nothing },
      own: (resource) => {
        owned.push(resource);
        return resource;
      },
      place: {
        checkpoints: checkpointsOn(disk),
        prompted: async () => undefined,
        metrics: () => keepIf(() => false) as never,
        watch: () => ({ take: () => 0, stop: nothing }),
      },
    };
    const whole = await trainPolicy(
      context,
      { ...parts, dialect, base: 'base weights' },
      { train: sums(shape.questions) },
      [methodOf(shape)],
    );
    const alone = shape.processes.length === 1;
    const own = alone ? whole : partOf(whole, process);
    const rest = restOf(whole, own);
    const leads = rest.sources.length === 0;
    return await runFlow(own, {
      ...{ log, clock, signal: stopping, graceMs: GRACE_MS, onStats, statsMs: STATS_MS },
      ...(leads ? { elsewhere: rest.stages } : { forever: true }),
    });
  } finally {
    for (const resource of owned.reverse()) await resource.close();
    await control.close();
  }
}

function nothing(): void {}
