/**
 * Which Internet addresses a request may go to when someone else chose the address: a page that a policy asks
 * for, or a redirect.
 *
 * Guarantees: with `publicLookup` on its connections, and `isPublicHost` asked of each URL, a request reaches
 * only global unicast addresses. The address that is checked is the one that is connected to, so a name that
 * resolves to another address a moment later (DNS rebinding) gains nothing. Every other form is refused:
 * loopback, private, shared and link-local ranges, multicast, and IPv6 forms that carry an IPv4 address
 * (mapped, translated, 6to4, Teredo).
 */
import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { MillraceError } from '../errors.ts';

/** IPv4 ranges for special purposes (IANA's register). */
const SPECIAL_4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
];
/** The global unicast range of IPv6, and the special ranges within it. */
const GLOBAL_6 = ['2000::/3'];
const SPECIAL_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const special4 = listOf(SPECIAL_4, 'ipv4');
const global6 = listOf(GLOBAL_6, 'ipv6');
const special6 = listOf(SPECIAL_6, 'ipv6');

function listOf(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network, bits] = range.split('/');
    list.addSubnet(network!, Number(bits), family);
  }
  return list;
}

/** Whether this IP address is a public one. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special4.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6');
}

/** Whether a URL's host may be requested: a public address, or any name (`publicLookup` checks it later). */
export function isPublicHost({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? host !== '' : isPublicAddress(host);
}

/** The failure of a connection to any other address. */
export function notPublic(host: string): MillraceError<'PRIVATE_ADDRESS'> {
  return new MillraceError(
    'PRIVATE_ADDRESS',
    `${host} has no public address, and requests to private addresses are not allowed`,
    { context: { host } },
  );
}

/** Resolves one name to all its addresses: `dns.lookup` with `all`. */
export type ResolveAll = (
  host: string,
  done: (error: Error | null, found: readonly LookupAddress[]) => void,
) => void;

const systemResolve: ResolveAll = (host, done) =>
  lookup(host, { all: true }, (error, found) => done(error, found ?? []));

/** The `lookup` of `net.connect` that gives only public addresses, and fails where a name has none. */
export function publicLookup(resolve: ResolveAll = systemResolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host, (error, found) => {
      const family = Number(options.family ?? 0);
      const wanted = found.filter((one) => family === 0 || one.family === family);
      const open = wanted.filter(({ address }) => isPublicAddress(address));
      const [first] = open;
      if (error !== null) callback(error, '', 0);
      else if (first === undefined) callback(notPublic(host), '', 0);
      else if (options.all === true) callback(null, [...open]);
      else callback(null, first.address, first.family);
    });
  };
}
