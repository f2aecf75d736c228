/** The part of the package `ws` that we use; it has no types of its own. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';

  interface Options {
    /** Longest message in bytes; a longer one ends the connection. */
    readonly maxPayload?: number;
    readonly perMessageDeflate?: boolean;
    readonly handshakeTimeout?: number;
    readonly headers?: Readonly<Record<string, string>>;
  }

  export class WebSocket extends EventEmitter {
    constructor(address: string, options?: Options);
    send(text: string): void;
    close(code?: number): void;
    terminate(): void;
  }

  /** A server, for tests. */
  export class WebSocketServer extends EventEmitter {
    constructor(options: { readonly server: import('node:http').Server; readonly path?: string });
    close(done?: () => void): void;
  }
}
