/**
 * Who may ask the page's server for what. A server on a loopback address is reached by every page that a
 * browser shows and by every user of the machine, so before anything is read:
 * - only GET and HEAD exist, and POST with control (`--control`);
 * - `Host` must be a loopback name or the trusted origin's: a hostname that was rebound to this machine is
 *   refused;
 * - `Origin`, if it is sent, must be this server or the trusted origin, and `Sec-Fetch-Site` must say that
 *   the request comes from this server or from the address bar. A link on another page may open a page here
 *   (it gets no data that way);
 * - the token comes as a cookie (`HttpOnly`, `SameSite=Strict`) or as `Authorization: Bearer`. The link with
 *   `?t=TOKEN` sets the cookie and leads to the same address without it;
 * - a POST needs more than reading does: the token of control, which no browser keeps, in a header of its
 *   own, `X-Millrace: 1` (no form and no simple request of another site can send either), JSON, and never a
 *   token in its address.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { sameText } from '../../../base/http/index.ts';

export interface GuardOptions {
  /** Null = anyone who reaches the server may read (`--no-token`). */
  readonly token: string | null;
  /** Where the server is reached, besides its loopback address: `https://host:port`. */
  readonly trustedOrigin: URL | null;
  readonly cookie: string;
  /** The second token, which every POST needs; null = POST is off. */
  readonly control: string | null;
}

export interface Asking {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

export type Verdict =
  | { readonly kind: 'pass' }
  /** Sets the cookie and redirects to `location`. */
  | { readonly kind: 'welcome'; readonly location: string; readonly cookie: string }
  /** A page of another site links here: the page asks again by itself, with the cookie. */
  | { readonly kind: 'again' }
  | {
      readonly kind: 'refused';
      readonly status: 400 | 401 | 403 | 405 | 415;
      readonly code: RefusalCode;
      readonly why: string;
    };

type RefusalCode = 'METHOD' | 'HOST' | 'ORIGIN' | 'TOKEN' | 'CONTROL' | 'HEADER' | 'NOT_JSON';

const URL_MAX = 4096;

/** The methods that exist. */
export function methods({ control }: GuardOptions): string {
  return control === null ? 'GET, HEAD' : 'GET, HEAD, POST';
}

export function judge(asking: Asking, options: GuardOptions): Verdict {
  const { method, headers, path, query } = asking;
  const isPost = method === 'POST' && options.control !== null;
  if (method !== 'GET' && method !== 'HEAD' && !isPost) {
    return refused(405, 'METHOD', `only ${methods(options)} are allowed`);
  }
  if (!isOwnHost(headers.host, options)) {
    return refused(403, 'HOST', `this server does not answer to the name ${nameOf(headers.host)}`);
  }
  if (headers.origin !== undefined && !isOwnOrigin(headers.origin, headers.host!, options)) {
    return refused(403, 'ORIGIN', 'this request comes from another site');
  }
  if (isPost) return judgePost(asking, options);
  const given = query.get('t');
  const opens = isDocument(headers);
  const site = headers['sec-fetch-site'];
  const fromHere = site === undefined || site === 'same-origin' || site === 'none';
  if (!fromHere && !opens) return refused(403, 'ORIGIN', 'this request comes from another site');
  if (given !== null && options.token !== null) {
    if (!sameText(given, options.token)) return refused(401, 'TOKEN', wrongToken);
    const rest = new URLSearchParams(query);
    rest.delete('t');
    const search = rest.size === 0 ? '' : `?${rest}`;
    return { kind: 'welcome', location: `${path}${search}`, cookie: cookieOf(options) };
  }
  if (!fromHere) return { kind: 'again' };
  return hasToken(headers, options) ? { kind: 'pass' } : refused(401, 'TOKEN', noToken);
}

/** Whether its `Host`, and its `Origin` if it has one, are ours. */
function judgePost({ headers, query }: Asking, options: GuardOptions): Verdict {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') {
    return refused(403, 'ORIGIN', 'this request comes from another site');
  }
  if (query.size > 0) return refused(400, 'HEADER', 'a POST must have no query in its URL');
  if (headers['x-millrace'] !== '1') return refused(403, 'HEADER', 'send the header X-Millrace: 1');
  if (!hasToken(headers, options)) return refused(401, 'TOKEN', noToken);
  const given = headers['x-millrace-control'];
  if (typeof given !== 'string' || !sameText(given, options.control!)) {
    return refused(401, 'CONTROL', wrongControl);
  }
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    return refused(415, 'NOT_JSON', 'send Content-Type: application/json');
  }
  return { kind: 'pass' };
}

const wrongControl =
  'the control token is missing or wrong: `millrace view --control` printed it at its start. Scripts send it as `X-Millrace-Control: TOKEN`';
const noToken =
  'open the link that `millrace view` printed; it carries the token. Scripts send it as `Authorization: Bearer TOKEN`';
const wrongToken = 'wrong token for this server; open the link that `millrace view` printed last';

function refused(status: 400 | 401 | 403 | 405 | 415, code: RefusalCode, why: string): Verdict {
  return { kind: 'refused', status, code, why };
}

/** The address of a request; null if it is invalid, or longer than any of ours. */
export function addressOf(url: string | undefined): URL | null {
  if (url === undefined || url.length > URL_MAX || !url.startsWith('/')) return null;
  if (!URL.canParse(`http://localhost${url}`)) return null;
  const parsed = new URL(`http://localhost${url}`);
  // Two slashes would begin a host name, even if one was a backslash or is what `/.` leaves (`/.//host`).
  return url.startsWith('//') || parsed.pathname.startsWith('//') || parsed.host !== 'localhost'
    ? null
    : parsed;
}

/** Any port: a tunnel (`ssh -L`) has a different one from this server's. */
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

function isOwnHost(host: string | undefined, { trustedOrigin }: GuardOptions): boolean {
  if (host === undefined) return false;
  return LOOPBACK.test(host) || host.toLowerCase() === trustedOrigin?.host;
}

function isOwnOrigin(origin: string, host: string, { trustedOrigin }: GuardOptions): boolean {
  return (
    origin === trustedOrigin?.origin ||
    (LOOPBACK.test(host) && origin.toLowerCase() === `http://${host.toLowerCase()}`)
  );
}

/** Whether a browser is opening a page in a tab, as opposed to a frame or a script. */
function isDocument(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
}

function hasToken(headers: IncomingHttpHeaders, { token, cookie }: GuardOptions): boolean {
  if (token === null) return true;
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
  if (bearer !== undefined && sameText(bearer.trim(), token)) return true;
  return (headers.cookie ?? '')
    .split(';')
    .map((part) => part.trim().split('='))
    .some(([name, value]) => name === cookie && sameText(value ?? '', token));
}

function cookieOf({ cookie, token, trustedOrigin }: GuardOptions): string {
  const secure = trustedOrigin?.protocol === 'https:' ? '; Secure' : '';
  return `${cookie}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}`;
}

function nameOf(host: string | undefined): string {
  return host === undefined ? '(none given)' : JSON.stringify(host.slice(0, 100));
}
