/**
 * Who generates, by `engine.server`: this process, or inference servers. A kind is one line of each table
 * below and a file of its own.
 */
import { z } from 'zod';
import type { PolicyEngine } from '../../model/index.ts';
import { embeddedEngine } from './embeddedEngine.ts';
import { openPart } from './kinds.ts';
import type { EngineKind, EnginePlace } from './places.ts';
import { sglangEngine, vllmEngine } from './serverEngines.ts';
import { tinkerEngine } from './tinkerEngine.ts';

const engineKinds = {
  embedded: embeddedEngine,
  vllm: vllmEngine,
  sglang: sglangEngine,
  tinker: tinkerEngine,
} satisfies Record<string, EngineKind<z.ZodRawShape>>;

/** The settings under `engine`: which kind, and those of all kinds. */
export const engineSettings = z.object({
  server: z
    .enum(['embedded', 'vllm', 'sglang', 'tinker'])
    .default('embedded')
    .describe(
      'where the policy generates: in this process (embedded), on the training service (tinker), or on inference servers',
    ),
  ...embeddedEngine.settings,
  ...vllmEngine.settings,
  ...tinkerEngine.settings,
});

/** `engineSettings` with all defaults filled in. */
export type EngineSettings = z.infer<typeof engineSettings>;

/** The engine that the settings choose. Fails with code `USAGE` when one is set that it does not read. */
export function openEngine(settings: EngineSettings, place: EnginePlace): Promise<PolicyEngine> {
  return openPart(engineKinds, { part: 'engine', by: 'server', settings }, place);
}
