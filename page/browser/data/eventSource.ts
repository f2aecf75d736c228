/** The browser's `EventSource` and timers, as the hub takes them. */
import type { StreamEvents } from '../../wire/index.ts';
import type { Outside } from '../logic/hub.ts';

const names: readonly (keyof StreamEvents)[] = [
  'hello',
  'mill',
  'points',
  'head',
  'state',
  'runs',
  'reset',
];

export const eventSource: Outside['open'] = (url, on) => {
  const source = new EventSource(url);
  source.onopen = () => on.open();
  source.onerror = () => on.error();
  for (const name of names) {
    source.addEventListener(name, (event: MessageEvent<string>) =>
      on.event(name, event.data, event.lastEventId),
    );
  }
  return {
    get closed() {
      return source.readyState === EventSource.CLOSED;
    },
    close: () => source.close(),
  };
};

export const later: Outside['later'] = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};
