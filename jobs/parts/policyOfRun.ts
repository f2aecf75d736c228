/**
 * The policy that a run of a ready job trained: its newest weights, or those of a version, with the tokenizer
 * that it began with.
 */
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';
import { checkpointsIn, localPath, mustBeWhole } from '../../model/checkpoints/index.ts';
import { checkpointsOf } from '../../sinks/weights/index.ts';
import { type AnyLogOptions, openAnyLog, recordsOf } from '../../streams/index.ts';
import { allTopics, topics, type Weights } from '../../topics/index.ts';
import { notedTokenizer } from '../inputs.ts';

/** The relevant part of a run's record. */
const runFile = z.looseObject({
  settings: z.looseObject({ policy: z.string().min(1).optional() }),
  log: z.string().optional(),
  cluster: z.string().optional(),
});

/**
 * Weights of a run, and the policy that it began from, as named in its settings; or the folder of its
 * tokenizer.
 */
export interface PolicyOfRun {
  /** Absolute. */
  readonly weights: string;
  readonly began: string;
  /** The folder of its tokenizer is recorded, but not the policy that it belongs to. */
  readonly noted: boolean;
}

/**
 * `folder` is the run's. Fails with code `POLICY` if there are no such weights, `DIGEST` if they were
 * changed.
 */
export async function policyOfRun(folder: string, version: string | null): Promise<PolicyOfRun> {
  const found = runFile.safeParse(JSON.parse(await readFile(join(folder, 'run.json'), 'utf8')));
  if (!found.success)
    throw noWeights(`${folder}/run.json does not describe a run; check it with millrace doctor`);
  const { settings, log = join(folder, 'log'), cluster = '' } = found.data;
  // A job of your own may have its first policy elsewhere; its tokenizer is noted anyway.
  const began = settings.policy ?? (await notedTokenizer(folder));
  if (began === null) {
    throw noWeights(
      `the run ${folder} does not say where its tokenizer is (no setting policy, no inputs.json); give its weights file instead`,
    );
  }
  const store = checkpointsIn(folder);
  let newest: Weights | null = null;
  for (const manifest of await manifestsOf({ at: log, run: basename(folder), cluster })) {
    const isWanted = version === null || version === String(manifest.version);
    if (isWanted && (await store.exists(checkpointsOf(manifest).weights))) newest = manifest;
  }
  if (newest === null) {
    throw noWeights(
      `the run ${folder} has no weights${version === null ? ' yet' : ` of version ${version}; it keeps the newest and the ends of its rounds`}`,
    );
  }
  const { weights } = checkpointsOf(newest);
  const run = basename(folder);
  const advice = `choose another version (${run}@N); millrace doctor ${run} says which are intact`;
  await mustBeWhole(store, weights, { run, advice });
  return {
    weights: localPath(store.resolve(weights)),
    began,
    noted: settings.policy === undefined,
  };
}

async function manifestsOf(
  place: Pick<AnyLogOptions, 'at' | 'run' | 'cluster'>,
): Promise<readonly Weights[]> {
  const log = await openAnyLog({
    ...{ topics: allTopics, ...place },
    ...{ mode: 'read', env: process.env, fromFile: true },
  });
  try {
    const all: Weights[] = [];
    const from = { kind: 'earliest' } as const;
    for await (const { value } of recordsOf(log, topics.weights, { from })) all.push(value);
    return all;
  } finally {
    await log.close();
  }
}

function noWeights(message: string): MillraceError<'POLICY'> {
  return new MillraceError('POLICY', message);
}
