/**
 * `millrace export RUN.scored --schema inspect`: logs of Inspect, one for each phase and round whose groups
 * are scored: `<run>.<phase>-<round>.eval`. Samples are written as they are read; of each only its scores are
 * held.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { about } from '../../base/index.ts';
import { jsonText } from '../../base/terminal/index.ts';
import { counted } from '../../base/text/index.ts';
import type { Position } from '../../streams/index.ts';
import { askedIn, type Rollout, topics } from '../../topics/index.ts';
import { usageError } from '../failure.ts';
import { inScratch } from '../scratch.ts';
import { version } from '../version.ts';
import {
  factsOf,
  headerOf,
  type InspectOf,
  type SampleFacts,
  sampleFile,
  sampleOf,
} from './inspect.ts';
import { positions } from './positions.ts';
import { type SessionRecords, sessionRecords } from './sessionRecords.ts';
import type { Place } from './verl.ts';

/** Only for the topic `scored`; fails with `USAGE` for others. */
export async function exportInspect(names: readonly string[], place: Place): Promise<void> {
  const { run, log, out, scratch, io } = place;
  if (names.length !== 1 || names[0] !== 'scored')
    throw usageError(`--schema inspect is for scored groups: ${run.name}.scored`);
  const rounds = await positions(log, topics.scored, ({ question }) => askedIn(question));
  if (rounds.size === 0) throw usageError(`${run.name} has no scored groups yet; export it later`);
  const recordsOf = await sessionRecords(log);
  for (const [asked, groups] of rounds) {
    const path = join(out, `${run.name}.${asked}.eval`);
    const of = { run: run.name, job: run.record.job.name, version, asked };
    const samples = await inScratch(scratch, `${path}.tmp`, async () => {
      try {
        const written = await writeLog(`${path}.tmp`, groups, recordsOf, of, place);
        await rename(`${path}.tmp`, path);
        return written;
      } catch (error) {
        throw about(path, error);
      }
    });
    await io.out(`${relative(io.cwd, path) || path}: ${counted(samples, 'sample')}\n`);
  }
}

async function writeLog(
  path: string,
  groups: readonly Position[],
  recordsOf: (rollout: Rollout) => Promise<SessionRecords>,
  of: InspectOf,
  { log }: Place,
): Promise<number> {
  const file = await zipFile(path);
  const facts: SampleFacts[] = [];
  try {
    for (const at of groups) {
      const [group] = await log.fetch(topics.scored, [at]);
      const { rewards, rollouts } = group!.value;
      for (const [i, place] of rollouts.entries()) {
        const [stored] = await log.fetch(topics.rollouts, [place]);
        const rollout = stored!.value;
        const records = await recordsOf(rollout);
        const fact = factsOf(rollout, rewards[i]!);
        facts.push(fact);
        file.add(sampleFile(fact), sampleOf(rollout, records, rewards[i]!, of));
      }
    }
    file.add('header.json', headerOf(facts, of));
    file.finish();
  } finally {
    file.close();
  }
  return facts.length;
}

/** fflate writes no ZIP64, so nobody could read a larger archive. */
const BYTES_MAX = 2 ** 32 - 1;
const FILES_MAX = 65_535;

async function zipFile(path: string) {
  const { Zip, ZipDeflate } = await import('fflate');
  const handle = openSync(path, 'w');
  let bytes = 0;
  let files = 0;
  let failure: unknown = null;
  const zip = new Zip((error, chunk) => {
    if (error !== null) failure = error;
    else bytes += writeSync(handle, chunk);
  });
  return {
    add(name: string, content: unknown): void {
      files += 1;
      const entry = new ZipDeflate(name);
      zip.add(entry);
      entry.push(Buffer.from(jsonText(content)), true);
      if (failure !== null) throw failure;
      if (bytes > BYTES_MAX || files > FILES_MAX)
        throw usageError('an Inspect log holds at most 4 GiB and 65,535 samples');
    },
    finish: (): void => zip.end(),
    close: (): void => closeSync(handle),
  };
}
