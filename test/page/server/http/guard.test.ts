/** Who may ask the page's server for what: each row is a request as some browser or program sends it. */
import { describe, expect, test } from '@jest/globals';
import { addressOf, type GuardOptions, judge } from '../../../../page/server/http/guard.ts';

const TOKEN = 'a-token-of-some-length';
const options: GuardOptions = {
  token: TOKEN,
  trustedOrigin: null,
  cookie: 'millrace-7788',
  control: null,
};
const behindProxy: GuardOptions = { ...options, trustedOrigin: new URL('https://mill.example') };

interface Request {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function judged({ method = 'GET', url = '/runs.json', headers = {} }: Request, guard = options) {
  const { pathname: path, searchParams: query } = addressOf(url)!;
  const all = { host: '127.0.0.1:7788', ...headers };
  const verdict = judge({ method, path, query, headers: all }, guard);
  return verdict.kind === 'refused' ? `${verdict.status} ${verdict.code}` : verdict.kind;
}

const cookie = { cookie: `other=1; millrace-7788=${TOKEN}` };

describe('a request', () => {
  test.each([
    ['without the token', {}, '401 TOKEN'],
    ['with the cookie', { headers: cookie }, 'pass'],
    [
      'with the cookie of another server',
      { headers: { cookie: `millrace-7789=${TOKEN}` } },
      '401 TOKEN',
    ],
    ['with a wrong cookie', { headers: { cookie: 'millrace-7788=x' } }, '401 TOKEN'],
    ['with a bearer', { headers: { authorization: `Bearer ${TOKEN}` } }, 'pass'],
    ['with a wrong bearer', { headers: { authorization: 'Bearer x' } }, '401 TOKEN'],
    ['with the link', { url: `/?t=${TOKEN}` }, 'welcome'],
    ['with a link of another start', { url: '/?t=old' }, '401 TOKEN'],
    ['by localhost', { headers: { ...cookie, host: 'localhost:7788' } }, 'pass'],
    ['by IPv6', { headers: { ...cookie, host: '[::1]:7788' } }, 'pass'],
    [
      'through a tunnel of another port',
      { headers: { ...cookie, host: 'localhost:9000' } },
      'pass',
    ],
    [
      'of a rebound name, cookie and all',
      { headers: { ...cookie, host: 'evil.example:7788' } },
      '403 HOST',
    ],
    [
      'of a name that begins like ours',
      { headers: { ...cookie, host: 'localhost.evil.example' } },
      '403 HOST',
    ],
    [
      'of a name that ends like ours',
      { headers: { ...cookie, host: 'evil.localhost:7788' } },
      '403 HOST',
    ],
    ['by POST', { method: 'POST', headers: cookie }, '405 METHOD'],
    ['by OPTIONS', { method: 'OPTIONS', headers: cookie }, '405 METHOD'],
    ['by HEAD', { method: 'HEAD', headers: cookie }, 'pass'],
    ['of our own page', { headers: { ...cookie, 'sec-fetch-site': 'same-origin' } }, 'pass'],
    ['of the address bar', { headers: { ...cookie, 'sec-fetch-site': 'none' } }, 'pass'],
    ['of another site', { headers: { ...cookie, 'sec-fetch-site': 'cross-site' } }, '403 ORIGIN'],
    [
      'of another port of this machine',
      { headers: { ...cookie, 'sec-fetch-site': 'same-site' } },
      '403 ORIGIN',
    ],
    [
      'with a foreign origin',
      { headers: { ...cookie, origin: 'https://evil.example' } },
      '403 ORIGIN',
    ],
    ['with a null origin', { headers: { ...cookie, origin: 'null' } }, '403 ORIGIN'],
    ['with our origin', { headers: { ...cookie, origin: 'http://127.0.0.1:7788' } }, 'pass'],
    [
      'that opens a page from another site',
      {
        url: '/r/first',
        headers: {
          'sec-fetch-site': 'cross-site',
          'sec-fetch-mode': 'navigate',
          'sec-fetch-dest': 'document',
        },
      },
      'again',
    ],
    [
      'that frames a page in another site',
      {
        url: '/r/first',
        headers: {
          'sec-fetch-site': 'cross-site',
          'sec-fetch-mode': 'navigate',
          'sec-fetch-dest': 'iframe',
        },
      },
      '403 ORIGIN',
    ],
    [
      'of the trusted origin, where there is none',
      { headers: { ...cookie, host: 'mill.example' } },
      '403 HOST',
    ],
  ])('%s is judged as it should', (_, request: Request, verdict) => {
    expect(judged(request)).toBe(verdict);
  });

  test('passes with the trusted origin, if there is one', () => {
    const host = 'mill.example';
    expect(judged({ headers: { ...cookie, host } }, behindProxy)).toBe('pass');
    expect(
      judged({ headers: { ...cookie, host, origin: 'https://mill.example' } }, behindProxy),
    ).toBe('pass');
    expect(
      judged({ headers: { ...cookie, host, origin: 'http://mill.example' } }, behindProxy),
    ).toBe('403 ORIGIN');
  });

  test('needs no token if that was requested, but still the right host', () => {
    const open = { ...options, token: null };
    expect(judged({}, open)).toBe('pass');
    expect(judged({ headers: { host: 'evil.example' } }, open)).toBe('403 HOST');
  });

  test('with the link gets the cookie and is redirected to the address without the token', () => {
    const url = `/r/first?at=step:3&t=${TOKEN}`;
    const { pathname: path, searchParams: query } = addressOf(url)!;
    const asking = { method: 'GET', path, query, headers: { host: 'localhost' } };
    expect(judge(asking, options)).toEqual({
      kind: 'welcome',
      location: '/r/first?at=step%3A3',
      cookie: `millrace-7788=${TOKEN}; Path=/; HttpOnly; SameSite=Strict`,
    });
    expect(judge(asking, behindProxy)).toMatchObject({
      cookie: `millrace-7788=${TOKEN}; Path=/; HttpOnly; SameSite=Strict; Secure`,
    });
  });
});

test.each([
  '//evil.example/',
  '/\\evil.example',
  '/\\/evil.example/?t=x',
  '/.//evil.example',
  '/r/..//evil.example',
  '/%2e//evil.example',
  'http://evil.example/',
  '',
  `/${'a'.repeat(5000)}`,
])('the address %j is refused', (url) => {
  expect(addressOf(url)).toBeNull();
});
