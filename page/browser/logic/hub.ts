/**
 * One stream for all tabs of a browser: it knows what each tab wants, asks the server for the union, passes
 * every event to every tab, and reopens the stream when the union changes or the server went away. It runs in
 * a SharedWorker, or in the tab itself if there is none. Time and network are passed in.
 */
import { limits } from '../../wire/index.ts';

/** What a tab wants to hear of. */
export interface Want {
  readonly run: string | null;
  readonly metrics: readonly string[];
  readonly runs: boolean;
  /** How current the tab's data are, so that nothing between them and the stream is missed; empty for now. */
  readonly since: string;
}

export type Heard =
  | { readonly kind: 'open' }
  | { readonly kind: 'lost'; readonly retries: number }
  /** The tab missed something: it reads again. */
  | { readonly kind: 'missed' }
  | { readonly kind: 'event'; readonly name: string; readonly data: string };

/** The part of `EventSource` that is used. */
export interface Source {
  readonly closed: boolean;
  close(): void;
}

export interface Outside {
  open(
    url: string,
    on: {
      open(): void;
      error(): void;
      event(name: string, data: string, id: string): void;
    },
  ): Source;
  later(ms: number, run: () => void): () => void;
}

export interface Hub {
  /** Sets what a tab wants; null = it is gone. */
  want(tab: object, want: Want | null, tell: (heard: Heard) => void): void;
}

const retryMinMs = 1_000;
const retryMaxMs = 10_000;

export function hubOf(outside: Outside): Hub {
  const tabs = new Map<object, { want: Want; tell: (heard: Heard) => void }>();
  let url = '';
  let source: Source | null = null;
  let isOpen = false;
  let retries = 0;
  let lastId = '';
  let cancel: () => void = () => {};

  const tell = (heard: Heard): void => {
    for (const tab of tabs.values()) tab.tell(heard);
  };

  const connect = (): void => {
    cancel();
    source?.close();
    source = null;
    isOpen = false;
    if (url === '') return;
    const since = lastId === '' ? oldest() : lastId;
    const address = since === '' ? url : `${url}&since=${encodeURIComponent(since)}`;
    const mine = outside.open(address, {
      open() {
        if (source !== mine) return;
        [isOpen, retries] = [true, 0];
        tell({ kind: 'open' });
      },
      error() {
        if (source !== mine) return;
        isOpen = false;
        retries++;
        tell({ kind: 'lost', retries });
        // A browser tries again by itself while it is not closed; a refusal closes it.
        if (mine.closed) {
          cancel = outside.later(
            Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(retries, 5)),
            connect,
          );
        }
      },
      event(name, data, id) {
        if (source !== mine) return;
        if (id !== '') lastId = id;
        tell({ kind: 'event', name, data });
      },
    });
    source = mine;
  };

  const oldest = (): string => {
    const all = [...tabs.values()].map(({ want }) => want.since).filter((since) => since !== '');
    return all[0] ?? '';
  };

  return {
    want(tab, want, tellTab) {
      if (want === null) tabs.delete(tab);
      else tabs.set(tab, { want, tell: tellTab });
      const next = unionUrl([...tabs.values()].map((one) => one.want));
      if (next === url) {
        if (want !== null && isOpen) tellTab({ kind: 'open' });
        return;
      }
      // Another run has another place: its own cursor counts.
      if (runsOf(next) !== runsOf(url)) lastId = '';
      url = next;
      connect();
    },
  };
}

function runsOf(url: string): string {
  return url.replace(/:[^&]*/g, '');
}

/** `/stream?run=a:m1,m2&runs=1`; empty if no tab wants anything. */
export function unionUrl(wants: readonly Want[]): string {
  const runs = new Map<string, Set<string>>();
  for (const { run, metrics } of wants) {
    if (run === null) continue;
    const known = runs.get(run) ?? new Set();
    for (const name of metrics) known.add(name);
    runs.set(run, known);
  }
  // The newest tabs come last; if there are too many runs, the oldest wait for their data.
  const parts = [...runs].slice(-limits.streamRunsMax).map(([run, metrics]) => {
    const names = [...metrics].slice(-limits.streamMetricsMax).sort().map(encodeURIComponent);
    return `run=${encodeURIComponent(run)}${names.length === 0 ? '' : `:${names.join(',')}`}`;
  });
  if (wants.some((want) => want.runs)) parts.push('runs=1');
  return parts.length === 0 ? '' : `/stream?${parts.join('&')}`;
}
