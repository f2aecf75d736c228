/**
 * One server of the Model Context Protocol, by the official SDK: a process (stdio) or an address (streamable
 * HTTP).
 *
 * Guarantees: it is started by the first request and again when it has ended; a call that a server's death
 * cut off is made again, on a new one; what a server says is untrusted, and every wait is bounded.
 */
import {
  type CallToolResult,
  Client,
  type Tool as ServerTool,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { MillraceError, messageOf, outsideText, withoutSecrets } from '../../../base/index.ts';
import { boundedFetch } from './boundedFetch.ts';

/** Where a server is. Values of `env` and `token` are secrets; see `keepSecret`. */
export type McpPlace =
  | {
      readonly kind: 'process';
      readonly command: string;
      readonly args: readonly string[];
      /** In addition to the few variables that every process needs (PATH, HOME …). */
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'http'; readonly url: string; readonly token: string | null };

export interface McpServer {
  readonly name: string;
  /** All tools that it offers. Rejects with code `MCP`. */
  tools(): Promise<readonly ServerTool[]>;
  /** Rejects with code `MCP` when the server cannot be reached, and with `MCP_TIMEOUT`. */
  call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<CallToolResult>;
  close(): Promise<void>;
}

export interface McpServerOptions {
  readonly name: string;
  readonly place: McpPlace;
  /** Of one call. */
  readonly timeoutMs: number;
}

/** How long a server may take to answer its first request; `npx` may have to fetch it. */
const START_MS = 60_000;
/** How much of a server process's stderr to keep for the message when it ends. */
const LAST_WORDS = 2_000;
/** Limit of a message from a server; a larger one ends the connection. */
const MESSAGE_BYTES_MAX = 10_000_000;

export function mcpServer({ name, place, timeoutMs }: McpServerOptions): McpServer {
  let open: Promise<Client> | null = null;
  let words = '';
  let closed = false;

  async function started(mode: 'legacy' | 'auto'): Promise<Client> {
    const client = new Client(
      { name: 'millrace', version: '1' },
      { versionNegotiation: { mode }, capabilities: {} },
    );
    const transport = transportTo(place, (text) => {
      words = withoutSecrets(words + text).slice(-LAST_WORDS);
    });
    await client.connect(transport, { timeout: START_MS });
    return client;
  }

  /** Servers of the protocol before 2026 do not know the newer beginning, and the newest know only that. */
  async function connected(): Promise<Client> {
    words = '';
    try {
      return await started('legacy').catch(() => started('auto'));
    } catch (error) {
      open = null;
      throw failed('cannot be started', error);
    }
  }

  function failed(what: string, error: unknown): MillraceError {
    const said = words.trim() === '' ? '' : `; it said: ${outsideText(words)}`;
    const where = place.kind === 'http' ? place.url : [place.command, ...place.args].join(' ');
    return new MillraceError(
      'MCP',
      `the MCP server ${name} (${outsideText(where)}) ${what}: ${outsideText(messageOf(error))}${said}`,
      { context: { server: name }, cause: error },
    );
  }

  function client(): Promise<Client> {
    if (closed) throw new MillraceError('CLOSED', `the MCP server ${name} is closed`);
    open ??= connected();
    return open;
  }

  /**
   * Repeated if the server ended during the call. If several calls were cut off, the first reopens the server
   * for all.
   */
  async function asked<Result>(ask: (client: Client) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const opened = client();
      const live = await opened;
      try {
        return await ask(live);
      } catch (error) {
        if (!isClosed(error) || closed) throw error;
        if (open === opened) open = null;
        await live.close().catch(() => undefined);
        if (attempt === 2) throw failed('ended twice in the same call', error);
      }
    }
  }

  return {
    name,
    async tools() {
      try {
        const { tools } = await asked((live) => live.listTools(undefined, { timeout: START_MS }));
        return tools;
      } catch (error) {
        if (error instanceof MillraceError) throw error;
        throw failed('does not list its tools', error);
      }
    },
    async call(tool, args, signal) {
      try {
        return await asked((live) =>
          live.callTool(
            { name: tool, arguments: args },
            { timeout: timeoutMs, ...(signal === undefined ? {} : { signal }) },
          ),
        );
      } catch (error) {
        signal?.throwIfAborted();
        if (isTimeout(error)) {
          throw new MillraceError('MCP_TIMEOUT', `no answer within ${timeoutMs} ms`);
        }
        throw error;
      }
    },
    async close() {
      closed = true;
      const live = await open?.catch(() => null);
      await live?.close();
    },
  };
}

function transportTo(place: McpPlace, heard: (text: string) => void) {
  if (place.kind === 'http') {
    const headers = place.token === null ? {} : { authorization: `Bearer ${place.token}` };
    return new StreamableHTTPClientTransport(new URL(place.url), {
      requestInit: { headers },
      fetch: boundedFetch(MESSAGE_BYTES_MAX),
    });
  }
  const { command, args, env } = place;
  const transport = new StdioClientTransport({
    ...{ command, args: [...args], stderr: 'pipe', maxBufferSize: MESSAGE_BYTES_MAX },
    env: { ...getDefaultEnvironment(), ...env },
  });
  transport.stderr?.on('data', (data: Buffer) => heard(data.toString()));
  return transport;
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

/** The connection, or the process, is gone. */
function isClosed(error: unknown): boolean {
  return ['CONNECTION_CLOSED', 'NOT_CONNECTED', 'SEND_FAILED', 'EPIPE'].includes(
    String(codeOf(error)),
  );
}

function isTimeout(error: unknown): boolean {
  return codeOf(error) === 'REQUEST_TIMEOUT';
}
