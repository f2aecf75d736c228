/**
 * `coldStart`: the way for a small stock policy as a list of methods: demonstrations, fine-tuning on them,
 * and RL while there is entropy left. Held-out questions are evaluated before, after the fine-tuning, and
 * after each round of RL.
 *
 *     demonstrations ─► fine-tuning (SFT) ─► RL (ARPO, or the rounds of ET-Agent)
 *
 * Demonstrations come from a file, from a flywheel in which a stronger model does everything, or from the
 * policy's own attempts.
 */
import { z } from 'zod';
import type { Complete } from '../operators/evolve/index.ts';
import { calibrate } from './calibrate/calibrate.ts';
import { calibrateSettings } from './calibrate/settings.ts';
import { systemPrompt, usualDialect } from './dialects/dialectOf.ts';
import { everyQuestion } from './everyQuestion.ts';
import { finetune, finetuneSettings } from './finetune.ts';
import { flywheel, flywheelSettings } from './flywheel.ts';
import type { Method } from './method.ts';
import { ownAttempts, ownAttemptsSettings } from './ownAttempts.ts';
import type { PolicyParts } from './policyLoop.ts';

const { reward } = calibrateSettings.shape;

/** The settings of `coldStart` as a zod schema: those of the RL, with those of what precedes it beside them. */
export const coldStartSettings = calibrateSettings.extend({
  rl: z
    .enum(['arpo', 'et-agent'])
    .default('arpo')
    .describe('RL after the fine-tuning: on every question (arpo), or on selected ones (et-agent)'),
  reward: z
    .enum(['auto', ...reward.unwrap().options])
    .default('auto')
    .describe(
      `${reward.description}; auto = deep-research with rl=arpo, efficiency with rl=et-agent`,
    ),
  flywheel: flywheelSettings
    .extend({ questions: flywheelSettings.shape.questions.unwrap().min(1).default(256) })
    .prefault({}),
  own: ownAttemptsSettings.prefault({}),
  finetune: finetuneSettings.prefault({}),
});

/** `coldStartSettings` with all defaults filled in. */
export type ColdStartSettings = z.infer<typeof coldStartSettings>;

/** Where the demonstrations come from. */
export type DemonstrationsFrom =
  | { readonly kind: 'file'; readonly learn: Method }
  /** A stronger model, which writes, analyses and judges the trajectories. */
  | { readonly kind: 'flywheel'; readonly teacher: (parts: PolicyParts) => Complete }
  | { readonly kind: 'own' };

/** Demonstrations and fine-tuning, then RL. */
export function coldStart(
  settings: ColdStartSettings,
  from: DemonstrationsFrom,
): readonly Method[] {
  const rl =
    settings.rl === 'arpo'
      ? everyQuestion({ ...settings, reward: rewardOf(settings, 'deep-research') })
      : calibrate({ ...settings, reward: rewardOf(settings, 'efficiency') });
  if (from.kind === 'file') return [from.learn, rl];
  const making =
    from.kind === 'own'
      ? ownAttempts(settings.own, settings.responseMax)
      : flywheel(settings.flywheel, { models: taught(from.teacher) });
  return [making, finetune(settings.finetune), rl];
}

function rewardOf<Usual>({ reward }: ColdStartSettings, usual: Usual) {
  return reward === 'auto' ? usual : reward;
}

/** A model other than the run's policy has to be told how to answer. */
function taught(teacher: (parts: PolicyParts) => Complete): (parts: PolicyParts) => Complete {
  return (parts) => {
    const complete = teacher(parts);
    const { asked, piece } = parts.dialect;
    // Trajectories use tags, whatever the policy's dialect.
    const own = piece === undefined ? asked?.system : '';
    const instructions = own || systemPrompt(usualDialect, asked?.tools ?? []);
    return (request, signal) =>
      request.role === 'policy'
        ? complete({ ...request, prompt: `${instructions}\n\n${request.prompt}` }, signal)
        : complete(request, signal);
  };
}
