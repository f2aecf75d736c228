/**
 * Whether a policy fits into this machine if it generates and trains in this process: arithmetic before
 * anything is loaded, from the policy's configuration.
 *
 * Two numbers. What it takes at least: weights and what the optimiser keeps of each, as 32-bit floats. And
 * the peak: for training by trainingMemory.ts; for generating as runs of 45 and 106 million parameters took
 * it, with copies of weights while they are loaded and graphs, and the caches of keys and values.
 */
import { totalmem } from 'node:os';
import { MillraceError } from '../../base/index.ts';
import { type DecoderConfig, parameterShapes } from '../../model/index.ts';
import { cacheBytes } from '../../model/rollout/index.ts';
import { largestPart, type Training, trainingMemory } from './trainingMemory.ts';

/** What this process does with the policy. */
export interface LocalUse {
  /** Responses that the embedded engine generates at once; null = it does not generate here. */
  readonly generates: { readonly rows: number } | null;
  /** null = it is not trained here. */
  readonly trains: Training | null;
  /** Longest context, in tokens. */
  readonly contextMax: number;
}

/** Bytes of each parameter: one copy that generates; weight, gradient and two moments of AdamW that train. */
const AT_LEAST = { generating: 4, full: 16, merged: 4, adapter: 4 } as const;
/** Peak resident size of a process that generates, per parameter (docs/jobs.md has the runs). */
const GENERATING_PEAK = 22;

/** Bytes that a policy takes here: the minimum, and the measured peak. */
export function memoryNeeded(
  config: DecoderConfig,
  { generates, trains, contextMax }: LocalUse,
): { readonly least: number; readonly peak: number } {
  const parameters = parameterCount(config);
  const generating = generates === null ? 0 : parameters;
  const caches =
    generates === null ? 0 : cacheBytes(config, { rowsMax: generates.rows, contextMax });
  const training = trains === null ? 0 : AT_LEAST[trains.kind] * parameters;
  const part = largestPart(config, contextMax);
  return {
    least: AT_LEAST.generating * generating + training,
    peak:
      GENERATING_PEAK * generating +
      caches +
      (trains === null ? 0 : trainingMemory(config, parameters, trains, part)),
  };
}

/** Parameters of a policy. */
export function parameterCount(config: DecoderConfig): number {
  let count = 0;
  for (const shape of parameterShapes(config).values()) {
    count += shape.reduce((product, size) => product * size, 1);
  }
  return count;
}

/** Memory of this machine, or this process's limit, in bytes. */
export function memoryHere(): number {
  const allowed = process.constrainedMemory?.() ?? 0;
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}

/**
 * Fails with code `MEMORY` and advice if the policy cannot fit. Returns a line for the user if it may not
 * fit, otherwise null.
 */
export function checkMemory(
  { name, config }: { readonly name: string; readonly config: DecoderConfig },
  use: LocalUse,
  available: number = memoryHere(),
): string | null {
  const { least, peak } = memoryNeeded(config, use);
  if (peak <= available) return null;
  const parameters = parameterCount(config);
  const what = [
    ...(use.generates === null ? [] : ['generate']),
    ...(use.trains === null ? [] : ['train']),
  ];
  const arithmetic =
    `${name} has ${billions(parameters)} parameters; to ${what.join(' and ')} in this process takes at least ${gib(least)} ` +
    `(${least / parameters} bytes each) and about ${gib(peak)} at the peak; this machine has ${gib(available)}`;
  if (least <= available) return `${arithmetic}, which may not be enough`;
  throw new MillraceError(
    'MEMORY',
    `${arithmetic}. Use inference servers and a training service (--set engine.server=… --set engine.urls=…, ` +
      `--set trainer.kind=… --set trainer.url=…; docs/jobs.md), or a smaller policy`,
    { context: { least, peak, available } },
  );
}

function billions(count: number): string {
  return count >= 1e9
    ? `${(count / 1e9).toFixed(1)} billion`
    : `${(count / 1e6).toFixed(1)} million`;
}

export function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
