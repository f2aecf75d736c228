/**
 * Where the policy generates, by `engine.server`: in this process, on the training service, or on inference
 * servers, each of which has a wire (model/remote/wires).
 */
import { z } from 'zod';
import type { PolicyEngine } from '../../model/index.ts';
import { serverNames } from '../../model/remote/wires/index.ts';
import { embeddedEngine } from './embeddedEngine.ts';
import { type Choice, chosenKind, openPart } from './kinds.ts';
import type { EngineKind, EnginePlace } from './places.ts';
import { engineOnServers, serverEngines } from './serverEngines.ts';
import { tinkerEngine } from './tinkerEngine.ts';

const engineKinds = {
  embedded: embeddedEngine,
  ...serverEngines,
  tinker: tinkerEngine,
} satisfies Record<string, EngineKind<z.ZodRawShape>>;

/** The settings under `engine`: which kind, and those of all kinds. */
export const engineSettings = z.object({
  server: z
    .enum(['embedded', ...serverNames, 'tinker'])
    .default('embedded')
    .describe(
      'where the policy generates: in this process (embedded), on the training service (tinker), or on inference servers',
    ),
  ...embeddedEngine.settings,
  ...engineOnServers,
  ...tinkerEngine.settings,
});

/** `engineSettings` with all defaults filled in. */
export type EngineSettings = z.infer<typeof engineSettings>;

/** Fails with code `USAGE` if a setting is set that the chosen engine does not use. */
export function checkEngine(settings: EngineSettings): void {
  chosenKind(engineKinds, choice(settings));
}

/** The engine that the settings choose. Fails as `checkEngine` does. */
export function openEngine(settings: EngineSettings, place: EnginePlace): Promise<PolicyEngine> {
  return openPart(engineKinds, choice(settings), place);
}

function choice(settings: EngineSettings): Choice {
  return { part: 'engine', by: 'server', settings };
}
