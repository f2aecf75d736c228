/**
 * Turns pages into text in worker threads.
 *
 * Guarantees: a page is parsed in bounded time and memory; a thread that a page blocks or fills is ended, and
 * the next page gets a new one. So the worst that a page can do is fail.
 */
import {
  hasCode,
  messageOf,
  outsideText,
  raceAbort,
  Semaphore,
  type SleepClock,
  startWorker,
  type WorkerHandle,
  workerEntry,
} from '../../../base/index.ts';
import type { PageFormat } from './pageReader.ts';

/**
 * What to take of an HTML page: the text that a reader view would show, or everything visible (as in the
 * papers).
 */
export const extracts = ['readable', 'visible'] as const;
/** One of `extracts`. */
export type Extract = (typeof extracts)[number];

/** A page as it came. */
export interface PageBytes {
  readonly bytes: Uint8Array;
  /** The header as it came; '' if there was none. */
  readonly contentType: string;
  readonly extract: Extract;
}

/** A page as text. */
export interface ParsedPage {
  readonly title: string;
  readonly text: string;
  readonly format: PageFormat;
}

/** Limits of parsing. */
export interface PageParserOptions {
  readonly clock: SleepClock;
  /** Of one page (default 15000). */
  readonly timeoutMs?: number;
  /** Pages parsed at once, each in a thread (default 2). */
  readonly threads?: number;
  /** Heap of each thread (default 512). */
  readonly heapMegabytesMax?: number;
}

/** Parses pages; a page that cannot be parsed rejects with an error whose message may be shown. */
export interface PageParser {
  parse(page: PageBytes, signal: AbortSignal): Promise<ParsedPage>;
  close(): Promise<void>;
}

const ENTRY = workerEntry('pageWorker', import.meta.url);

export function pageParser(options: PageParserOptions): PageParser {
  const { clock, timeoutMs = 15_000, threads = 2, heapMegabytesMax = 512 } = options;
  const places = new Semaphore(threads);
  const idle: WorkerHandle[] = [];
  const all = new Set<WorkerHandle>();

  async function end(worker: WorkerHandle): Promise<void> {
    all.delete(worker);
    await worker.close();
  }

  async function parse(page: PageBytes): Promise<ParsedPage> {
    const worker = idle.pop() ?? startWorker(ENTRY, { heapMegabytesMax });
    all.add(worker);
    const alarm = new AbortController();
    const late = clock.sleep(timeoutMs, alarm.signal).then(
      () => end(worker),
      () => undefined,
    );
    try {
      const parsed = await worker.call<ParsedPage>('parse', page);
      if (all.has(worker)) idle.push(worker);
      return parsed;
    } catch (error) {
      if (!hasEnded(error)) {
        if (all.has(worker)) idle.push(worker);
        throw new Error(outsideText(messageOf(error)));
      }
      await end(worker);
      throw new Error('it takes too much time or memory to read');
    } finally {
      alarm.abort();
      await late;
    }
  }

  return {
    parse: (page, signal) =>
      raceAbort(
        places.run(() => parse(page), signal),
        signal,
      ),
    async close() {
      await Promise.all([...all].map(end));
    },
  };
}

function hasEnded(error: unknown): boolean {
  return hasCode(error, 'WORKER_ENDED') || (error as { code?: string }).code === 'WORKER_ENDED';
}
