/**
 * The gateway of served sessions as the source of the topic `feedback`: it listens as long as the run lasts.
 */
import { setMaxListeners } from 'node:events';
import { Observable } from 'rxjs';
import type { Listening } from '../../base/http/index.ts';
import type { Resumable, ResumableItem } from '../../streams/index.ts';
import type { FeedbackRecord } from '../../topics/index.ts';
import { GatewayRefusal } from '../conversation.ts';
import type { ServedSessions } from './servedSessions.ts';

export interface ServedFeedbackOptions {
  readonly sessions: ServedSessions;
  /** What the topic holds, oldest first. */
  readonly past: () => AsyncIterable<FeedbackRecord>;
  /** Starts to listen. */
  readonly listen: (sessions: ServedSessions) => Promise<Listening>;
  /** Receives the address. */
  readonly listening: (url: string) => void;
}

export function servedFeedback(options: ServedFeedbackOptions): Resumable<FeedbackRecord> {
  const { sessions, past, listen, listening } = options;
  return {
    kind: 'resumable',
    async open({ signal }) {
      for await (const record of past()) sessions.remember(record);
      return new Observable<ResumableItem<FeedbackRecord>>((subscriber) => {
        const ended = new AbortController();
        setMaxListeners(0, ended.signal);
        sessions.writer.into((item) => subscriber.next(item));
        sessions.begin(ended.signal);
        const server = listen(sessions);
        server.then(
          ({ url }) => listening(url),
          (error: unknown) => subscriber.error(error),
        );
        const stop = (): void => subscriber.complete();
        signal.addEventListener('abort', stop, { once: true });
        return () => {
          signal.removeEventListener('abort', stop);
          ended.abort(new GatewayRefusal('unavailable', 'the run is stopping; try again later'));
          sessions.writer.into(null);
          void server.then((one) => one.close()).catch(() => undefined);
        };
      });
    },
  };
}
