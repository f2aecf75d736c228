/**
 * `millrace cache ls|import|export|prune`: the tool results that all runs share (docs/tools.md).
 *
 * They never touch a run: a replay answers from the run's own records.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { replaceFile } from '../../base/index.ts';
import { jsonText, table } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import {
  type CacheEntry,
  type CacheKind,
  defaultCachePath,
  exportReleased,
  importReleased,
  openToolCache,
  type ToolCache,
} from '../../operators/tools/cache/index.ts';
import { size } from '../../summary/format/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';

/** The cache file; left out = the user's. */
export interface CacheOptions {
  readonly cache?: string;
}

/** What a search's results are exported as: the papers' numbers. */
const RELEASED = { top: 10, charactersMax: 1000 };
const DAY_MS = 86_400_000;
/** Limit of characters of a scope in the list. */
const SCOPE_MAX = 60;
const DELETED_AT_ONCE = 1000;

/** One line of the list. */
interface Kept {
  readonly kind: CacheKind;
  readonly scope: string;
  readonly entries: number;
  readonly bytes: number;
  readonly oldestMs: number;
  readonly newestMs: number;
}

export async function cacheList(
  options: CacheOptions & { readonly json?: boolean },
  io: Io,
): Promise<number> {
  const path = pathOf(options, io);
  const kept = existsSync(path) ? await withCache(path, io, async (cache) => keptIn(cache)) : [];
  if (options.json === true) {
    await io.out(`${jsonText({ path, kept })}\n`);
    return exitCodes.done;
  }
  if (kept.length === 0) {
    await io.out(`${path} is empty\n`);
    return exitCodes.done;
  }
  const rows = kept.map(({ kind, scope, entries, bytes, oldestMs, newestMs }) => [
    ...[kind, String(entries), size(bytes), dayOf(oldestMs), dayOf(newestMs)],
    scope.length > SCOPE_MAX ? `${scope.slice(0, SCOPE_MAX - 1)}…` : scope,
  ]);
  const head = ['kind', 'entries', 'size', 'oldest', 'newest', 'of'];
  await io.out(`${path}\n${table([head, ...rows], ['left', 'right', 'right'])}\n`);
  return exitCodes.done;
}

export async function cacheImport(
  options: CacheOptions & { readonly file: string },
  io: Io,
): Promise<number> {
  const { file } = options;
  const text = await readFile(resolve(io.cwd, file), 'utf8').catch((error: unknown) => {
    throw usageError(`cannot read ${file} (${(error as NodeJS.ErrnoException).code})`);
  });
  const path = pathOf(options, io);
  const { queries, same } = await withCache(path, io, (cache) => importReleased(text, cache, file));
  const doubles = same === 0 ? '' : `; skipped ${same} that differ only in case or punctuation`;
  io.err(`imported ${counted(queries, 'result')} into ${path}${doubles}`);
  return exitCodes.done;
}

export async function cacheExport(
  options: CacheOptions & { readonly file?: string },
  io: Io,
): Promise<number> {
  const text = await withCache(mustBeThere(options, io), io, async (cache) =>
    exportReleased(cache, RELEASED),
  );
  if (options.file === undefined) await io.out(text);
  else await replaceFile(resolve(io.cwd, options.file), text);
  return exitCodes.done;
}

/** An entry is deleted if it meets every given condition. */
export interface PruneOptions extends CacheOptions {
  readonly kind?: CacheKind;
  /** Days. */
  readonly olderThan?: number;
  readonly all?: boolean;
}

export async function cachePrune(options: PruneOptions, io: Io): Promise<number> {
  const { kind, olderThan, all = false } = options;
  if (kind === undefined && olderThan === undefined && !all) {
    throw usageError('choose what to delete: --older-than DAYS, --kind KIND, both, or --all');
  }
  const before = io.clock.now() - (olderThan ?? 0) * DAY_MS;
  const goes = (entry: CacheEntry): boolean =>
    (kind === undefined || entry.kind === kind) && (olderThan === undefined || entry.atMs < before);
  const gone = await withCache(mustBeThere(options, io), io, async (cache) => {
    let count = 0;
    for (let some = first(cache, goes); some.length > 0; some = first(cache, goes)) {
      await Promise.all(some.map((entry) => cache.remove(entry)));
      count += some.length;
    }
    return count;
  });
  io.err(
    `deleted ${gone} ${gone === 1 ? 'entry' : 'entries'}; the file keeps its size and reuses the space`,
  );
  return exitCodes.done;
}

function first(cache: ToolCache, goes: (entry: CacheEntry) => boolean): CacheEntry[] {
  const found: CacheEntry[] = [];
  for (const entry of cache.entries()) {
    if (goes(entry)) found.push(entry);
    if (found.length >= DELETED_AT_ONCE) break;
  }
  return found;
}

function keptIn(cache: ToolCache): Kept[] {
  const groups = new Map<string, Kept>();
  for (const { kind, scope, key, value, atMs } of cache.entries()) {
    const id = JSON.stringify([kind, scope]);
    const before = groups.get(id) ?? {
      kind,
      scope,
      entries: 0,
      bytes: 0,
      oldestMs: atMs,
      newestMs: atMs,
    };
    groups.set(id, {
      ...before,
      entries: before.entries + 1,
      bytes: before.bytes + Buffer.byteLength(key) + Buffer.byteLength(value),
      oldestMs: Math.min(atMs, before.oldestMs),
      newestMs: Math.max(atMs, before.newestMs),
    });
  }
  const inOrder = (a: Kept, b: Kept): number =>
    a.kind === b.kind ? (a.scope < b.scope ? -1 : 1) : a.kind < b.kind ? -1 : 1;
  return [...groups.values()].sort(inOrder);
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function pathOf({ cache }: CacheOptions, io: Io): string {
  return cache === undefined ? defaultCachePath() : resolve(io.cwd, cache);
}

function mustBeThere(options: CacheOptions, io: Io): string {
  const path = pathOf(options, io);
  if (!existsSync(path)) throw usageError(`no cache at ${path}; name another with --cache FILE`);
  return path;
}

async function withCache<T>(
  path: string,
  { clock }: Io,
  act: (cache: ToolCache) => Promise<T>,
): Promise<T> {
  const cache = openToolCache({ path, clock });
  try {
    return await act(cache);
  } finally {
    await cache.close();
  }
}
