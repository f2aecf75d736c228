/** A request under way, and a reply whose body is still to come: what HTTP clients have in common. */
import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { Readable } from 'node:stream';

export interface Sent {
  /** Without user and password. */
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
}

export interface Arriving {
  readonly status: number;
  readonly header: (name: string) => string | null;
  /** Unpacked. */
  readonly body: Readable;
}

export interface Connections {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
}

/** Follows no redirect. An abort ends the request and the body. Rejects with the client's own error. */
export type Send = (
  request: Sent,
  connections: Connections,
  signal: AbortSignal,
) => Promise<Arriving>;
