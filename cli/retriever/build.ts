/** `millrace retriever build`: a corpus into an index; prints what it skips and how long it will take. */

import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { halfOfThem } from '../../base/index.ts';
import { counted } from '../../base/text/index.ts';
import { corpusRows } from '../../jobs/tools/index.ts';
import { type EncoderSettings, openEncoder, type TextEncoder } from '../../model/encoder/index.ts';
import {
  type BuildProgress,
  buildIndex,
  qdrantPlace,
} from '../../operators/tools/retrieval/index.ts';
import { openRows } from '../../sources/index.ts';
import { duration, rate } from '../../summary/format/index.ts';
import { exitCodes } from '../failure.ts';
import { interruption } from '../interruption.ts';
import type { Io } from '../io.ts';
import { spinner } from '../progress/spinner.ts';
import { type FaissVectors, faissVectors } from './faissVectors.ts';
import { fillCollection } from './fill.ts';

export interface BuildCommandOptions {
  readonly corpus: string;
  readonly encoder: string;
  readonly to?: string;
  readonly pooling?: EncoderSettings['pooling'];
  readonly queryPrefix?: string;
  readonly passagePrefix?: string;
  /** False for `--no-normalise`. */
  readonly normalise: boolean;
  readonly tokens?: number;
  readonly threads?: number;
  readonly exact: number;
  readonly graph: number;
  /** File of a flat index of FAISS with the corpus' vectors. */
  readonly faiss?: string;
}

/** Limit of skipped rows that are named; further ones are only counted. */
const NAMED_MAX = 10;

export async function buildCommand(options: BuildCommandOptions, io: Io): Promise<number> {
  const corpus = resolve(io.cwd, options.corpus);
  const collection = options.to === undefined ? null : qdrantPlace(options.to);
  const to =
    collection === null
      ? resolve(io.cwd, options.to ?? `${basename(corpus).replace(/\.[^.]*(\.gz)?$/, '')}.index`)
      : options.to!;
  const encoderFolder = resolve(io.cwd, options.encoder);
  const opened = await openRows(corpus, 'corpus', () => null);
  await opened.rows.return(undefined);
  const { size, mtimeMs } = await stat(corpus);
  const threads = options.threads ?? halfOfThem();
  const { signal, release } = interruption(
    io,
    'stopping after this batch; press Ctrl-C again to stop at once. Repeat the command to resume',
  );
  const status = spinner(io);
  let encoder: TextEncoder | null = null;
  let given: FaissVectors | null = null;
  try {
    status.start(`opening ${options.encoder}`);
    encoder = await openEncoder(encoderFolder, { ...settingsOf(options), threads });
    if (options.faiss !== undefined)
      given = await faissVectors(resolve(io.cwd, options.faiss), encoder);
    status.stop();
    io.err(about(options.encoder, encoder));
    status.start();
    let refused = 0;
    const onRefused = (place: number, reason: string): void => {
      refused++;
      if (refused > NAMED_MAX) return;
      status.clear();
      io.err(`${options.corpus}:${place}: skipped: ${reason}`);
    };
    const onProgress = progressIn(status, io);
    if (collection !== null) {
      const rows = corpusRows(corpus);
      const filled = await fillCollection(
        { collection, rows, encoder, signal, onRefused, onProgress },
        io,
      );
      status.stop();
      await io.out(filled);
      return exitCodes.done;
    }
    const built = await buildIndex({
      rows: () => corpusRows(corpus),
      corpus: { path: corpus, bytes: size, mtimeMs },
      ...{ encoder, encoderFolder, to, threads, signal },
      ...{ exactMax: options.exact, graphMax: options.graph },
      ...{ onProgress, onRefused },
      ...(given === null ? {} : { vectors: given }),
    });
    status.stop();
    if (built.refused > 0)
      io.err(`skipped ${built.refused} ${opened.counted}${built.refused === 1 ? '' : 's'} in all`);
    const searched = built.graphs === 0 ? 'exact search' : 'graph search';
    await io.out(`indexed ${counted(built.passages, 'passage')} in ${to} (${searched})\n`);
    io.err(`serve them with: ${io.program} retriever serve ${options.to ?? basename(to)}`);
    return exitCodes.done;
  } catch (error) {
    if (!signal.aborted) throw error;
    io.err(`stopped; repeat the command to resume ${to}`);
    return exitCodes.interrupted;
  } finally {
    status.stop();
    await given?.close();
    await encoder?.close();
    release();
  }
}

function settingsOf(options: BuildCommandOptions): Partial<EncoderSettings> {
  const { pooling, queryPrefix, passagePrefix, tokens: tokensMax } = options;
  const given = { pooling, queryPrefix, passagePrefix, tokensMax };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(set), normalised: options.normalise };
}

function about(name: string, { dimensions, settings }: TextEncoder): string {
  const { pooling, queryPrefix, passagePrefix, tokensMax } = settings;
  const before = `${JSON.stringify(queryPrefix)} before queries, ${JSON.stringify(passagePrefix)} before passages`;
  return `${name}: ${dimensions} dimensions, ${pooling} pooling, at most ${tokensMax} tokens; ${before}`;
}

/** The spinner's text, with the time left. */
function progressIn(status: { text: string }, { clock }: Io): (progress: BuildProgress) => void {
  let stage: BuildProgress['stage'] | null = null;
  let startMs = 0;
  return (progress) => {
    const { done, before, total } = progress;
    if (progress.stage !== stage) startMs = clock.now();
    stage = progress.stage;
    const seconds = (clock.now() - startMs) / 1000;
    const perSecond = (done - before) / seconds;
    const what = { reading: 'reading', encoding: 'encoding', graphs: 'building graphs' }[stage];
    const of =
      total === null ? counted(done, 'passage') : `${done} of ${counted(total, 'passage')}`;
    const left =
      total === null || !(perSecond > 0)
        ? ''
        : ` (${rate(perSecond)}/s, ${duration((total - done) / perSecond)} left)`;
    status.text = `${what}: ${of}${left}`;
  };
}
