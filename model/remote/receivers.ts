/**
 * Weights to machines without a shared disk: a version's folder is sent to the weights receiver on a server's
 * machine (`millrace weights receive`), which names the folder that the server loads.
 *
 * Guarantees: only files that the receiver lacks are sent, from the byte where an earlier try ended; a few
 * receivers at the same time, a piece of a file at a time each; a receiver that does not answer is waited for
 * as a server is.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { MillraceError, Semaphore } from '../../base/index.ts';
import { type OfferedFiles, offerReply, pieceReply } from './receiverWire.ts';
import { type AskOptions, type PoolOptions, type PoolResult, ServerPool } from './serverPool.ts';

/**
 * Brings a folder to the machine of the server at this place; resolves with its path there, or with why it
 * could not.
 */
export type Carry = (
  folder: string,
  server: number,
  options?: AskOptions,
) => Promise<PoolResult<string>>;

export interface ReceiversOptions extends Omit<PoolOptions, 'urls'> {
  /** Addresses of the receivers. */
  readonly receivers: readonly string[];
  /** Addresses of the model servers. */
  readonly servers: readonly string[];
}

/** Receivers that are sent to at once. */
const AT_ONCE = 4;
/** Of a file, in one request. */
const PIECE_BYTES = 16 * 1024 * 1024;
/** Replies in a row without progress before giving up. */
const STUCK_MAX = 3;

const WORDS = {
  one: 'a weights receiver',
  silent: 'no weights receiver has answered',
  after: 'the version is not published',
  others: 'its server gets no new weights until it does',
};

export class Receivers {
  readonly #pool: ServerPool;
  /** The receiver of each server. */
  readonly #of: readonly number[];
  readonly #places = new Semaphore(AT_ONCE);
  readonly #closing = new AbortController();
  /** Transfers under way, which servers on one machine share. */
  readonly #sending = new Map<string, Promise<PoolResult<string>>>();
  /** Of the last folder. */
  #known: { readonly folder: string; readonly files: Promise<OfferedFiles> } | null = null;

  /** Fails with code `USAGE` if a server has no receiver. */
  constructor({ receivers, servers, ...options }: ReceiversOptions) {
    this.#of = receiverOf(servers, receivers);
    this.#pool = new ServerPool({ ...options, urls: receivers, words: WORDS });
  }

