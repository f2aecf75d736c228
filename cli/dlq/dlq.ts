/**
 * `millrace dlq ls|show|retry`: what could not be read or processed, why and where it came from, and how to
 * put back what can be put back. `ls` and `show` read, even while the run is running; `retry` writes, so no
 * job may be running.
 */

import { jsonText, table } from '../../base/terminal/index.ts';
import { visible } from '../../base/text/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { asTyped, tell } from '../programName.ts';
import { writeRunRecord } from '../runRecord.ts';
import { findRun, openRunLog, type Run, withLog } from '../runs.ts';
import { mustBeIdle } from '../startGuard.ts';
import { type Letter, lettersIn } from './letters.ts';
import { type Retried, retry } from './retry.ts';

export interface DlqOptions {
  readonly run?: string;
  readonly runs: string;
  readonly json?: boolean;
  /** Numbers of letters; empty = all. */
  readonly numbers: readonly number[];
}

/** Limit of characters per cell of the list. */
const CELL_MAX = 60;

export async function dlqList(options: DlqOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  const letters = await withLog(run, lettersIn);
  if (options.json === true) {
    for (const letter of letters) await io.out(`${jsonText(letter)}\n`);
    return exitCodes.done;
  }
  if (letters.length === 0) {
    await io.out(`run ${run.name} has no dead letters\n`);
    return exitCodes.done;
  }
  const rows = letters.map(({ number, letter, retried }) => [
    String(number),
    `${letter.origin}:${letter.place}`,
    cut(letter.key),
    cut(`${letter.field} ${letter.reason}`.trim()),
    retried ? 'put back' : '',
  ]);
  const head = ['number', 'from', 'key', 'reason', ''];
  await tell(io, `${table([head, ...rows], ['right'])}\n`);
  return exitCodes.done;
}

export async function dlqShow(options: DlqOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  const letters = await withLog(run, lettersIn);
  for (const one of chosen(letters, options.numbers)) {
    await io.out(options.json === true ? `${jsonText(one)}\n` : shown(one, io));
  }
  return exitCodes.done;
}

/** Exit code 1 if a requested letter could not be put back. */
export async function dlqRetry(options: DlqOptions, io: Io): Promise<number> {
  const run = await findRun(io, options.runs, options.run);
  await mustBeIdle(run);
  const notice = (line: string): void => io.err(line);
  const log = await openRunLog(run, { mode: 'write', clock: io.clock, notice });
  let outcomes: readonly Retried[];
  try {
    outcomes = await retry(log, chosen(await lettersIn(log), options.numbers));
  } finally {
    await log.close();
  }
  for (const { number, put, why } of outcomes) {
    await tell(io, `${number}  ${put ? 'put back' : `not put back: ${visible(why)}`}\n`);
  }
  const put = outcomes.filter((outcome) => outcome.put).length;
  if (put > 0) await goesOn(run, put, io);
  const failed = options.numbers.length > 0 && put < outcomes.length;
  return failed ? exitCodes.failed : exitCodes.done;
}

/** A run that was done has work again. */
async function goesOn(run: Run, put: number, io: Io): Promise<void> {
  if (run.record.status === 'done') {
    await writeRunRecord(run.folder, { ...run.record, status: 'stopped' });
  }
  io.err(`${put} put back; resume with: millrace run ${run.record.job.file} --run ${run.name}`);
}

function chosen(letters: readonly Letter[], numbers: readonly number[]): readonly Letter[] {
  const missing = numbers.find((number) => !letters.some((letter) => letter.number === number));
  if (missing !== undefined) {
    throw usageError(`no dead letter ${missing}; list all ${letters.length} with: millrace dlq ls`);
  }
  return numbers.length === 0 ? letters : letters.filter(({ number }) => numbers.includes(number));
}

function shown({ number, atMs, letter, retried }: Letter, io: Io): string {
  const lines = [
    `dead letter ${number}${retried ? ' (put back)' : ''}`,
    `  from     ${letter.origin}:${letter.place}`,
    `  key      ${letter.key}`,
    `  reason   ${asTyped(`${letter.field} ${letter.reason}`.trim(), io)}`,
    `  at       ${new Date(atMs).toISOString()}`,
    `  payload  ${letter.payload}`,
  ];
  return `${lines.map(visible).join('\n')}\n`;
}

function cut(text: string): string {
  const plain = visible(text);
  return plain.length > CELL_MAX ? `${plain.slice(0, CELL_MAX - 1)}…` : plain;
}
