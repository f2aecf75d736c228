/**
 * Our training service on this machine's GPU, driven by our client over HTTP, beside a bare PyTorch loop
 * (loop.py) over the same sequences in the same micro-batches; and the share of the card's peak that it
 * reaches.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { sleepClock } from '../../base/sleepClock.ts';
import { TinkerTrainer } from '../../model/tinker/trainer.ts';
import { freePort } from '../../scripts/kafka/broker.ts';
import { type AnyRow, rates } from '../model/bench.ts';
import { interpreter } from '../model/python.ts';
import { LOSSES, trainSequences } from '../model/sequences.ts';
import { forwardFlops, SHAPES, type ShapeName } from '../model/shapes.ts';
import { median, pause, timeMs } from '../table.ts';
import { checkpoint } from './checkpoint.ts';

/** What is trained: sequences of `length` tokens, `micro` of them at once. */
interface Case {
  readonly shape: ShapeName;
  /** Of the adapter; 0 = all weights. */
  readonly rank: number;
  readonly sequences: number;
  readonly length: number;
  readonly micro: number;
  /** Layers are computed twice instead of kept. */
  readonly recompute: boolean;
}

/** A case by its name. The largest, with all of its weights, needs all of a card's memory. */
function caseOf(name: string, quick: boolean): Case {
  const [shape, adapter] = name.split('-') as [ShapeName, string?];
  const rank = adapter === undefined ? 0 : RANK;
  const large = shape === '7616M' && rank === 0;
  const size = quick ? { sequences: 4, length: 64 } : { sequences: 64, length: 2048 };
  return { shape, rank, ...size, micro: large ? 2 : 4, recompute: large };
}

/** What can be asked for: a shape with all of its weights, or with an adapter. */
export const LARGE = ['494M', '494M-lora', '1544M', '1544M-lora', '7616M', '7616M-lora'] as const;
/** The small one is to see that it runs. */
export const CASES = ['4M', '4M-lora', ...LARGE] as const;

export interface TrainerOptions {
  readonly device: string;
  /** For checkpoints. */
  readonly folder: string;
  /** Steps that count; odd. */
  readonly turns: number;
  /** Dense bfloat16 operations a second of the card; null = not known. */
  readonly peak: number | null;
  /** To see that it runs. */
  readonly quick: boolean;
  readonly tell: (line: string) => void;
  readonly add: (...rows: AnyRow[]) => void;
}

const PEAK_GOAL = 0.35;
const LOOP_GOAL = 0.95;
const LR = 1e-6;
const RANK = 32;
const NAME = 'policy';
const env = { ...process.env, PYTHONPATH: 'trainer', HF_HUB_OFFLINE: '1', PYTHONUNBUFFERED: '1' };

/** What all cases have in common. */
type Setting = TrainerOptions & { readonly python: string };
type Failed = { readonly reason: string };
/** Seconds of a step, and the first one's loss. */
type Measured = { readonly seconds: number; readonly loss: number };
type Loop = { readonly seconds: number[]; readonly bytes: number; readonly loss: number };

export async function trainerRows(
  names: readonly string[],
  options: TrainerOptions,
): Promise<void> {
  const python = interpreter(['torch', 'transformers', 'peft', 'aiohttp']);
  for (const name of names) {
    const one = caseOf(name, options.quick);
    if ('reason' in python) {
      options.add({ ...named(one), reason: python.reason });
      continue;
    }
    await rowsOf(one, { python: python.path, ...options });
  }
}

function named({ shape, rank, sequences, length, recompute }: Case) {
  const kind = rank === 0 ? 'all weights' : `LoRA of rank ${rank}`;
  const how = recompute ? ', layers recomputed' : '';
  return {
    what: `trainer/, ${shape}, ${kind}, ${sequences}x${length}${how}`,
    against: 'a bare PyTorch loop',
  };
}

async function rowsOf(one: Case, setting: Setting): Promise<void> {
  const { tell, add, peak } = setting;
  const names = named(one);
  tell(`${names.what}: first the loop …`);
  const made = checkpoint(one.shape, setting);
  const loop = 'reason' in made ? made : looped(one, made.path, setting);
  tell(`${names.what}: the service …`);
  const ours = 'reason' in made ? made : await served(one, made.path, setting);
  if ('reason' in ours) return add({ ...names, reason: ours.reason });
  add('reason' in loop ? { ...names, reason: loop.reason } : besideLoop(names, one, ours, loop));
  if (peak !== null) add(ofPeak(names.what, one, ours, peak));
}

