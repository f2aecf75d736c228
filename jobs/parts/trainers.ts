/**
 * What trains, by `trainer.kind`: this process, or a training service. A kind is one line of each table below
 * and a file of its own.
 */
import { z } from 'zod';
import type { TrainerEngine } from '../../model/index.ts';
import { embeddedTrainer } from './embeddedTrainer.ts';
import { type Choice, chosenKind, openPart } from './kinds.ts';
import type { TrainerKind, TrainerPlace } from './places.ts';
import { tinkerTrainer } from './tinkerTrainer.ts';
import type { Training } from './trainingMemory.ts';

const trainerKinds = { embedded: embeddedTrainer, tinker: tinkerTrainer } satisfies Record<
  string,
  TrainerKind<z.ZodRawShape>
>;

/** The settings under `trainer`: which kind, and those of all kinds. */
export const trainerSettings = z.object({
  kind: z
    .enum(['embedded', 'tinker'])
    .default('embedded')
    .describe(
      'where the policy is trained: in this process (embedded), or by a training service (tinker)',
    ),
  ...embeddedTrainer.settings,
  ...tinkerTrainer.settings,
});

/** `trainerSettings` with all defaults filled in. */
export type TrainerSettings = z.infer<typeof trainerSettings>;

/** What this process trains; null = nothing. */
export function trainingHere(settings: TrainerSettings): Training | null {
  const { kind, adapterRank, adapterAs, recompute } = settings;
  if (kind !== 'embedded') return null;
  return { kind: adapterRank === 0 ? 'full' : adapterAs, recompute };
}

/** Fails with code `USAGE` if a setting is set that the chosen trainer does not use. */
export function checkTrainer(settings: TrainerSettings): void {
  chosenKind(trainerKinds, choice(settings));
}

/** The trainer that the settings choose. Fails as `checkTrainer` does. */
export function openTrainer(
  settings: TrainerSettings,
  place: TrainerPlace,
): Promise<TrainerEngine> {
  return openPart(trainerKinds, choice(settings), place);
}

function choice(settings: TrainerSettings): Choice {
  return { part: 'trainer', by: 'kind', settings };
}
