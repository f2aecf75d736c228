/**
 * The files of a run's folder for a fork of it: weights up to its step, the metrics of its records, and what else the job
 * has put there. Weights never change once they are written, so they are linked where the disk can, else copied.
 */
import { copyFile, cp, link, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeMetrics } from '../../sinks/files.ts';
import type { Log } from '../../streams/log.ts';
import type { Weights } from '../../streams/records.ts';
import { upTo } from '../../streams/replay/places.ts';
import { topics } from '../../streams/topics.ts';
import type { Version } from './steps.ts';

/** Made anew. */
const OURS = ['log', 'weights', 'run.json', 'report.html', 'metrics.jsonl', 'metrics.csv'];

export interface ForkFiles {
  readonly from: string;
  readonly to: string;
  /** Those up to the step. */
  readonly versions: readonly Version[];
  /** The log that is forked, and how many of its metrics are in the fork. */
  readonly log: Log;
  readonly metrics: number;
}

export async function forkFiles({ from, to, versions, log, metrics }: ForkFiles): Promise<void> {
  for (const { manifest, weights, optimiser } of versions) {
    if (weights) await share(from, to, manifest.file);
    if (optimiser && manifest.optimiser !== '') await share(from, to, manifest.optimiser);
  }
  const entries = await readdir(from);
  if (entries.includes('metrics.jsonl')) {
    await writeMetrics(to, upTo(log, topics.metrics, metrics));
  }
  for (const entry of entries) {
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
