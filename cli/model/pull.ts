/**
 * `millrace model pull`: a model from the Hugging Face Hub into its cache or a folder. What it does goes to
 * stderr; stdout has the folder alone, for `policy=$(millrace model pull …)`.
 */
import { resolve } from 'node:path';
import { sleepClock } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { modelName, type PullPlan, pullModel } from '../../model/hub/index.ts';
import { duration, size } from '../../summary/format/index.ts';
import { exitCodes, usageError } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { isDrawn, spinner } from '../progress/spinner.ts';

export interface PullCommandOptions {
  readonly name: string;
  readonly folder?: string;
}

/** For a download without a terminal: a line at each tenth. */
const LINES = 10;

export async function pullCommand(options: PullCommandOptions, io: Io): Promise<number> {
  const name = modelName(options.name);
  if (name === null) {
    throw usageError(
      `${options.name} is not a model's name: write OWNER/NAME or OWNER/NAME@REVISION, as in Qwen/Qwen2.5-0.5B-Instruct`,
    );
  }
  const folder = options.folder === undefined ? null : resolve(io.cwd, options.folder);
  const { signal, release } = interruption(io, null);
  const status = spinner(io);
  const say = (line: string): void => {
    status.clear();
    io.err(line);
  };
  let progress: ((bytes: number) => void) | null = null;
  try {
    status.start(`asking for ${options.name}`);
    const at = await pullModel({
      ...{ name, folder, env: process.env, clock: sleepClock(io.clock), signal, say },
      onPlan(plan) {
        say(planText(options.name, plan));
        progress = progressOf(plan, status, io);
      },
      onBytes: (bytes) => progress?.(bytes),
    });
    status.stop();
    await io.out(`${at}\n`);
    return exitCodes.done;
  } catch (error) {
    if (!signal.aborted) throw error;
    status.stop();
    io.err('stopped; repeat the command to resume');
    return exitCodes.interrupted;
  } finally {
    status.stop();
    release();
  }
}

function planText(name: string, plan: PullPlan): string {
  const { commit, files, bytes, bytesHere, bytesFree, place } = plan;
  const what = `${name} (commit ${commit.slice(0, 12)}): ${counted(files, 'file')}, ${size(bytes)}`;
  if (bytes === bytesHere) return `${what}; all of it is here`;
  const here = bytesHere === 0 ? '' : `, ${size(bytesHere)} of it here`;
  return `${what}${here}; ${size(bytesFree)} free in ${place}`;
}

/** Shows the progress: in the status on a terminal, otherwise in a few lines. */
function progressOf(
  { bytes, bytesHere }: PullPlan,
  status: { text: string },
  io: Io,
): (more: number) => void {
  const { clock } = io;
  const startMs = clock.now();
  let done = bytesHere;
  let line = Math.floor((LINES * done) / bytes);
  return (more) => {
    done += more;
    const perSecond = (done - bytesHere) / ((clock.now() - startMs) / 1000);
    const isKnown = Number.isFinite(perSecond) && perSecond > 0;
    const left = isKnown
      ? `, ${size(perSecond)}/s, ${duration((bytes - done) / perSecond)} left`
      : '';
    const text = `${size(done)} of ${size(bytes)}${done < bytes ? left : ''}`;
    status.text = text;
    const tenth = Math.floor((LINES * done) / bytes);
    if (!isDrawn(io) && tenth > line) io.err(text);
    line = tenth;
  };
}
