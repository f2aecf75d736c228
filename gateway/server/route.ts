/**
 * What a request asks for, from its method and path.
 *
 * A session's key is in the path, `/s/KEY/v1/…`, or is the API key. Clients build base URLs in many ways, so
 * `v1` may be missing or doubled, and empty segments are ignored.
 */
import { chat } from '../protocols/chat.ts';
import { messages } from '../protocols/messages.ts';
import type { Protocol } from '../protocols/protocol.ts';
import { responses } from '../protocols/responses.ts';

export const PROTOCOLS: readonly Protocol[] = [chat, responses, messages];

/** `protocol` = the form of refusals. */
export interface Route {
  readonly kind:
    | 'call'
    | 'count'
    | 'reward'
    | 'end'
    | 'open'
    | 'models'
    | 'mcp'
    | 'base'
    | 'health'
    | 'unknown';
  readonly protocol: Protocol;
  /** The key in the path; null = none there. */
  readonly key: string | null;
  /** The rest of the path: the name of a model or of an MCP server. */
  readonly rest: string;
  readonly methods: readonly string[];
}

const READ = ['GET', 'HEAD'];

/** `form` = the protocol of refusals if the path names none. */
export function routeOf(url: string, form: Protocol = chat): Route {
  const segments = segmentsOf(url);
  if (segments === null) return route('unknown', form, null);
  const inPath = segments[0] === 's' && segments.length > 1;
  const key = inPath ? segments[1]! : null;
  const rest = inPath ? segments.slice(2) : segments;
  if (key === null && rest.join('/') === 'healthz') return route('health', form, null);
  while (rest[0] === 'v1') rest.shift();
  const path = rest.join('/');
  const protocol = PROTOCOLS.find((one) => one.path === path);
  if (protocol !== undefined) return route('call', protocol, key);
  if (path === `${messages.path}/count_tokens`) return route('count', messages, key);
  if (path === 'reward') return route('reward', form, key);
  if (path === 'end') return route('end', form, key);
  if (path === 'sessions' && key === null) return route('open', form, null);
  if (rest[0] === 'mcp' && rest.length === 2) {
    return { ...route('mcp', form, key), rest: rest[1]! };
  }
  if (path === '') return route('base', form, key);
  if (rest[0] === 'models') return { ...route('models', form, key), rest: rest.slice(1).join('/') };
  return route('unknown', rest[0] === messages.path ? messages : form, key);
}

function route(kind: Route['kind'], protocol: Protocol, key: string | null): Route {
  const posted = ['call', 'count', 'reward', 'end', 'open', 'mcp'].includes(kind);
  return { kind, protocol, key, rest: '', methods: posted ? ['POST'] : READ };
}

/** Decoded; null if it cannot be. */
function segmentsOf(url: string): string[] | null {
  try {
    const path = url.split(/[?#]/, 1)[0]!;
    return path
      .split('/')
      .filter((one) => one !== '')
      .map(decodeURIComponent);
  } catch {
    return null;
  }
}
