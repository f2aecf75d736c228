/**
 * What is in the folder of an index, and whether it is whole.
 *
 * `retriever.json` is written last, so a folder that has it was built to the end. It names every other file
 * with its size and SHA-256. The graphs are checked to the last byte whenever they are opened: they are
 * mapped into memory, and a damaged one could crash the process. Of the others the size is checked, and the
 * digest on request.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { retrieverError } from './retrieverError.ts';

/** The file that makes a folder an index. */
export const MANIFEST = 'retriever.json';
/** One passage a line, and where each line ends. */
export const PASSAGES = 'passages.jsonl';
export const OFFSETS = 'passages.offsets';
/** The vectors of the passages, float32, row by row. */
export const VECTORS = 'vectors.f32';
const VERSION = 1;

const count = z.number().int().nonnegative();

const settings = z.object({
  pooling: z.enum(['mean', 'cls']),
  queryPrefix: z.string(),
  passagePrefix: z.string(),
  normalised: z.boolean(),
  tokensMax: count,
});

const shape = z.object({
  version: z.literal(VERSION),
  passages: count.min(1),
  dimensions: count.min(1),
  /** The encoder of the vectors. */
  encoder: z.object({ folder: z.string(), digest: z.string(), settings }),
  /** Stretches of passages with a graph each; none if all are compared with every query. */
  graphs: z.array(z.object({ file: z.string(), from: count, passages: count.min(1) })),
  files: z.record(z.string(), z.object({ bytes: count, sha256: z.string() })),
});

export type Manifest = z.infer<typeof shape>;

const AGAIN = 'copy the folder again, or build it again with `millrace retriever build`';

/** The manifest of a folder. Fails with code `RETRIEVER` if there is none, or if it has another version. */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST);
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw retrieverError(
      `${folder} is not a finished index: it has no ${MANIFEST}. Build it, or finish building it, ` +
        `with \`millrace retriever build CORPUS.jsonl --encoder FOLDER --to ${folder}\``,
      path,
      cause,
    );
  });
  const json = jsonIn(text);
  const version = (json as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version !== VERSION)
    throw retrieverError(
      `${path} has version ${version}, but this Millrace reads version ${VERSION}: build the index again, or use the Millrace that built it`,
      path,
    );
  const manifest = shape.safeParse(json);
  if (manifest.success) return manifest.data;
  const [issue] = manifest.error.issues as [z.core.$ZodIssue];
  const field = issue.path.join('.');
  throw retrieverError(`${path} is damaged (${field || 'not JSON'}): ${AGAIN}`, path);
}

/** Makes the folder an index with these files. */
export async function writeManifest(
  folder: string,
  index: Omit<Manifest, 'version' | 'files'>,
): Promise<void> {
  const names = [PASSAGES, OFFSETS, VECTORS, ...index.graphs.map(({ file }) => file)];
  const files: Manifest['files'] = {};
  for (const name of names) {
    const path = join(folder, name);
    files[name] = { bytes: (await stat(path)).size, sha256: await digestOf(path) };
  }
  const manifest: Manifest = { version: VERSION, ...index, files };
  await replaceFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Fails with code `RETRIEVER` at the first file that has changed; `all` = every digest is computed. */
export async function checkFiles(folder: string, manifest: Manifest, all = false): Promise<void> {
  const graphs = new Set(manifest.graphs.map(({ file }) => file));
  for (const [name, { bytes, sha256 }] of Object.entries(manifest.files)) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found === null) throw retrieverError(`${path} is missing: ${AGAIN}`, path);
    if (found.size !== bytes)
      throw retrieverError(`${path} has ${found.size} bytes instead of ${bytes}: ${AGAIN}`, path);
    if ((all || graphs.has(name)) && (await digestOf(path)) !== sha256)
      throw retrieverError(
        `${path} was changed after it was written (its SHA-256 does not match): ${AGAIN}`,
        path,
      );
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(piece);
  return hash.digest('hex');
}
