/**
 * The SharedWorker: holds the one stream of a browser. A browser opens six connections to a server, so that a stream a tab
 * would leave the seventh tab without an answer.
 */
import { eventSource, later } from './data/eventSource.ts';
import { hubOf, type Want } from './logic/hub.ts';

export type ToWorker =
  | { readonly kind: 'want'; readonly want: Want }
  | { readonly kind: 'alive' }
  | { readonly kind: 'bye' };

/** A tab that says nothing for so long is gone. Hidden tabs have timers once a minute at most. */
const silentMs = 150_000;

const hub = hubOf({ open: eventSource, later });
const heardMs = new Map<MessagePort, number>();

addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0]!;
  const gone = (): void => {
    heardMs.delete(port);
    hub.want(port, null, () => {});
  };
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    heardMs.set(port, performance.now());
    if (data.kind === 'want') hub.want(port, data.want, (heard) => port.postMessage(heard));
    if (data.kind === 'bye') gone();
  };
});

setInterval(() => {
  for (const [port, at] of heardMs) {
    if (performance.now() - at < silentMs) continue;
    heardMs.delete(port);
    hub.want(port, null, () => {});
  }
}, 30_000);
