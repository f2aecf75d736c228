/**
 * `etAgent`: the whole of ET-Agent (§4 to §8) as a list of methods: the flywheel, fine-tuning on its results,
 * and the rounds of calibration, on one policy in sequence.
 */
import { z } from 'zod';
import { samplingSettings } from '../model/text/index.ts';
import type { Complete, Hints } from '../operators/evolve/index.ts';
import { calibrate } from './calibrate/calibrate.ts';
import { calibrateSettings } from './calibrate/settings.ts';
import { finetune, finetuneSettings } from './finetune.ts';
import { flywheel, flywheelSettings } from './flywheel.ts';
import type { Method } from './method.ts';
import type { PolicyParts } from './policyLoop.ts';
import { policyRole } from './roles.ts';

/**
 * The settings of `etAgent` as a zod schema: those of calibration, with the flywheel's and the fine-tuning's
 * beside them.
 */
export const etAgentSettings = calibrateSettings.extend({
  flywheel: flywheelSettings
    .extend({
      sampling: z
        .object(samplingSettings)
        .optional()
        .describe('how the flywheel samples the policy (default: as rollouts do)'),
    })
    .prefault({}),
  finetune: finetuneSettings.prefault({}),
});

/** `etAgentSettings` with all defaults filled in. */
export type EtAgentSettings = z.infer<typeof etAgentSettings>;

/** What the flywheel of `etAgent` runs on besides the loop's own parts. */
export interface EtAgentParts {
  /** Analyses trajectories and rewrites steps (the method's M2). */
  readonly analyst: (parts: PolicyParts) => Complete;
  /** Finds faults, refines and judges (M3). */
  readonly critic: (parts: PolicyParts) => Complete;
  /** Hints for the policy when it goes wrong; left out = the package's. */
  readonly hints?: Hints;
}

/** ET-Agent; with `flywheel.questions: 0` its calibration alone. */
export function etAgent(settings: EtAgentSettings, parts: EtAgentParts): readonly Method[] {
  const calibrating = calibrate(settings);
  if (settings.flywheel.questions === 0) return [calibrating];
  const { analyst, critic, ...rest } = parts;
  const policy = policyRole({ ...settings, ...settings.flywheel.sampling });
  const models = (live: PolicyParts) => ({
    policy: policy(live),
    analyst: analyst(live),
    critic: critic(live),
  });
  return [
    flywheel(settings.flywheel, { ...rest, models }),
    finetune(settings.finetune),
    calibrating,
  ];
}
