/**
 * Whether a policy fits into this machine where it generates and trains in this process: arithmetic before
 * anything is loaded, from the policy's configuration.
 *
 * Two numbers. What it takes at least: weights and what the optimiser keeps of each, as 32-bit floats. And
 * what runs of 45 and 106 million parameters took at their peak, with short sequences: copies of weights
 * while they are loaded, graphs, caches.
 */
import { totalmem } from 'node:os';
import { MillraceError } from '../../base/index.ts';
import { type DecoderConfig, parameterShapes } from '../../model/index.ts';

/** What is done with the policy in this process. */
export interface LocalUse {
  readonly generates: boolean;
  readonly trains: boolean;
}

/** Bytes of each parameter: one copy that generates; weight, gradient and two moments of AdamW that train. */
const AT_LEAST = { generating: 4, training: 16 } as const;
/** Peak resident size of a process, by parameter (docs/jobs.md has the runs). */
const AT_PEAK = { generating: 22, training: 24 } as const;

/** Bytes that a policy takes here: at least, and at the peak as it was measured. */
export function memoryNeeded(
  config: DecoderConfig,
  { generates, trains }: LocalUse,
): { readonly least: number; readonly peak: number } {
  const parameters = parameterCount(config);
  const bytes = ({ generating, training }: Record<keyof typeof AT_PEAK, number>): number =>
    parameters * ((generates ? generating : 0) + (trains ? training : 0));
  return { least: bytes(AT_LEAST), peak: bytes(AT_PEAK) };
}

/** Numbers of a policy. */
export function parameterCount(config: DecoderConfig): number {
  let count = 0;
  for (const shape of parameterShapes(config).values()) {
    count += shape.reduce((product, size) => product * size, 1);
  }
  return count;
}

/** Memory of this machine, or what this process may have of it; in bytes. */
export function memoryHere(): number {
  const allowed = process.constrainedMemory?.() ?? 0;
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}

/**
 * Fails with code `MEMORY` when the policy cannot fit, with what to do instead; a line for the person who
 * watches when it may not, else null.
 */
export function checkMemory(
  { name, config }: { readonly name: string; readonly config: DecoderConfig },
  use: LocalUse,
  available: number = memoryHere(),
): string | null {
  const { least, peak } = memoryNeeded(config, use);
  if (peak <= available) return null;
  const parameters = parameterCount(config);
  const what = [...(use.generates ? ['generate'] : []), ...(use.trains ? ['train'] : [])];
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

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}
