/**
 * A packed run: a gzipped tar archive of one folder, with a `pack.json` that lists every other file with its
 * size and digest. Unpacking refuses files that are not listed there or differ from it.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';
import { jsonIn } from '../../base/text/index.ts';

export const MANIFEST = 'pack.json';

const manifest = z.object({
  format: z.literal(1),
  run: z.string(),
  millrace: z.string(),
  packedMs: z.number(),
  /** By path within the run's folder, with slashes. */
  files: z.record(z.string(), z.object({ bytes: z.number(), sha256: z.string() })),
});
export type Manifest = z.infer<typeof manifest>;

/** Files below a folder, by their paths within it. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .sort();
}

export async function digestsIn(folder: string): Promise<Manifest['files']> {
  const files: Manifest['files'] = {};
  for (const path of await filesIn(folder)) {
    if (path === MANIFEST) continue;
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(folder, path)), hash);
    const { size } = await stat(join(folder, path));
    files[path] = { bytes: size, sha256: hash.digest('hex') };
  }
  return files;
}

/** Fails with code `PACK` if the files, by their sizes, are not those of the manifest. */
export function mustBeStated(
  archive: string,
  text: string,
  sizes: Readonly<Record<string, number>>,
): void {
  const { files } = parsed(archive, text);
  for (const [path, bytes] of Object.entries(sizes)) {
    if (files[path] === undefined) throw refused(archive, `${path} was added after packing`);
    if (files[path].bytes !== bytes) throw refused(archive, `${path} was changed after packing`);
  }
}

function parsed(archive: string, text: string): Manifest {
  const found = manifest.safeParse(jsonIn(text));
  if (found.success) return found.data;
  throw refused(archive, `it is not a packed run (no ${MANIFEST})`);
}

/** Fails with code `PACK` if a file is not as it was packed. */
export async function checkedManifest(folder: string, archive: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch(() => 'null');
  const stated = parsed(archive, text);
  const there = await digestsIn(folder);
  for (const path of new Set([...Object.keys(stated.files), ...Object.keys(there)])) {
    const [packed, found] = [stated.files[path], there[path]];
    if (found === undefined) throw refused(archive, `${path} is missing from it`);
    if (packed === undefined) throw refused(archive, `${path} was added after packing`);
    if (packed.sha256 !== found.sha256) throw refused(archive, `${path} was changed after packing`);
  }
  return stated;
}

export function refused(archive: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError('PACK', `cannot unpack ${archive}: ${why}; get a new copy`, {
    context: { archive },
    ...(cause === undefined ? {} : { cause }),
  });
}
