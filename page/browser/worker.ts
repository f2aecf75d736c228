/**
 * The SharedWorker: holds the one stream of a browser. A browser opens six connections to a server, so that a
 * stream per tab would leave the seventh tab without an answer.
 */
import { eventSource, later } from './data/eventSource.ts';
import { type Allowance, allowance } from './logic/allowance.ts';
import { hubOf, type Want } from './logic/hub.ts';

/**
 * `want` comes with every change and, as a sign of life, every 20 s; `took` acknowledges every message.
 */
export type ToWorker =
  | { readonly kind: 'want'; readonly want: Want }
  | { readonly kind: 'took' }
  | { readonly kind: 'bye' };

/**
 * A tab that says nothing for this long is gone, or sleeps. Hidden tabs have timers once a minute at most.
 */
const silentMs = 150_000;

const hub = hubOf({ open: eventSource, later });

interface Tab {
  heardMs: number;
  readonly allowed: Allowance;
}

const tabs = new Map<MessagePort, Tab>();
/** Tabs that were taken for gone: one that speaks again has missed what was said meanwhile. */
const gone = new WeakSet<MessagePort>();

function drop(port: MessagePort): void {
  tabs.delete(port);
  gone.add(port);
  hub.want(port, null, () => {});
}

addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0]!;
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.kind === 'bye') return drop(port);
    const tab = tabs.get(port) ?? {
      heardMs: 0,
      allowed: allowance((heard) => port.postMessage(heard)),
    };
    tabs.set(port, tab);
    tab.heardMs = performance.now();
    if (data.kind === 'took') return tab.allowed.took();
    hub.want(port, data.want, tab.allowed.tell);
    if (gone.delete(port)) tab.allowed.tell({ kind: 'missed' });
  };
});

setInterval(() => {
  for (const [port, { heardMs }] of tabs) {
    if (performance.now() - heardMs >= silentMs) drop(port);
  }
}, 30_000);
