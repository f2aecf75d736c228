/**
 * Weights on a model server's machine, as a publisher sends them: files by their digests, and each version a
 * folder of links to them, which the server loads.
 *
 * Guarantees: a version's folder is there whole or not at all, each of its files with the digest that was
 * announced; what is half there survives a kill and is resumed; nothing is written outside the folder; the
 * newest versions stay, and with them only the files that they need.
 */
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import {
  chmod,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Refusal } from '../../base/http/index.ts';
import { type Clock, makeFolder, messageOf, systemCode, writingTo } from '../../base/index.ts';
import { isLabel, type OfferedFiles, type OfferReply, offer } from '../../model/remote/index.ts';
import { size } from '../../summary/format/index.ts';

export interface StoreOptions {
  /** Absolute. */
  readonly folder: string;
  /** The same path as the model server sees it. */
  readonly seenAs: string;
  /** How many of the newest versions to keep. */
  readonly keep: number;
  readonly clock: Clock;
  /** Prints a line for the user. */
  readonly say: (line: string) => void;
}

/** A piece of a file. */
export interface Piece {
  readonly sha256: string;
  readonly from: number;
  /** Of the whole file. */
  readonly bytes: number;
}

/** Limit of incomplete versions; the files of others are removed with the oldest version. */
const OFFERS_MAX = 8;
/** In `files`: partial files. */
const PART = '.part';

export class WeightsStore {
  readonly #options: StoreOptions;
  /** Whole versions, the newest last. */
  readonly #versions: string[] = [];
  /** Announced but incomplete ones, the newest last. */
  readonly #offers = new Map<string, OfferedFiles>();
  /** Digests of files being written. */
  readonly #writing = new Set<string>();
  /** Versions are made one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(options: StoreOptions) {
    this.#options = options;
  }

  /** Rejects with `FOLDER` if it cannot be written to. */
  static async open(options: StoreOptions): Promise<WeightsStore> {
    const store = new WeightsStore(options);
    for (const name of ['files', 'records']) await makeFolder(store.#inside(name));
    await store.#find();
    return store;
  }

  get versions(): readonly string[] {
    return this.#versions;
  }

  /** Where a version is, or what is missing of it. */
  offered(label: string, files: OfferedFiles): Promise<OfferReply> {
    const reply = this.#last.then(() => this.#offered(label, files));
    this.#last = reply.catch(() => undefined);
    return reply;
  }

  /** Returns how many bytes of the file are there now. Takes as much of the body as arrives. */
  async take({ sha256, from, bytes }: Piece, body: AsyncIterable<Uint8Array>): Promise<number> {
    if (this.#writing.has(sha256)) {
      throw new Refusal(503, 'this file is being sent already', { retrySeconds: 1 });
    }
    this.#writing.add(sha256);
    try {
      return await this.#take({ sha256, from, bytes }, body);
    } catch (error) {
      throw systemCode(error) === null ? error : new Refusal(507, messageOf(error));
    } finally {
      this.#writing.delete(sha256);
    }
  }

  #inside(...names: readonly string[]): string {
    return join(this.#options.folder, '.millrace', ...names);
  }

  #file(sha256: string): string {
    return this.#inside('files', sha256);
  }

  /** What earlier processes have received. */
  async #find(): Promise<void> {
    const { folder } = this.#options;
    const found: { readonly label: string; readonly atMs: number }[] = [];
    for (const label of await readdir(folder)) {
      if (!isLabel(label)) continue;
      const record = await stat(this.#inside('records', label)).catch(() => null);
      // Without a record it is not from here.
      if (record !== null) found.push({ label, atMs: record.mtimeMs });
    }
    found.sort((a, b) => a.atMs - b.atMs);
    this.#versions.push(...found.map(({ label }) => label));
  }