function besideLoop(
  { what, against }: ReturnType<typeof named>,
  { sequences, length }: Case,
  ours: Measured,
  loop: Loop,
): AnyRow {
  const tokens = sequences * length;
  const differ = Math.abs(ours.loss - loop.loss) > 5e-3;
  const note = [
    `the loop's memory ${(loop.bytes / 2 ** 30).toFixed(1)} GiB`,
    ...(differ ? [`LOSSES DIFFER: ${ours.loss} and ${loop.loss}`] : []),
  ].join(', ');
  const both = { ours: tokens / ours.seconds, theirs: tokens / median(loop.seconds) };
  return rates(what, against, both, { unit: 'tokens/s', goal: LOOP_GOAL, note });
}

function ofPeak(what: string, one: Case, ours: Measured, peak: number): AnyRow {
  const tokens = one.sequences * one.length;
  const flops = (tokenFlops(one) * tokens) / ours.seconds;
  return {
    ...{ what, against: 'peak of the card in bfloat16', unit: 'TFLOP/s' },
    ...{ ratio: flops / peak, goal: one.shape === '7616M' ? PEAK_GOAL : null },
    ...{ ours: flops / 1e12, theirs: peak / 1e12 },
    note: `${Math.round(tokens / ours.seconds)} tokens/s`,
  };
}

/** Operations of a trained token, attention over what is before it; an adapter's base has no gradients. */
function tokenFlops({ shape, rank, length }: Case): number {
  const config = SHAPES[shape];
  const weights = forwardFlops(config, 0);
  const attention = forwardFlops(config, length / 2) - weights;
  return (rank === 0 ? 3 : 2) * weights + 3 * attention;
}

async function served(
  one: Case,
  path: string,
  { python, device, folder, turns }: Setting,
): Promise<Measured | Failed> {
  const port = await freePort();
  const child = spawn(
    python,
    [
      ...['-m', 'millrace_trainer', '--model', path, '--name', NAME, '--device', device],
      ...['--port', String(port), '--checkpoints', join(folder, 'checkpoints')],
      ...['--micro-batch-tokens', String(one.micro * one.length)],
      ...(one.recompute ? ['--gradient-checkpointing'] : []),
    ],
    { env, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-20_000);
  });
  try {
    while (!log.includes('listening on')) {
      if (child.exitCode !== null) return { reason: lastLine(log) };
      await pause(200);
    }
    const trainer = await TinkerTrainer.create({
      ...{ url: `http://127.0.0.1:${port}`, policy: NAME, rank: one.rank, reduction: 'sum' },
      ...{ clock: sleepClock(systemClock), adam: { gradNormMax: 0 } },
    });
    try {
      const sequences = trainSequences(SHAPES[one.shape], one.sequences, one.length);
      const step = () => trainer.step({ sequences, loss: LOSSES.SFT, lr: LR });
      const { loss } = await step();
      const times: number[] = [];
      for (let i = 0; i < turns; i++) times.push(await timeMs(step));
      return { seconds: median(times) / 1000, loss };
    } finally {
      await trainer.close();
    }
  } catch (error) {
    return { reason: child.exitCode === null ? messageOf(error) : lastLine(log) };
  } finally {
    if (child.exitCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
  }
}

function looped(one: Case, path: string, { python, device, turns }: Setting): Loop | Failed {
  const sequences = trainSequences(SHAPES[one.shape], one.sequences, one.length);
  const { rank, micro, recompute } = one;
  const input = JSON.stringify({
    ...{ path, device, rank, micro, recompute, turns, lr: LR },
    sequences: sequences.map(({ tokens }) => Array.from(tokens)),
  });
  const ran = spawnSync(python, ['bench/gpu/loop.py'], {
    ...{ encoding: 'utf8', env, input, maxBuffer: 2 ** 26 },
  });
  const line = ran.stdout.trim().split('\n').at(-1) ?? '';
  if (ran.status === 0) return JSON.parse(line) as Loop;
  return { reason: `the loop: ${lastLine(ran.stderr).split('. ')[0]}` };
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
