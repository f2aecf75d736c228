/**
 * The three POSTs of `view --control`: pause or resume a run, verify it, replay it. Who may send one is
 * checked before (guard.ts).
 *
 * Each is the command of that name, so each leaves the record that the command leaves: a pause one of the
 * run's `control` topic, a verification the note of what it found, a replay a run whose `run.json` says what
 * it was made of. Each is reported in the server's terminal.
 */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { postedBody, Refusal } from '../../../base/http/index.ts';
import { MillraceError } from '../../../base/index.ts';
import { type ControlData, replayFrom, WIRE } from '../../wire/index.ts';
import { type Answer, errorBody, json } from './answers.ts';
import type { Host } from './host.ts';
import type { Recomputing } from './recomputing.ts';

/** Bytes of a body. */
const BYTES_MAX = 4096;

export interface Posts {
  readonly host: Host;
  readonly recomputing: Recomputing;
}

const run = z.string().min(1).max(200);
const bodies = {
  admission: z.strictObject({ run, paused: z.boolean() }),
  verify: z.strictObject({ run }),
  replay: z.strictObject({ run, from: z.enum(replayFrom) }),
};

export function controlData(posts: Posts | null, clock: Host['clock']): ControlData {
  const job = posts?.recomputing.job ?? null;
  return { wire: WIRE, nowMs: clock.now(), control: posts !== null, job };
}

/** Fails as the command does. */
export async function posted(path: string, from: IncomingMessage, posts: Posts): Promise<Answer> {
  const { host, recomputing } = posts;
  try {
    switch (path) {
      case '/control/admission': {
        const asked = bodyOf(bodies.admission, await postedBody(from, BYTES_MAX));
        const kind = asked.paused ? 'pause' : 'resume';
        host.say(`control: ${kind} ${asked.run}`);
        return json({ said: await host.commands.admission(kind, asked.run) });
      }
      case '/control/verify': {
        const asked = bodyOf(bodies.verify, await postedBody(from, BYTES_MAX));
        await host.commands.mustExist(asked.run);
        recomputing.verify(asked.run);
        return json(controlData(posts, host.clock), 202);
      }
      case '/control/replay': {
        const asked = bodyOf(bodies.replay, await postedBody(from, BYTES_MAX));
        await host.commands.mustExist(asked.run);
        await recomputing.replay(asked.run, asked.from);
        return json(controlData(posts, host.clock), 202);
      }
      default:
        throw new MillraceError('NOT_FOUND', 'page not found');
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // Reads the rest of the body, so that the connection can be used again.
    from.resume();
    const code = error.status === 413 ? 'TOO_LARGE' : 'NOT_JSON';
    return json(errorBody(code, error.message), error.status);
  }
}

/** Throws a `Refusal` if it is not JSON; fails with code `USAGE` if the address does not take it. */
function bodyOf<T>(schema: z.ZodType<T>, text: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const field = issue!.path.join('.');
  throw new MillraceError('USAGE', `${field === '' ? 'the body' : field}: ${issue!.message}`);
}
