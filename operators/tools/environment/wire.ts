/**
 * OpenEnv's messages over a WebSocket (`/ws`): JSON, one reply for each request. What a server says is
 * untrusted: it is read by these shapes or not at all.
 *
 *     → {"type": "reset", "data": {"seed": 7}}      → {"type": "step", "data": {"command": "look"}}
 *     ← {"type": "observation", "data": {"observation": {…}, "reward": 0.5, "done": false}}
 *     ← {"type": "error", "data": {"message": …, "code": …}}
 */
import { z } from 'zod';
import { outsideText } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import type { EnvironmentStep } from '../../../topics/index.ts';

/** A request to an environment. */
export interface EnvironmentRequest {
  readonly type: 'reset' | 'step';
  readonly data: Readonly<Record<string, unknown>>;
}

/** Its answer. */
export interface Observed extends EnvironmentStep {
  readonly kind: 'observed';
  readonly observation: Readonly<Record<string, unknown>>;
}

/** Or why there is none. */
export interface Refused {
  readonly kind: 'refused';
  /** `VALIDATION_ERROR`, `CAPACITY_REACHED` and so on. */
  readonly code: string;
  readonly message: string;
  /** For `CAPACITY_REACHED`: how many sessions the server has in all; null = it does not say. */
  readonly sessionsMax: number | null;
}

const reply = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('observation'),
    data: z.object({
      observation: z.record(z.string(), z.unknown()),
      reward: z.union([z.number(), z.boolean()]).nullish(),
      done: z.boolean().nullish(),
    }),
  }),
  z.object({
    type: z.literal('error'),
    data: z.object({
      message: z.string().default(''),
      code: z.string().default(''),
      errors: z
        .array(z.looseObject({ loc: z.array(z.unknown()).default([]), msg: z.string() }))
        .optional()
        .catch([]),
      max_sessions: z.number().int().positive().optional().catch(undefined),
    }),
  }),
]);

/** Null = it is not a reply of OpenEnv. */
export function readReply(text: string): Observed | Refused | null {
  const read = reply.safeParse(jsonIn(text));
  if (!read.success) return null;
  if (read.data.type === 'observation') {
    const { observation, reward, done } = read.data.data;
    return { kind: 'observed', observation, reward: Number(reward ?? 0), done: done ?? false };
  }
  const { code, message, errors = [], max_sessions: sessionsMax = null } = read.data.data;
  const why = errors.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
  const said = outsideText(why === '' ? message : why);
  return { kind: 'refused', code: outsideText(code, 40), message: said, sessionsMax };
}

const world = z.looseObject({
  reset: z.record(z.string(), z.unknown()).default({}),
  shows: z.string().default(''),
});

/**
 * What a question says about its environment (`task.world`): what it is reset with, and a text that it must
 * then show, so that question and environment are of one task. What has neither is what it is reset with.
 */
export function readWorld(text: string): z.infer<typeof world> {
  const given = jsonIn(text);
  const read = world.safeParse(given);
  if (
    read.success &&
    typeof given === 'object' &&
    given !== null &&
    ('reset' in given || 'shows' in given)
  )
    return read.data;
  const reset = z.record(z.string(), z.unknown()).safeParse(given);
  return { reset: reset.data ?? {}, shows: '' };
}
