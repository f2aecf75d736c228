/**
 * Entry of a worker that holds sessions by number and runs them: `open`, `run`, `release`.
 */

import { serve } from '../../../base/worker.ts';
import {
  type Feeds,
  openSession,
  type Session,
  type SessionOptions,
} from '../../../model/runtime/session.ts';

const sessions = new Map<number, Session>();
let opened = 0;

function session(id: number): Session {
  const found = sessions.get(id);
  if (found === undefined) throw new Error(`session ${id} is not open`);
  return found;
}

serve({
  async open({ model, options }: { model: Uint8Array; options: SessionOptions }) {
    const made = await openSession(model, options);
    sessions.set(++opened, made);
    return opened;
  },
  run({ id, feeds }: { id: number; feeds: Feeds }) {
    return session(id).run(feeds);
  },
  async release({ id }: { id: number }) {
    await session(id).release();
    sessions.delete(id);
  },
});
