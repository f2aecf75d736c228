/**
 * `--show-prompt`: a job's prompt for its policy, with `{question}` for the question, on stdout or in a file.
 * The job is built up to its prompt, in a temporary folder; nothing runs, and no policy server is contacted.
 */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { visibleLines } from '../base/text/index.ts';
import { type PromptRecord, QUESTION, recordedPrompt } from '../jobs/parts/index.ts';
import { exitCodes, usageError } from './failure.ts';
import type { Io } from './io.ts';
import { type Scratch, scratchBuild } from './scratchBuild.ts';

/** Whose prompt it is. */
export interface PromptOf extends Scratch {
  /** The folder of a run that has begun, with its recorded prompt. */
  readonly begun?: string;
}

/** `to` = a file, or true for stdout. */
export async function showPrompt(of: PromptOf, to: string | true, io: Io): Promise<number> {
  const noted = of.begun === undefined ? null : await recordedPrompt(of.begun);
  const record = noted ?? (await builtPrompt(of, io));
  const { prompt, dialect, system } = record;
  if (prompt === null) {
    const why =
      system === null ? 'the data has more than one system prompt' : 'it depends on the question';
    throw usageError(`there is no single prompt to show: ${why}`);
  }
  if (to === true) await io.out(`${visibleLines(prompt)}\n`);
  else await writeFile(resolve(io.cwd, to), prompt);
  const where = to === true ? '' : `wrote ${to}: `;
  io.err(
    `${where}the prompt of ${of.job.name} in dialect ${dialect}; ${QUESTION} stands for the question`,
  );
  return exitCodes.done;
}

/** Ends the building of a job. */
class Prompted extends Error {
  readonly record: PromptRecord;

  constructor(record: PromptRecord) {
    super('only the prompt was wanted');
    this.record = record;
  }
}

async function builtPrompt(of: PromptOf, io: Io): Promise<PromptRecord> {
  const prompted = (record: PromptRecord): never => {
    throw new Prompted(record);
  };
  try {
    await scratchBuild(of, { prompted }, io);
  } catch (error) {
    if (error instanceof Prompted) return error.record;
    throw error;
  }
  throw usageError(`job ${of.job.name} does not record its prompt`);
}
