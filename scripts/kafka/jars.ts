/**
 * The jars of a real Apache Kafka broker, downloaded once from Maven Central into a cache folder.
 *
 * `jars.json` names each file with its SHA-256; a file enters the cache only if its digest matches.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';

/** Path in a Maven repository to SHA-256. */
const jars: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('./jars.json', import.meta.url), 'utf8'),
);

const DOWNLOADS_MAX = 6;
const ATTEMPTS_MAX = 4;

/** The broker's version, from the name of its jar. */
export const kafkaVersion =
  /kafka_2\.13-(.+)\.jar$/.exec(
    Object.keys(jars).find((path) => path.includes('/kafka_2.13/'))!,
  )?.[1] ?? '';

function cacheFolder(): string {
  const base =
    process.env.MILLRACE_CACHE ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'millrace');
  return join(base, `kafka-${kafkaVersion}`);
}

function repository(): string {
  return (process.env.MILLRACE_MAVEN ?? 'https://repo1.maven.org/maven2').replace(/\/$/, '');
}

/**
 * The folder with all jars, and `more` (paths to SHA-256); downloads those that are missing and reports it
 * through `tell`.
 */
export async function kafkaJars(
  tell: (line: string) => void,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = cacheFolder();
  await mkdir(folder, { recursive: true });
  const missing = Object.entries({ ...jars, ...more }).filter(
    ([path]) => !existsSync(join(folder, basename(path))),
  );
  if (missing.length > 0) {
    tell(`downloading ${missing.length} jars of Kafka ${kafkaVersion} from ${repository()}`);
  }
  const queue = [...missing];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      await download(next[0], next[1], folder);
    }
  };
  await Promise.all(Array.from({ length: DOWNLOADS_MAX }, worker));
  return folder;
}

async function download(path: string, sha256: string, folder: string): Promise<void> {
  const url = `${repository()}/${path}`;
  const bytes = await fetched(url, 1);
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (digest !== sha256) throw new Error(`${url} has digest ${digest}, not ${sha256}; discarded`);
  const place = join(folder, basename(path));
  await writeFile(`${place}.${process.pid}`, bytes);
  await rename(`${place}.${process.pid}`, place);
}

async function fetched(url: string, attempt: number): Promise<Buffer> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(120_000) });
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    if (attempt >= ATTEMPTS_MAX) throw new Error(`cannot download ${url}`, { cause: error });
    await new Promise((done) => setTimeout(done, 500 * 2 ** attempt));
    return fetched(url, attempt + 1);
  }
}
