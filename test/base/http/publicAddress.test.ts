/**
 * Which addresses a request that a policy chose may reach: checked as text, as a URL, as a name, and as a
 * connection.
 */
import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { Exchange } from '../../../base/http/exchange.ts';
import { isPublicAddress, isPublicHost, publicLookup } from '../../../base/http/publicAddress.ts';
import { sleepClock } from '../../../base/sleepClock.ts';

const PUBLIC = ['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111'];
const OTHERS = [
  ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254'],
  ...['172.16.0.1', '172.31.255.255', '192.0.0.8', '192.168.1.1', '198.18.0.1', '198.19.255.255'],
  ...['192.0.2.1', '198.51.100.7', '203.0.113.9', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  // IPv6: unspecified, loopback, unique local, link-local with and without a zone, site-local, multicast
  ...['::', '::1', 'fc00::1', 'fd12:3456::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1'],
  // forms with an IPv4 address in them: mapped, compatible, translated, 6to4, Teredo
  ...['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'],
  ...['2001:0:4136:e378:8000:63bf:3fff:fdd2', '::ffff:0:7f00:1', '2001:db8::1'],
  ...['', 'localhost', '1.2.3', '999.1.1.1'],
];

test('public addresses are distinguished from private and reserved ones', () => {
  expect(PUBLIC.filter((address) => !isPublicAddress(address))).toEqual([]);
  expect(OTHERS.filter((address) => isPublicAddress(address))).toEqual([]);
});

test('a private address is recognised however a URL spells it', () => {
  const spelled = [
    ...['http://127.1/', 'http://2130706433/', 'http://0x7f.0.0.1/', 'http://0177.0.0.1/'],
    ...[
      'http://[::1]/',
      'http://[::ffff:127.0.0.1]/',
      'http://[::ffff:7f00:1]/',
      'http://127.0.0.1./',
    ],
    ...[
      'http://１２７.０.０.１/',
      'http://0/',
      'http://[fe80::1]/',
      'http://169.254.169.254/latest',
    ],
  ];
  expect(spelled.filter((url) => isPublicHost(new URL(url)))).toEqual([]);
  const open = ['http://8.8.8.8/', 'http://[2606:4700::1111]/', 'http://example.org/'];
  expect(open.filter((url) => !isPublicHost(new URL(url)))).toEqual([]);
});

const named = (...addresses: readonly string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('a public lookup', () => {
  const found = (
    addresses: readonly LookupAddress[],
    options: { all?: boolean; family?: number },
  ) =>
    new Promise((resolve) => {
      publicLookup((_, done) => done(null, addresses))('name', options, (error, ...rest) =>
        resolve(error === null ? rest : error.message),
      );
    });

  test('gives only the public addresses of a name', async () => {
    const addresses = named('10.0.0.1', '8.8.8.8', '::1', '2606:4700::1111');
    expect(await found(addresses, { all: true })).toEqual([named('8.8.8.8', '2606:4700::1111')]);
    expect(await found(addresses, {})).toEqual(['8.8.8.8', 4]);
    expect(await found(addresses, { family: 6 })).toEqual(['2606:4700::1111', 6]);
  });

  test('fails when a name has no public address', async () => {
    expect(await found(named('127.0.0.1', '::ffff:8.8.8.8'), { all: true })).toMatch(
      /name has no public address/,
    );
    expect(await found([], {})).toMatch(/no public address/);
  });
});

test('a name that resolves to a private address only on connecting is not reached', async () => {
  let reached = 0;
  const server = createServer((_, response) => {
    reached++;
    response.end('in');
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  const answers = [named('8.8.8.8'), named('127.0.0.1')];
  const rebound = publicLookup((_, done) => done(null, answers.pop()!));
  const clock = sleepClock(systemClock);
  const guarded = new Exchange({ clock, timeoutMs: 60_000, replyBytesMax: 100, lookup: rebound });
  const open = new Exchange({ clock, timeoutMs: 60_000, replyBytesMax: 100 });
  const signal = new AbortController().signal;
  try {
    const url = `http://localhost:${port}/`;
    await expect(guarded.ask({ url, headers: {} }, signal)).rejects.toThrow(/no public address/);
    expect(reached).toBe(0);
    expect(
      (await open.ask({ url: url.replace('localhost', '127.0.0.1'), headers: {} }, signal)).text(),
    ).toBe('in');
  } finally {
    guarded.close();
    open.close();
    server.closeAllConnections();
    server.close();
  }
});
