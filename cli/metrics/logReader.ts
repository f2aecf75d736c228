/**
 * Reads the sizes and lags of a log for a scrape. Does not wait for a log that is slow to answer: its last
 * numbers are used.
 */
import type { Log, TopicStat } from '../../streams/index.ts';

const ANSWER_MS = 2_000;

export interface Sizes {
  /** Null before the log has answered once. */
  readonly topics: readonly TopicStat[] | null;
  /** Whether they are current. */
  readonly fresh: boolean;
}

export class LogReader {
  readonly #log: Log;
  #asking: Promise<boolean> | null = null;
  #topics: readonly TopicStat[] | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  async sizes(): Promise<Sizes> {
    this.#asking ??= this.#ask();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, ANSWER_MS, false);
    });
    const fresh = await Promise.race([this.#asking, late]);
    clearTimeout(timer);
    return { topics: this.#topics, fresh };
  }

  async #ask(): Promise<boolean> {
    try {
      this.#topics = await this.#log.stats();
      return true;
    } catch {
      return false;
    } finally {
      this.#asking = null;
    }
  }
}
