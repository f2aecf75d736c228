/**
 * Tool-Star's helpers by settings: `roles.debugger`, `roles.backTracer` and `roles.refiner`. A role is a
 * model on a server (`url`) or the policy itself (`own`); without either it does nothing.
 */
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';
import { type TextModelSettings, textModelSettings } from '../../model/text/index.ts';
import type { Complete } from '../../operators/evolve/index.ts';
import { checkHelping, type Helping } from '../../operators/rollout/index.ts';
import { type AskHelper, helperTools, type Tool } from '../../operators/tools/index.ts';
import type { PolicyParts } from '../policyLoop.ts';

const helper = textModelSettings.extend({
  maxTokens: textModelSettings.shape.maxTokens.default(4096),
  temperature: textModelSettings.shape.temperature.default(0),
  own: z
    .boolean()
    .default(false)
    .describe('let the policy itself play this role, if no url is set'),
});

/** The settings `roles`. */
export const helperSettings = z.object({
  debugger: helper.prefault({}).describe('model that corrects a failed program, once per rollout'),
  backTracer: z
    .enum(['off', 'sentence', 'line'])
    .default('off')
    .describe(
      'whether a failed program is undone, once per rollout, and how far back: to the end of the sentence or of the line before it',
    ),
  refiner: helper
    .extend({
      from: z
        .number()
        .int()
        .positive()
        .default(8192)
        .describe('context length above which a response is shortened, in tokens'),
    })
    .prefault({})
    .describe('model that shortens a long response, once per rollout'),
});

/** `helperSettings` with all defaults filled in. */
export type HelperSettings = z.infer<typeof helperSettings>;

/** A role's model, once the policy exists. */
type RoleOf = (settings: TextModelSettings) => (live: Pick<PolicyParts, 'engine'>) => Complete;

/** The helpers, before the policy exists. */
export interface Helpers {
  /** For `callTools`. */
  readonly tools: readonly Tool[];
  /** For `rollout`; undefined = no help. */
  readonly helping: Helping | undefined;
  /** Binds the roles' models, which are not called before. */
  bind(role: RoleOf, live: Pick<PolicyParts, 'engine'>): void;
}

/** Fails with `USAGE` if a role has two models, or if this dialect or these rollouts exclude the help. */
export function helpersOf(
  settings: HelperSettings,
  {
    seed,
    dialect,
    lagMax = 0,
  }: { readonly seed: number; readonly dialect: string; readonly lagMax?: number },
): Helpers {
  const { debugger: mender, backTracer, refiner } = settings;
  const models: { debugger?: Complete; refiner?: Complete } = {};
  const asking =
    (role: keyof typeof models): AskHelper =>
    async ({ name, prompt, draws }, signal) => {
      const model = models[role];
      if (model === undefined) throw new Error(`${name} was asked before the policy was loaded`);
      return model({ role: 'analyst', name, prompt, draws, continuation: '', stop: [] }, signal);
    };
  const mends = isThere('debugger', mender);
  const refines = isThere('refiner', refiner);
  if (backTracer !== 'off' && dialect !== 'tags') {
    throw usage(
      `roles.backTracer looks for the papers’ tags around a program, so it needs dialect=tags, not ${dialect}`,
    );
  }
  const helping: Helping = {
    debugger: mends,
    backTracer,
    refineFrom: refines ? refiner.from : null,
  };
  checkHelping(helping, { branching: 'none', lagMax });
  const helps = mends || refines || backTracer !== 'off';
  return {
    tools: helperTools({
      seed,
      ...(mends ? { debugger: asking('debugger') } : {}),
      ...(refines ? { refiner: asking('refiner') } : {}),
    }),
    helping: helps ? helping : undefined,
    bind(role, live) {
      if (mends) models.debugger = role(mender)(live);
      if (refines) models.refiner = role(refiner)(live);
    },
  };
}

function isThere(name: string, { own, url }: HelperSettings['debugger']): boolean {
  if (own && url !== '') {
    throw usage(`roles.${name} has both own and url: keep only one`);
  }
  return own || url !== '';
}

function usage(message: string): MillraceError<'USAGE'> {
  return new MillraceError('USAGE', message);
}
