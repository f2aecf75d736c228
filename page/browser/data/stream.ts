/**
 * What the server says while the page is open, as signals: one stream per browser by a SharedWorker, or one
 * in this tab (and none while it is hidden) if there is no SharedWorker. A page frozen into a file has no
 * stream.
 */
import { batch, signal } from '@preact/signals';
import type {
  Hello,
  Mill,
  Points,
  RunHead,
  RunRow,
  StateChange,
  StreamEvents,
} from '../../wire/index.ts';
import { type Heard, hubOf, type Want } from '../logic/hub.ts';
import type { ToWorker } from '../worker.ts';
import { heardTime } from './clock.ts';
import { eventSource, later } from './eventSource.ts';
import { frozen } from './frozen.ts';

export type StreamState = 'none' | 'opening' | 'open' | 'lost';

export const streamState = signal<StreamState>('none');
export const retries = signal(0);
/** By this page's own clock. */
export const heardAtMs = signal<number | null>(null);
/** Newest of the run that is looked at; null before the first. */
export const mill = signal<Mill | null>(null);
export const head = signal<RunHead | null>(null);
export const runRows = signal<ReadonlyMap<string, RunRow | null>>(new Map());
/** Records by topic, of the run that is looked at. */
export const ends = signal<Readonly<Record<string, number>>>({});
/** Newest change of state, for the live region. */
export const change = signal<StateChange | null>(null);
/** Counts up when the data has to be read again. */
export const refreshes = signal(0);

type OnPoints = (points: Points) => void;
const onPoints = new Set<OnPoints>();

/** Called with new values of metrics until the function that it returns is called. */
export function listenPoints(listen: OnPoints): () => void {
  onPoints.add(listen);
  return () => onPoints.delete(listen);
}

const nothing: Want = { run: null, metrics: [], runs: false, since: '' };
let wanted = nothing;
let server = '';

function heard(message: Heard): void {
  if (message.kind === 'open') {
    streamState.value = 'open';
    retries.value = 0;
    heardAtMs.value = performance.now();
    return;
  }
  if (message.kind === 'missed') {
    refreshes.value++;
    return;
  }
  if (message.kind === 'lost') {
    streamState.value = 'lost';
    retries.value = message.retries;
    return;
  }
  heardAtMs.value = performance.now();
  streamState.value = 'open';
  waiting.push(message);
  if (waiting.length === 1) setTimeout(show, SHOW_MS);
}

/** Ten times a second: more is not seen. */
const SHOW_MS = 100;
const waiting: Extract<Heard, { readonly name: string }>[] = [];

function show(): void {
  batch(() => {
    for (const { name, data } of waiting.splice(0)) {
      event(name as keyof StreamEvents, JSON.parse(data));
    }
  });
}

function event(name: keyof StreamEvents, data: unknown): void {
  const run = (data as { readonly run?: string }).run;
  if (name !== 'hello' && name !== 'runs' && run !== wanted.run) return;
  if (name === 'hello') {
    const { nowMs, server: now, runs } = data as Hello;
    heardTime(nowMs);
    // After a break what was shown may be behind; after another start of the server as well.
    if (server !== '') refreshes.value++;
    server = now;
    head.value = runs.find((one) => one.name === wanted.run) ?? head.value;
  } else if (name === 'mill') {
    mill.value = data as Mill;
  } else if (name === 'points') {
    for (const listen of onPoints) listen(data as Points);
  } else if (name === 'head') {
    ends.value = { ...ends.value, ...(data as StreamEvents['head']).ends };
  } else if (name === 'state') {
    change.value = data as StateChange;
    head.value = change.value.head;
  } else if (name === 'reset') {
    refreshes.value++;
  } else if (name === 'runs') {
    const { runs, gone } = data as StreamEvents['runs'];
    const next = new Map(runRows.value);
    for (const row of runs) next.set(row.name, row);
    for (const row of gone) next.set(row, null);
    runRows.value = next;
  }
}

/** Says what this page wants to hear of, what is left out not; replaces what it wanted. */
export function listen(asked: Partial<Want>): void {
  const want: Want = { ...nothing, ...asked };
  if (frozen !== null || same(want, wanted)) return;
  if (want.run !== wanted.run) {
    mill.value = null;
    head.value = null;
    ends.value = {};
    change.value = null;
  }
  wanted = want;
  if (want.run === null && !want.runs) streamState.value = 'none';
  else if (streamState.value === 'none') streamState.value = 'opening';
  send({ kind: 'want', want });
}

function same(a: Want, b: Want): boolean {
  return a.run === b.run && a.runs === b.runs && a.metrics.join() === b.metrics.join();
}

const send = frozen === null ? opened() : () => {};

function opened(): (message: ToWorker) => void {
  const url = document.querySelector<HTMLMetaElement>('meta[name="millrace-worker"]')?.content;
  if (typeof SharedWorker === 'undefined' || url === undefined) return inThisTab();
  let port: MessagePort;
  try {
    port = new SharedWorker(trusted(url), { name: `millrace ${url}` }).port;
  } catch {
    return inThisTab();
  }
  port.onmessage = ({ data }: MessageEvent<Heard>) => {
    heard(data);
    port.postMessage({ kind: 'took' });
  };
  addEventListener('pagehide', () => port.postMessage({ kind: 'bye' }));
  addEventListener('pageshow', () => port.postMessage({ kind: 'want', want: wanted }));
  setInterval(() => port.postMessage({ kind: 'want', want: wanted }), 20_000);
  return (message) => port.postMessage(message);
}

/**
 * The one address that may become a worker; everything else that a script could make of a text stays
 * forbidden.
 */
function trusted(url: string): string {
  const types = (
    globalThis as {
      trustedTypes?: {
        createPolicy(name: string, rules: object): { createScriptURL(url: string): unknown };
      };
    }
  ).trustedTypes;
  if (types === undefined) return url;
  const policy = types.createPolicy('millrace', {
    createScriptURL(text: string) {
      if (text !== url || !/^\/[\w/.-]+\.js$/.test(text))
        throw new TypeError('not the worker of this page');
      return text;
    },
  });
  return policy.createScriptURL(url) as string;
}

function inThisTab(): (message: ToWorker) => void {
  const hub = hubOf({ open: eventSource, later });
  const tab = {};
  const tell = (): void => hub.want(tab, document.hidden ? null : wanted, heard);
  document.addEventListener('visibilitychange', tell);
  return ({ kind }) => {
    if (kind === 'want') tell();
  };
}