  /** Waits for all of them. Fails with code `WEIGHTS_REFUSED` or, for a wrong token, `MODEL_ACCESS`. */
  async ready(): Promise<void> {
    await Promise.all(
      this.#pool.urls.map(async (url, receiver) => {
        const reply = await this.#pool.askServer(receiver, '/healthz', undefined, {
          patient: true,
        });
        if (reply.kind === 'answer') return;
        throw new MillraceError(
          'WEIGHTS_REFUSED',
          `the weights receiver ${url} does not answer (${reply.reason}): start it with millrace weights receive, or correct engine.receivers`,
        );
      }),
    );
  }

  readonly carry: Carry = (folder, server, options = {}) => {
    const receiver = this.#of[server]!;
    const key = `${receiver} ${options.patient === true} ${folder}`;
    const under = this.#sending.get(key);
    if (under !== undefined) return under;
    const sent = this.#send(folder, receiver, options).finally(() => this.#sending.delete(key));
    this.#sending.set(key, sent);
    return sent;
  };

  /** Requests under way reject. */
  async close(): Promise<void> {
    this.#closing.abort(new MillraceError('MODEL_CLOSED', 'the engine was closed'));
    await this.#pool.close();
  }

  async #send(folder: string, receiver: number, options: AskOptions): Promise<PoolResult<string>> {
    const files = await this.#files(folder);
    const path = `/versions/${basename(folder)}`;
    const read = (body: unknown) => offerReply.parse(body);
    let before = Number.POSITIVE_INFINITY;
    for (let stuck = 0; ; ) {
      // Waits here for an unavailable receiver, without holding a place.
      const reply = await this.#pool.askServer(receiver, path, { files }, { ...options, read });
      if (reply.kind !== 'answer') return this.#failed(reply, receiver);
      const said = reply.value as ReturnType<typeof read>;
      if ('path' in said) return { ...reply, value: said.path };
      const missing = Object.entries(files).filter(([, { sha256 }]) => sha256 in said.missing);
      const left = missing.reduce(
        (sum, [, { sha256, bytes }]) => sum + bytes - said.missing[sha256]!,
        0,
      );
      stuck = left < before ? 0 : stuck + 1;
      if (stuck > STUCK_MAX) return this.#stuck(receiver, Object.keys(said.missing));
      before = left;
      const { signal } = this.#closing;
      const failed = await this.#places.run(async () => {
        for (const [name, file] of missing) {
          const from = said.missing[file.sha256]!;
          const failure = await this.#sendFile(join(folder, name), { ...file, from }, receiver);
          if (failure !== null) return failure;
        }
        return null;
      }, signal);
      const isWaitedFor = failed?.kind === 'down' && failed.away && options.patient === true;
      if (failed !== null && !isWaitedFor) return failed;
    }
  }

  /** Null if nothing is missing. */
  async #sendFile(
    path: string,
    {
      sha256,
      bytes,
      from,
    }: { readonly sha256: string; readonly bytes: number; readonly from: number },
    receiver: number,
  ): Promise<PoolResult<string> | null> {
    const handle = await open(path, 'r');
    try {
      let at = from;
      let stuck = 0;
      do {
        const piece = Buffer.alloc(Math.min(PIECE_BYTES, bytes - at));
        await handle.read(piece, 0, piece.length, at);
        const to = `/files/${sha256}?from=${at}&bytes=${bytes}`;
        const read = (body: unknown) => pieceReply.parse(body).bytes;
        const reply = await this.#pool.askServer(receiver, to, piece, { read });
        if (reply.kind !== 'answer') return this.#failed(reply, receiver);
        const there = reply.value as number;
        stuck = there > at ? 0 : stuck + 1;
        if (stuck > STUCK_MAX || there > bytes) return this.#stuck(receiver, [basename(path)]);
        at = there;
      } while (at < bytes);
      return null;
    } finally {
      await handle.close();
    }
  }

  #failed(
    reply: Exclude<PoolResult<unknown>, { readonly kind: 'answer' }>,
    receiver: number,
  ): PoolResult<string> {
    return {
      ...reply,
      reason: `its weights receiver ${this.#pool.urls[receiver]}: ${reply.reason}`,
    };
  }

  #stuck(receiver: number, files: readonly string[]): PoolResult<string> {
    const reason = `it does not store what it is sent (${files.slice(0, 3).join(', ')}); see its terminal`;
    return this.#failed({ kind: 'refused', reason }, receiver);
  }

  #files(folder: string): Promise<OfferedFiles> {
    if (this.#known?.folder !== folder) {
      const files = filesIn(folder);
      this.#known = { folder, files };
      files.catch(() => {
        this.#known = null;
      });
    }
    return this.#known.files;
  }
}

async function filesIn(folder: string): Promise<OfferedFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: [string, OfferedFiles[string]][] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const hash = createHash('sha256');
    await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
    const name = relative(folder, path).split(sep).join('/');
    found.push([name, { sha256: hash.digest('hex'), bytes: (await stat(path)).size }]);
  }
  return Object.fromEntries(found);
}

/**
 * If there are as many as servers: in their order; otherwise the one on a server's own machine, or the only
 * one.
 */
function receiverOf(servers: readonly string[], receivers: readonly string[]): readonly number[] {
  if (receivers.length === servers.length) return servers.map((_, i) => i);
  const hosts = receivers.map((url) => new URL(url).hostname);
  return servers.map((url) => {
    const { hostname } = new URL(url);
    const found = receivers.length === 1 ? 0 : hosts.indexOf(hostname);
    if (found >= 0) return found;
    throw new MillraceError(
      'USAGE',
      `engine.receivers has no receiver on ${hostname}, the host of ${url}: give one receiver per server, in the order of engine.urls, or one per machine`,
    );
  });
}
