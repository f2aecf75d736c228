/** The settings `environment`: where it is, how the policy acts in it, and what the policy sees of it. */
import { z } from 'zod';
import { type AddressWords, addressSetting } from '../../base/http/index.ts';
import { actionForms } from '../../operators/tools/environment/index.ts';
import { positiveInt } from '../policySettings.ts';
import { listed } from '../tools/listed.ts';

/** What messages call the server. */
export const ENVIRONMENT_SERVER: AddressWords = { what: 'an OpenEnv server', suffix: '/ws' };

/** `environment`; only its URL is required. */
export const environmentSetting = z
  .preprocess(
    (given) => (typeof given === 'string' ? { url: given } : given),
    z.object({
      url: addressSetting(ENVIRONMENT_SERVER)
        .default('')
        .describe(
          'OpenEnv server with the environments for questions that have a field task.world (docs/environments.md); empty = none',
        ),
      keyEnv: z
        .string()
        .default('')
        .describe('environment variable that holds the server’s token; empty = none'),
      form: z
        .enum(actionForms)
        .default('auto')
        .describe(
          'how the policy acts: with the environment’s own tools or action (auto), or with functions of ALFWorld or WebShop that are sent as commands',
        ),
      tool: z
        .string()
        .regex(/^[\w-]+$/, 'must consist of letters, digits, _ and -')
        .default('act')
        .describe('with form=auto: name of the tool that takes an action'),
      show: z
        .preprocess(listed, z.array(z.string()))
        .prefault('')
        .describe(
          'fields of an observation that the policy sees, comma-separated; empty = its text, or all of it as JSON',
        ),
      characters: positiveInt.default(4000).describe('maximum characters of an observation'),
      sessions: positiveInt
        .default(32)
        .describe('maximum concurrent sessions; fewer if the server allows fewer'),
      waitMs: positiveInt
        .default(600_000)
        .describe('how long to wait for a session while all of the server’s are in use'),
      timeoutMs: positiveInt.default(60_000).describe('time limit per action'),
    }),
  )
  .prefault({});

/** `environmentSetting` with all defaults filled in. */
export type EnvironmentSettings = z.infer<typeof environmentSetting>;
