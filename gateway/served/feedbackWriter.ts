/**
 * Writes what happens to served sessions into the topic `feedback`, in order of arrival, each event once:
 * what is sent twice, or was in the log before a crash, is not written again. Resolves when it is in the log.
 */
import type { Clock } from '../../base/index.ts';
import { RecentKeys, type ResumableItem } from '../../streams/index.ts';
import { type FeedbackRecord, topics } from '../../topics/index.ts';
import { GatewayRefusal } from '../conversation.ts';

/** Recent records that are recognised when they are sent again. */
export const REMEMBERED = 2 ** 20;
/** Most records that wait to be written. */
const WAITING_MAX = 1024;

type Said = Pick<FeedbackRecord, 'sessionId' | 'kind'> & Partial<FeedbackRecord>;

const NOTHING = {
  ...{ key: '', atMs: 0, receivedMs: 0, note: '', value: null, calls: 0, failure: '' },
  stop: 'none',
} as const;

function identityOf(said: Said): string {
  return topics.feedback.identity({ ...NOTHING, ...said });
}

export class FeedbackWriter {
  readonly #clock: Clock;
  readonly #known = new RecentKeys(REMEMBERED);
  /** By what identifies them. */
  readonly #waiting = new Map<string, Promise<void>>();
  #lastMs = 0;
  #put: ((item: ResumableItem<FeedbackRecord>) => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Where items go from now on; null = the run is stopping. */
  into(put: ((item: ResumableItem<FeedbackRecord>) => void) | null): void {
    this.#put = put;
  }

  /** Notes a record that is in the log. */
  seen(record: FeedbackRecord): void {
    this.#known.add(identityOf(record));
    this.#lastMs = Math.max(this.#lastMs, record.receivedMs);
  }

  /** Whether this session was opened before. */
  wasOpened(sessionId: string): boolean {
    return this.#known.has(identityOf({ sessionId, kind: 'opened' }));
  }

  /** Rejects with a `GatewayRefusal` if it cannot be written now. */
  write(said: Said): Promise<void> {
    const receivedMs = Math.max(this.#lastMs, this.#clock.now());
    const record = { ...NOTHING, atMs: receivedMs, receivedMs, ...said };
    const identity = identityOf(record);
    const waiting = this.#waiting.get(identity);
    if (waiting !== undefined) return waiting;
    if (this.#known.has(identity)) return Promise.resolve();
    const put = this.#put;
    if (put === null || this.#waiting.size >= WAITING_MAX) {
      return Promise.reject(
        new GatewayRefusal('unavailable', 'the log cannot take it now; send it again later'),
      );
    }
    this.#lastMs = receivedMs;
    const written = new Promise<void>((resolve) => {
      const committed = (): void => {
        this.#known.add(identity);
        this.#waiting.delete(identity);
        resolve();
      };
      put({ value: record, at: {}, committed });
    });
    this.#waiting.set(identity, written);
    return written;
  }
}
