/**
 * Tool results from outside, kept on disk for all runs: results of searches, pages, summaries,
 * outputs of pure tools.
 *
 * An entry is identified by its kind, its scope (whatever else decides its content: provider, region, model)
 * and its key. Queries are compared in their normal form (`searchCacheKey`), everything else as it is. A
 * replay never looks here: it answers from the run's own record.
 */

import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Clock, withoutSecrets } from '../../../base/index.ts';
import { openCheckedFile } from '../../../base/lmdb/index.ts';
import { searchCacheKey } from '../search/searchTool.ts';

/**
 * What is cached: results of providers, finished result texts (the form that the papers release), pages,
 * summaries, descriptions of images, outputs of pure tools.
 */
export const cacheKinds = ['search', 'result', 'page', 'summary', 'vision', 'tool'] as const;
/** One of `cacheKinds`. */
export type CacheKind = (typeof cacheKinds)[number];

/** The address of an entry. */
export interface CachePlace {
  readonly kind: CacheKind;
  /** What else decides its content; '' = nothing. */
  readonly scope: string;
  /** As it was asked. */
  readonly key: string;
}

/** One entry. */
export interface CacheEntry extends CachePlace {
  readonly value: string;
  /** When it was cached: milliseconds since 1970. */
  readonly atMs: number;
}

/** Entries by place. */
export interface ToolCache {
  /** Undefined if there is no entry, or none young enough. */
  get(place: CachePlace): string | undefined;
  /** Resolves once it is on disk; it replaces any entry with the same address. */
  put(place: CachePlace, value: string): Promise<void>;
  remove(place: CachePlace): Promise<void>;
  entries(): Iterable<CacheEntry>;
  close(): Promise<void>;
}

/** Where the cache is, and how long an entry is valid. */
export interface ToolCacheOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Older entries are not found; 0 = all are valid (default). */
  readonly daysMax?: number;
}

/** The cache that all runs of a user share. */
export function defaultCachePath(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'millrace', 'tools.mdb');
}

const DAY_MS = 86_400_000;

/** Opens or creates the cache. Fails with code `DAMAGED` if its file was cut short or changed. */
export function openToolCache({ path, clock, daysMax = 0 }: ToolCacheOptions): ToolCache {
  const file = openCheckedFile(path, 'an entry');
  const read = (id: string): CacheEntry | undefined => {
    const text = file.get(id);
    return text === undefined ? undefined : (JSON.parse(text) as CacheEntry);
  };
  return {
    get(place) {
      const entry = read(idOf(place));
      if (entry === undefined) return undefined;
      const old = daysMax > 0 && entry.atMs < clock.now() - daysMax * DAY_MS;
      return old ? undefined : entry.value;
    },
    put({ kind, scope, key }, value) {
      // All runs of a user share it, and `cache export` prints it.
      const clean = withoutSecrets(value);
      const entry: CacheEntry = { kind, scope, key, value: clean, atMs: clock.now() };
      return file.put(idOf(entry), JSON.stringify(entry));
    },
    remove: (place) => file.remove(idOf(place)),
    *entries() {
      for (const id of file.keys()) {
        const entry = read(id);
        if (entry !== undefined) yield entry;
      }
    },
    close: () => file.close(),
  };
}

/** The kind first, so that entries of a kind are next to each other. */
function idOf({ kind, scope, key }: CachePlace): string {
  const normal = kind === 'search' || kind === 'result' ? searchCacheKey(key) : key;
  const digest = createHash('sha256')
    .update(JSON.stringify([scope, normal]))
    .digest('hex');
  return `${kind}/${digest}`;
}
