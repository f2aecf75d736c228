/**
 * The folder of runs for the page's server: each with its current record, its log to read, and its tokenizer
 * on request.
 */
import { resolve } from 'node:path';
import { checkpointsIn } from '../../model/checkpoints/index.ts';
import type { Host, KnownRun, Opened } from '../../page/server/http/index.ts';
import { RunView, type Viewed } from '../../page/server/run/index.ts';
import type { WeightsData } from '../../page/wire/index.ts';
import { checkpointsOf } from '../../sinks/weights/index.ts';
import type { Log } from '../../streams/index.ts';
import type { Weights } from '../../topics/index.ts';
import type { Io } from '../io.ts';
import { asTyped } from '../programName.ts';
import { readVerified } from '../replay/verified.ts';
import { readRunRecord } from '../runRecord.ts';
import {
  findRun,
  freeRunName,
  listRuns,
  openRunLog,
  type Run,
  unreadableRuns,
  withLog,
} from '../runs.ts';
import { runTokenizer } from '../runTokenizer.ts';
import { version } from '../version.ts';
import { keptRecords } from './keptRecords.ts';
import { ownCommand } from './ownCommand.ts';

export function hostOf(runs: string, io: Io): Host {
  const folder = resolve(io.cwd, runs);
  const read = keptRecords();
  return {
    typed: (text) => asTyped(text, io),
    version,
    clock: io.clock,
    folder,
    say: (line) => io.err(line),
    runs: async () => (await listRuns(folder, read)).map((run) => knownRun(run, io)),
    unreadable: () => unreadableRuns(folder, read),
    open: (name) => open(name, runs, io),
    commands: {
      admission: (kind, run) => admission(kind, { run, runs }, io),
      mustExist: async (run) => void (await findRun(io, runs, run)),
      freeName: (stem) => freeRunName(folder, stem),
      replay: (run, options, env) =>
        ownCommand(['replay', run, '--runs', folder, ...options], { cwd: io.cwd, env }),
    },
  };
}

/** Like `millrace pause|resume`, with the same message. */
async function admission(
  kind: 'pause' | 'resume',
  options: { readonly run: string; readonly runs: string },
  io: Io,
): Promise<string> {
  let said = '';
  const out = async (text: string | Uint8Array): Promise<void> => {
    said += String(text);
  };
  const { pauseCommand } = await import('../control/control.ts');
  await pauseCommand(kind, options, { ...io, out });
  return said.trim();
}

function knownRun(run: Run, io: Io): KnownRun {
  return {
    ...namesOf(run, io),
    facts: run.record,
    withLog: (use, openMs) => withLog({ ...run, openMs }, use, { notice: () => undefined }),
  };
}

function namesOf(
  { name, record }: Run,
  io: Io,
): Pick<Viewed, 'name' | 'place' | 'resume' | 'typed'> {
  return {
    name,
    place: record.log ?? 'folder',
    resume: `millrace run ${record.job.file} --run ${name}`,
    typed: (text) => asTyped(text, io),
  };
}

async function open(name: string, runs: string, io: Io): Promise<Opened> {
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

/** A run over its open log for as long as `use` takes, with everything in it. */
export async function withView<T>(
  run: Run,
  log: Log,
  io: Io,
  use: (view: RunView) => Promise<T>,
  given: Pick<Viewed, 'achieved'> = {},
): Promise<T> {
  const view = new RunView({ ...viewedOf(run, log, io), ...given });
  try {
    await view.ready();
    return await use(view);
  } finally {
    view.stop();
  }
}

function viewedOf(run: Run, log: Viewed['log'], io: Io): Viewed {
  let facts = run.record;
  return {
    ...namesOf(run, io),
    log,
    clock: io.clock,
    async facts() {
      // While it is being rewritten, it may be unreadable for a moment.
      facts = (await readRunRecord(run.folder).catch(() => null)) ?? facts;
      return facts;
    },
    tokenizer: runTokenizer(run, io),
    checkpoint: (manifest) => checkpointOf(run, manifest),
    verified: () => readVerified(run.folder),
  };
}

/** Larger files are not read for a page. */
const CHECKED_MAX = 256_000_000;

async function checkpointOf(run: Run, manifest: Weights): Promise<WeightsData['file']> {
  if (manifest.bytes > CHECKED_MAX) {
    return { kind: 'unchecked', why: 'too large to check here; use millrace doctor' };
  }
  const { weights } = checkpointsOf(manifest);
  const condition = await checkpointsIn(run.folder).condition(weights);
  switch (condition.kind) {
    case 'missing':
      return { kind: 'gone', why: 'deleted or lost' };
    case 'changed':
      return { kind: 'changed', why: condition.why };
    case 'unseen':
      return { kind: 'unchecked', why: 'stored elsewhere' };
    default:
      return { kind: 'intact', why: '' };
  }
}
