/**
 * `--check`: whether a job can start. Checks everything that a start checks, then tries policy, engine and
 * trainer together on one question: what the engine samples must be equally probable to the trainer. Nothing
 * is trained or kept.
 */
import { statfs } from 'node:fs/promises';
import { MillraceError } from '../base/index.ts';
import { counted } from '../base/text/index.ts';
import type { OpenedLoop } from '../jobs/index.ts';
import { size } from '../summary/format/index.ts';
import { exitCodes } from './failure.ts';
import type { Io } from './io.ts';
import { type Scratch, scratchBuild } from './scratchBuild.ts';

/** Tokens sampled for the comparison. */
const TOKENS = 32;
/** Mean difference (nats per token) that no number format explains. */
const MEAN_MAX = 0.1;

/** Rejects with the code of what is wrong: `WEIGHTS_WRONG` if engine and trainer disagree. */
export async function checkStart(of: Scratch, io: Io): Promise<number> {
  const lines: [string, string][] = [['job', of.job.name]];
  const opened = async (loop: OpenedLoop): Promise<void> => {
    lines.push(...(await tried(loop, of.seed, io)));
  };
  await scratchBuild(of, { opened }, io);
  lines.push(['disk', await freeDisk(of.runs)]);
  const width = Math.max(...lines.map(([name]) => name.length));
  for (const [name, text] of lines) await io.out(`${name.padEnd(width)}  ${text}\n`);
  io.err('ready: nothing was trained or kept');
  return exitCodes.done;
}

async function tried(
  { engine, trainer, dialect, base, questions, first, question }: OpenedLoop,
  seed: number,
  io: Io,
): Promise<[string, string][]> {
  const { tokenizer } = dialect;
  const prompt = dialect.prompt(question);
  await engine.load(first);
  const startedMs = io.clock.now();
  const { tokens, logProbs } = await engine.generate({
    ...{ tokens: prompt, maxTokens: Math.min(TOKENS, engine.contextMax - prompt.length) },
    stopTokens: tokenizer.endTokens ?? [tokenizer.endToken],
    ...{ temperature: 1, draws: [seed, 'check'], topLogProbs: 0 },
  });
  const seconds = (io.clock.now() - startedMs) / 1000;
  const whole = Int32Array.from([...prompt, ...tokens]);
  const [scored] = await trainer.score([whole]);
  if (tokens.length === 0) {
    throw new MillraceError('MODEL_REPLY', 'the engine sampled nothing on the first question');
  }
  const gaps = [...logProbs].map((value, i) =>
    Math.abs(value - scored!.logProbs[prompt.length + i]!),
  );
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const most = Math.max(...gaps);
  // written so that NaN counts as wrong too
  if (!(mean <= MEAN_MAX)) {
    throw new MillraceError(
      'WEIGHTS_WRONG',
      `engine and trainer disagree by ${mean.toPrecision(2)} nats a token (at most ${most.toPrecision(2)}) on what the engine sampled: they have different weights or tokenizers. Check which policy each was started with`,
      { context: { mean, most } },
    );
  }
  const { train, heldOut } = questions;
  const asked = Number.isFinite(train) ? counted(train, 'question') : 'an endless source';
  return [
    ['policy', base],
    ['prompt', `${counted(prompt.length, 'token')}, dialect ${dialect.name} (--show-prompt)`],
    ['questions', `${asked} to train on, ${heldOut} held out`],
    ['engine', `${counted(tokens.length, 'token')} in ${seconds.toFixed(1)} s`],
    [
      'trainer',
      `agrees with the engine within ${most.toPrecision(2)} nats a token (mean ${mean.toPrecision(2)})`,
    ],
  ];
}

async function freeDisk(runs: string): Promise<string> {
  const found = await statfs(runs).catch(() => statfs('.'));
  return `${size(found.bavail * found.bsize)} free for ${runs}`;
}
