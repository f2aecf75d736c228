/** Opens a run for the page: its log to read, its record as it is now, its tokenizer when it is asked for. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointsIn } from '../../model/checkpoints/checkpointsIn.ts';
import { loadTokenizer } from '../../model/hf/loadTokenizer.ts';
import type { Opened } from '../../page/server/http/hotRuns.ts';
import { RunView, type Viewed } from '../../page/server/run/runView.ts';
import type { WeightsTwin } from '../../page/wire/wire.ts';
import { checkpointsOf } from '../../sinks/weights.ts';
import type { Weights } from '../../topics/index.ts';
import type { Io } from '../io.ts';
import { readVerified } from '../replay/verified.ts';
import { readRunRecord } from '../runRecord.ts';
import { findRun, openRunLog, type Run } from '../runs.ts';
import { tokenizerFolders } from '../runTokenizer.ts';

/** Fails with code `NO_RUN`, or as the log does that cannot be opened. */
export async function openView(name: string, runs: string, io: Io): Promise<Opened> {
  const run = await findRun({ ...io, err: () => undefined }, runs, name);
  const log = await openRunLog(run, { mode: 'read', notice: () => undefined });
  const view = new RunView(viewedOf(run, log, io));
  return {
    view,
    async close() {
      view.stop();
      await log.close();
    },
  };
}

export function viewedOf(run: Run, log: Viewed['log'], io: Io): Viewed {
  let facts = run.record;
  let tokenizer: ReturnType<Viewed['tokenizer']> | undefined;
  return {
    name: run.name,
    log,
    place: run.record.log ?? 'folder',
    clock: io.clock,
    program: io.program,
    resume: `${io.program} run ${run.record.job.file} --run ${run.name}`,
    async facts() {
      // While it is written again it may not be readable for a moment.
      facts = (await readRunRecord(run.folder).catch(() => null)) ?? facts;
      return facts;
    },
    tokenizer() {
      tokenizer ??= tokenizerOf(run, io).catch(() => null);
      return tokenizer;
    },
    checkpoint: (manifest) => checkpointOf(run, manifest),
    verified: () => readVerified(run.folder),
  };
}

async function tokenizerOf(run: Run, io: Io): ReturnType<Viewed['tokenizer']> {
  const folders = await tokenizerFolders(run, io);
  const folder = folders.find((one) => existsSync(join(one, 'tokenizer.json')));
  return folder === undefined ? null : loadTokenizer(folder);
}

/** Larger files are not read for a page. */
const CHECKED_MAX = 256_000_000;

async function checkpointOf(run: Run, manifest: Weights): Promise<WeightsTwin['file']> {
  if (manifest.bytes > CHECKED_MAX) {
    return { kind: 'unchecked', why: 'too large to be checked here; millrace doctor does' };
  }
  const { weights } = checkpointsOf(manifest);
  const condition = await checkpointsIn(run.folder).condition(weights);
  switch (condition.kind) {
    case 'missing':
      return { kind: 'gone', why: 'not there: not kept, or lost' };
    case 'changed':
      return { kind: 'changed', why: condition.why };
    case 'unseen':
      return { kind: 'unchecked', why: 'lies elsewhere' };
    default:
      return { kind: 'intact', why: '' };
  }
}
