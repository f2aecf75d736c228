/**
 * Finds a package's wheel: in a folder, a mirror of pyodide's distribution, that distribution itself, or, for
 * pure-Python packages, the index of Python packages. Every wheel must have the digest in the lock file or in
 * our own list (indexWheels.ts), whatever its source says. Nothing is fetched over plain HTTP except from
 * this machine.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Exchange } from '../../../../base/http/index.ts';
import { hasCode, MillraceError, outsideText, systemCode } from '../../../../base/index.ts';
import { jsonIn } from '../../../../base/text/index.ts';
import { furtherWheels } from './furtherPackages.ts';
import { indexWheels } from './indexWheels.ts';
import { type LockedPackage, normalName, otherDistribution } from './lock.ts';
import { digestOf } from './store.ts';

export interface Wheel {
  readonly bytes: Uint8Array;
  readonly from: string;
}

export interface WheelSources {
  readonly exchange: Exchange;
  /**
   * A folder or an address with the files of the distribution; null = the distribution's own address, and the
   * index.
   */
  readonly from: string | null;
  /** Of Python packages, with PyPI's simple interface (JSON). */
  readonly index: string;
  /** Of pyodide's distribution. */
  readonly distribution: string;
  /** SHA-256 of the index's wheels by file name; our own list if left out. */
  readonly digests?: Readonly<Record<string, string>>;
}

/** Rejects with code `PACKAGE`, which says what was looked for and where. */
export async function fetchWheel(
  one: LockedPackage,
  sources: WheelSources,
  signal: AbortSignal,
): Promise<Wheel> {
  const { from, distribution, digests = { ...indexWheels, ...furtherWheels } } = sources;
  if (from === null && !one.native) return fromIndex(one, { ...sources, digests }, signal);
  const place = from ?? distribution;
  const bytes = await fileOf(place, one.file, one, sources.exchange, signal).catch(
    async (error: unknown) => {
      if (!hasCode(error, 'PACKAGE')) throw error;
      const lock = await fileOf(place, 'pyodide-lock.json', one, sources.exchange, signal).catch(
        () => new Uint8Array(),
      );
      signal.throwIfAborted();
      const other = otherDistribution(new TextDecoder().decode(lock));
      throw other === null ? error : refused(one, `${place} has no ${one.file}: ${other}`);
    },
  );
  const digest = digestOf(bytes);
  if (digest !== one.sha256 && digest !== digests[one.file])
    throw wrongDigest(one, place, digest, one.sha256);
  return { bytes, from: place };
}

const simplePage = z.object({
  files: z.array(z.object({ filename: z.string(), url: z.string() })),
});

async function fromIndex(
  one: LockedPackage,
  { index, exchange, digests }: Required<Pick<WheelSources, 'index' | 'exchange' | 'digests'>>,
  signal: AbortSignal,
): Promise<Wheel> {
  const page = `${index.replace(/\/$/, '')}/${normalName(one.name)}/`;
  const text = new TextDecoder().decode(
    await download(page, one, exchange, signal, 'application/vnd.pypi.simple.v1+json'),
  );
  const listed = simplePage.safeParse(jsonIn(text));
  if (!listed.success)
    throw refused(one, `${page} is not a package index (the simple API in JSON)`);
  const file = listed.data.files.find(
    ({ filename }) => filename.endsWith('-none-any.whl') && isVersion(filename, one),
  );
  if (file === undefined)
    throw refused(one, `${page} has no pure-Python wheel of version ${one.version}`);
  const sha256 = digests[file.filename];
  if (sha256 === undefined)
    throw refused(
      one,
      `the digest of ${file.filename} is unknown, and an index cannot vouch for its own files; add it from the distribution (--from)`,
    );
  const url = new URL(file.url, page).href;
  const bytes = await download(url, one, exchange, signal);
  const digest = digestOf(bytes);
  if (digest !== sha256) throw wrongDigest(one, url, digest, sha256);
  return { bytes, from: url };
}

function isVersion(filename: string, { name, version }: LockedPackage): boolean {
  const [its, number] = filename.split('-');
  return normalName(its ?? '') === normalName(name) && number === version;
}

async function download(
  url: string,
  one: LockedPackage,
  exchange: Exchange,
  signal: AbortSignal,
  accept = '*/*',
): Promise<Uint8Array> {
  mustBeSafe(url, one);
  const reply = await exchange.ask({ url, headers: { accept } }, signal).catch((error: Error) => {
    signal.throwIfAborted();
    throw refused(one, `${url} cannot be downloaded: ${outsideText(error.message)}`);
  });
  if (!reply.ok) throw refused(one, `${url} answers ${reply.status}`);
  return reply.bytes;
}

/** A plain reply may be changed and read in transit. */
function mustBeSafe(address: string, one: LockedPackage): void {
  const { protocol, hostname } = new URL(address);
  if (protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname)) return;
  throw refused(one, `${address} is not an https:// URL`);
}

/** A file of a folder or an address. */
async function fileOf(
  place: string,
  name: string,
  one: LockedPackage,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (/^https?:\/\//.test(place))
    return download(`${place.replace(/\/$/, '')}/${name}`, one, exchange, signal);
  return readFile(join(place, name)).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error;
    throw refused(one, `there is no ${name} in ${place}`);
  });
}

function wrongDigest(
  one: LockedPackage,
  from: string,
  found: string,
  expected: string,
): MillraceError {
  return refused(one, `${one.file} from ${from} has digest ${found}, but ${expected} is expected`);
}

function refused({ name }: LockedPackage, what: string): MillraceError {
  return new MillraceError(
    'PACKAGE',
    `${name} was not added: ${what}. To add it from elsewhere, name a FOLDER or URL with the files of pyodide's distribution: --from`,
  );
}
