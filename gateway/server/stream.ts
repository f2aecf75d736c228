/**
 * An answer as server-sent events: keep-alives until it is ready, then all of it.
 *
 * A quick refusal is sent as an HTTP status, which SDKs understand better than an event; so a stream begins
 * only once an answer takes longer than that.
 */
import type { ServerResponse } from 'node:http';
import type { SleepClock } from '../../base/index.ts';

/** How long a refusal can still be sent as a status. */
const AT_ONCE_MS = 250;

export interface Streamed {
  readonly clock: SleepClock;
  readonly keepAliveMs: number;
  readonly keepAlive: string;
  /** Whether the client is gone. */
  readonly signal: AbortSignal;
  /** The events of a rejection after the stream has begun. */
  readonly failedEvents: (error: unknown) => string;
}

/** Sends `events`; rejects as it does as long as nothing has been sent. */
export async function sendEvents(
  to: ServerResponse,
  events: Promise<string>,
  options: Streamed,
): Promise<void> {
  const { clock, keepAliveMs, keepAlive, signal, failedEvents } = options;
  const settled = new AbortController();
  const said = events.finally(() => settled.abort('said'));
  // Its rejection is handled below; it may come while a keep-alive is due.
  said.catch(() => undefined);
  const isThere = (): boolean => settled.signal.aborted || signal.aborted;
  const wait = (ms: number): Promise<void> =>
    clock.sleep(ms, settled.signal).catch(() => undefined);
  await wait(AT_ONCE_MS);
  if (isThere()) {
    const text = await said;
    begin(to);
    to.end(text);
    return;
  }
  begin(to);
  while (!isThere()) {
    // What a client does not read must not pile up.
    if (!to.writableNeedDrain) to.write(keepAlive);
    await wait(keepAliveMs);
  }
  to.end(await said.catch(failedEvents));
}

function begin(to: ServerResponse): void {
  to.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-store',
    'x-accel-buffering': 'no',
  });
}
