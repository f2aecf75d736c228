/**
 * What we add to a step on a training service: `npm run bench:trainer`.
 *
 * The service (trainer/service.ts) computes nothing and takes a set time for a step, one request after the
 * other. All that a step lasts longer is ours: writing requests, sending, asking for results, reading them,
 * and the service's idleness meanwhile.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../base/clock.ts';
import { sleepClock } from '../base/sleepClock.ts';
import type { Loss, TrainSequence } from '../model/engine.ts';
import { TinkerTrainer } from '../model/tinker/trainer.ts';
import { benchmark, count } from './options.ts';
import { median, print, type Row } from './table.ts';

const SHARE_GOAL = 0.03;
/** Megabytes above what the process holds with the batch in memory. */
const MEMORY_LIMIT = 512;

interface Options {
  readonly sequences: number;
  readonly tokens: number;
  readonly serviceMs: number;
  readonly steps: number;
  readonly json: boolean;
}

const options = benchmark(
  'npm run bench:trainer',
  `What we add to a step on a training service of the Tinker API, as a part of the step, and the memory that it takes. The
service is simulated: it computes nothing and takes a set time.`,
)
  .option('--sequences <N>', 'sequences of a batch', count, 512)
  .option('--tokens <N>', 'tokens of each', count, 4000)
  .option(
    '--service-ms <N>',
    'time that the service takes for a step, in milliseconds',
    count,
    10_000,
  )
  .option('--steps <N>', 'steps, of which the middle one counts; odd', count, 3)
  .parse()
  .opts<Options>();

interface Measured {
  readonly addedMs: readonly number[];
  readonly stepMs: readonly number[];
  readonly peakMb: number;
  /** Of all threads of this process. */
  readonly processorMs: readonly number[];
}

function batch({ sequences, tokens }: Options): TrainSequence[] {
  return Array.from({ length: sequences }, (_, row) => ({
    tokens: Int32Array.from(
      { length: tokens },
      (_, place) => (row * 7919 + place * 104_729) % 150_000,
    ),
    // a prompt, and results of tools between
    mask: Uint8Array.from({ length: tokens }, (_, place) =>
      place > 300 && place % 1000 > 250 ? 1 : 0,
    ),
    advantages: new Float32Array(tokens).fill(Math.sin(row)),
    oldLogProbs: Float32Array.from({ length: tokens }, (_, place) => -0.5 - 0.4 * Math.sin(place)),
  }));
}

async function measured(loss: Loss, passes: 'once' | 'twice'): Promise<Measured> {
  const { serviceMs, sequences, tokens } = options;
  const size = [serviceMs, sequences * tokens].map(String);
  const path = new URL('./trainer/service.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', 'tsx', path, ...size, passes], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(child.stdout, 'data');
    return await stepsOn(String(line).trim(), loss);
  } finally {
    child.kill();
  }
}

async function stepsOn(url: string, loss: Loss): Promise<Measured> {
  const { steps } = options;
  const busy = async () => Number(await (await fetch(`${url}/busy`)).text());
  const clock = sleepClock(systemClock);
  const trainer = await TinkerTrainer.create({
    ...{ url, policy: 'simulated', clock, reduction: 'sum' },
  });
  try {
    const items = batch(options);
    const step = () => trainer.step({ sequences: items.slice(), loss, lr: 1e-5 });
    // workers and graphs are made with the first one
    await trainer.step({ sequences: items.slice(0, 2), loss, lr: 1e-5 });
    const addedMs: number[] = [];
    const stepMs: number[] = [];
    const processorMs: number[] = [];
    const before = process.memoryUsage.rss();
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 20);
    for (let i = 0; i < steps; i++) {
      const [startMs, busyMs] = [performance.now(), await busy()];
      const used = process.cpuUsage();
      await step();
      const { user, system } = process.cpuUsage(used);
      processorMs.push((user + system) / 1000);
      stepMs.push(performance.now() - startMs);
      addedMs.push((stepMs.at(-1) as number) - ((await busy()) - busyMs));
    }
    clearInterval(watch);
    return { addedMs, stepMs, peakMb: (peak - before) / 2 ** 20, processorMs };
  } finally {
    await trainer.close();
  }
}

function rowsOf(name: string, { addedMs, stepMs, peakMb, processorMs }: Measured): Row[] {
  const { sequences, tokens, serviceMs } = options;
  const [added, whole] = [median(addedMs), median(stepMs)];
  const what = `${name}, ${sequences} × ${tokens} tokens`;
  return [
    {
      ...{ what: `time added to a step: ${what}`, against: 'the whole step' },
      ...{ ratio: added / whole, goal: SHARE_GOAL, atMost: true },
      ...{ unit: 's', ours: added / 1000, theirs: whole / 1000 },
    },
    {
      ...{ what: `processor time: ${what}`, against: 'one core meanwhile' },
      ...{ ratio: median(processorMs) / serviceMs, goal: null, atMost: true },
      ...{ unit: 's', ours: median(processorMs) / 1000, theirs: serviceMs / 1000 },
    },
    {
      ...{ what: `memory added at its peak: ${what}`, against: `a limit of ${MEMORY_LIMIT} MB` },
      ...{ ratio: peakMb / MEMORY_LIMIT, goal: 1, atMost: true },
      ...{ unit: 'MB', ours: peakMb, theirs: MEMORY_LIMIT },
    },
  ];
}

print(
  'trainer',
  [
    ...rowsOf('policy loss, two passes', await measured({ name: 'clipped' }, 'twice')),
    ...rowsOf('fine-tuning, one pass', await measured({ name: 'sft' }, 'once')),
  ],
  options.json,
);