  async #offered(label: string, files: OfferedFiles): Promise<OfferReply> {
    if (!isLabel(label))
      throw new Refusal(400, `${label.slice(0, 100)} is not the name of a version`);
    const path = `${this.#options.seenAs.replace(/\/+$/, '')}/${label}`;
    if (await this.#isWhole(label, files)) {
      await this.#newest(label);
      return { path };
    }
    const missing = await this.#missing(files);
    if (missing.size > 0) {
      await this.#mustHaveRoom(label, files, missing);
      this.#offers.delete(label);
      this.#offers.set(label, files);
      const [oldest] = this.#offers.keys();
      if (this.#offers.size > OFFERS_MAX) this.#offers.delete(oldest!);
      return { missing: Object.fromEntries(missing) };
    }
    await writingTo(this.#options.folder, () => this.#make(label, files)).catch((error) => {
      throw systemCode(error) === null ? error : new Refusal(507, messageOf(error));
    });
    this.#offers.delete(label);
    const total = Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0);
    this.#options.say(`received ${label}, ${size(total)}`);
    await this.#forget();
    return { path };
  }

  /** Bytes already there of each incomplete file. */
  async #missing(files: OfferedFiles): Promise<Map<string, number>> {
    const missing = new Map<string, number>();
    for (const { sha256, bytes } of Object.values(files)) {
      if ((await sizeOf(this.#file(sha256))) === bytes) continue;
      const part = (await sizeOf(this.#file(sha256) + PART)) ?? 0;
      missing.set(sha256, part > bytes ? 0 : part);
    }
    return missing;
  }

  async #mustHaveRoom(
    label: string,
    files: OfferedFiles,
    missing: ReadonlyMap<string, number>,
  ): Promise<void> {
    const { folder, keep } = this.#options;
    const needed = new Map(Object.values(files).map(({ sha256, bytes }) => [sha256, bytes]));
    const bytes = [...missing].reduce(
      (sum, [sha256, there]) => sum + needed.get(sha256)! - there,
      0,
    );
    const { bavail, bsize } = await statfs(folder);
    if (bytes <= bavail * bsize) return;
    throw new Refusal(
      507,
      `${label} needs ${size(bytes)} more on the disk of ${folder}, where ${size(bavail * bsize)} are free: free some space, or keep fewer versions (--keep, now ${keep})`,
    );
  }

  async #take({ sha256, from, bytes }: Piece, body: AsyncIterable<Uint8Array>): Promise<number> {
    const path = this.#file(sha256);
    if ((await sizeOf(path)) === bytes) return bytes;
    const part = path + PART;
    const { O_WRONLY, O_CREAT, O_NOFOLLOW = 0 } = constants;
    const handle = await writingTo(part, () => open(part, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o644));
    let { size: at } = await handle.stat();
    try {
      if (at > bytes) {
        await handle.truncate(0);
        at = 0;
      }
      // The sender asks where to continue.
      if (at !== from) return at;
      for await (const chunk of body) {
        if (at + chunk.length > bytes) {
          throw new Refusal(400, `the file has more than the ${bytes} bytes that were announced`);
        }
        await writingTo(part, () => wholly(handle, chunk, at));
        at += chunk.length;
      }
      if (at < bytes) return at;
      await writingTo(part, () => handle.sync());
    } finally {
      await handle.close();
    }
    const found = await digestOf(part);
    if (found !== sha256) {
      await rm(part, { force: true });
      throw new Refusal(
        422,
        `a file arrived with digest ${found} instead of ${sha256} and was removed: it changed while it was sent`,
      );
    }
    await rename(part, path);
    return bytes;
  }

  /** All its files are there. */
  async #make(label: string, files: OfferedFiles): Promise<void> {
    const place = join(this.#options.folder, label);
    const beside = this.#inside('making');
    await rm(beside, { recursive: true, force: true });
    await mkdir(beside, { recursive: true });
    for (const [name, { sha256 }] of Object.entries(files)) {
      const path = join(beside, name);
      await mkdir(dirname(path), { recursive: true });
      // A disk without links has copies.
      await link(this.#file(sha256), path).catch(() => copyFile(this.#file(sha256), path));
      // The model server may be another user.
      await chmod(path, 0o644);
      await chmod(dirname(path), 0o755);
    }
    await chmod(beside, 0o755);
    // One with this name but other files, or from a killed process.
    await rm(place, { recursive: true, force: true });
    await rename(beside, place);
    await this.#newest(label, files);
  }

  async #isWhole(label: string, files: OfferedFiles): Promise<boolean> {
    if (!this.#versions.includes(label)) return false;
    const known = await this.#record(label);
    if (known === null || !sameFiles(known, files)) return false;
    for (const [name, { bytes }] of Object.entries(files)) {
      if ((await sizeOf(join(this.#options.folder, label, name))) !== bytes) return false;
    }
    return true;
  }

  async #record(label: string): Promise<OfferedFiles | null> {
    try {
      const text = await readFile(this.#inside('records', label), 'utf8');
      return offer.parse(JSON.parse(text)).files;
    } catch {
      return null;
    }
  }

  /** Marks this version as the most recently requested. */
  async #newest(label: string, files?: OfferedFiles): Promise<void> {
    const record = this.#inside('records', label);
    if (files !== undefined) await writeFile(record, JSON.stringify({ files }));
    const at = new Date(this.#options.clock.now());
    await utimes(record, at, at);
    const place = this.#versions.indexOf(label);
    if (place >= 0) this.#versions.splice(place, 1);
    this.#versions.push(label);
  }

  /** Removes the oldest versions, and files that none needs. */
  async #forget(): Promise<void> {
    const { folder, keep } = this.#options;
    while (this.#versions.length > keep) {
      const label = this.#versions.shift()!;
      await rm(this.#inside('records', label), { force: true });
      await rm(join(folder, label), { recursive: true, force: true });
    }
    const records = await Promise.all(this.#versions.map((label) => this.#record(label)));
    const needed = new Set(
      [...records, ...this.#offers.values()].flatMap((files) =>
        Object.values(files ?? {}).map(({ sha256 }) => sha256),
      ),
    );
    for (const name of await readdir(this.#inside('files'))) {
      const sha256 = name.slice(0, 64);
      if (!needed.has(sha256) && !this.#writing.has(sha256)) {
        await rm(this.#inside('files', name), { force: true });
      }
    }
  }
}

function sameFiles(one: OfferedFiles, other: OfferedFiles): boolean {
  const text = (files: OfferedFiles) =>
    JSON.stringify(
      Object.entries(files)
        .map(([name, { sha256 }]) => [name, sha256])
        .sort(),
    );
  return text(one) === text(other);
}

async function wholly(
  handle: Awaited<ReturnType<typeof open>>,
  chunk: Uint8Array,
  at: number,
): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    const { bytesWritten } = await handle.write(chunk, done, chunk.length - done, at + done);
    done += bytesWritten;
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

async function sizeOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ size: bytes }) => bytes,
    () => null,
  );
}
