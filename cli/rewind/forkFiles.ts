/**
 * The files of a run's folder for a fork of it: weights up to its step, metrics up to its records, and what else the job
 * has put there. Weights never change once they are written, so they are linked where the disk can, else copied.
 */
import { copyFile, cp, link, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Weights } from '../../streams/records.ts';
import type { Version } from './steps.ts';

/** Made anew, or copied record by record. */
const OURS = ['log', 'weights', 'run.json', 'report.html', 'metrics.jsonl', 'metrics.csv'];

export interface ForkFiles {
  readonly from: string;
  readonly to: string;
  /** Those up to the step. */
  readonly versions: readonly Version[];
  /** Records in the fork's topic `metrics`. */
  readonly metrics: number;
}

export async function forkFiles({ from, to, versions, metrics }: ForkFiles): Promise<void> {
  for (const { manifest, weights, optimiser } of versions) {
    if (weights) await share(from, to, manifest.file);
    if (optimiser && manifest.optimiser !== '') await share(from, to, manifest.optimiser);
  }
  await keepLines(from, to, 'metrics.jsonl', (line) => offsetOf(line) < metrics);
  await keepLines(
    from,
    to,
    'metrics.csv',
    (line, i) => i === 0 || Number.parseInt(line, 10) < metrics,
  );
  for (const entry of await readdir(from)) {
    if (OURS.includes(entry) || entry.endsWith('.new') || entry.endsWith('.tmp')) continue;
    await cp(join(from, entry), join(to, entry), { recursive: true });
  }
}

/** A policy that lies elsewhere (a Hugging Face folder) stays where it is. */
async function share(from: string, to: string, file: Weights['file']): Promise<void> {
  if (file.startsWith('..')) return;
  const [source, target] = [join(from, file), join(to, file)];
  await mkdir(dirname(target), { recursive: true });
  await link(source, target).catch(() => copyFile(source, target));
}

function offsetOf(line: string): number {
  return (JSON.parse(line) as { readonly offset: number }).offset;
}

async function keepLines(
  from: string,
  to: string,
  name: string,
  keep: (line: string, index: number) => boolean,
): Promise<void> {
  const text = await readFile(join(from, name), 'utf8').catch(() => '');
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  const kept = lines.filter(keep);
  if (kept.length > 0) await writeFile(join(to, name), `${kept.join('\n')}\n`);
}
