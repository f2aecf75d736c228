/**
 * What a run keeps and measures on its machine besides its log: checkpoints, the record of the prompt, metric
 * files, how long the event loop stalls. A simulated world, which has no machine, gives a run another place.
 */
import type { OperatorFunction } from 'rxjs';
import { type CheckpointStore, checkpointsIn } from '../model/checkpoints/index.ts';
import { type LoopGap, watchLoop } from '../model/runtime/index.ts';
import { metricFiles, metricsIn } from '../sinks/index.ts';
import type { Delivery } from '../streams/deliveries/index.ts';
import type { Log } from '../streams/index.ts';
import type { Metric } from '../topics/index.ts';
import { type PromptRecord, writePrompt } from './parts/promptRecord.ts';

export interface RunPlace {
  readonly checkpoints: CheckpointStore;
  /** Records how the policy is prompted. */
  prompted(record: PromptRecord): Promise<void>;
  /** metrics → wherever else they are kept. */
  metrics(): OperatorFunction<Delivery<Metric>, Delivery<never>>;
  watch(): LoopGap;
}

/** The run's folder, and this process. */
export function placeIn(folder: string, log: Log): RunPlace {
  return {
    checkpoints: checkpointsIn(folder),
    prompted: (record) => writePrompt(folder, record),
    metrics: () => metricFiles({ folder, recorded: metricsIn(log) }),
    watch: watchLoop,
  };
}
