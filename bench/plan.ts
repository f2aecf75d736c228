/**
 * How near plans are to what then happens: `npm run bench:plan`.
 *
 * A job runs for real: real timers, the log in a folder, every stage. Its engine decodes all its requests a
 * token at a time, as servers with continuous batching do, and an iteration takes the longer the more there
 * are; its tools and steps take their time. A plan is learned from the run with lagMax 0, and predicts those
 * with a lag, and with two and four workers, each with an engine of its own.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { type Draws, draws } from '../base/draws.ts';
import { sleepClock } from '../base/sleepClock.ts';
import { calibrateSettings } from '../jobs/calibrate/settings.ts';
import { everyQuestion, everyQuestionSettings } from '../jobs/everyQuestion.ts';
import { trainPolicy } from '../jobs/method.ts';
import type { PolicyEngine, TrainerEngine } from '../model/engine.ts';
import { callTools } from '../operators/callTools.ts';
import { learned } from '../simulate/plan/learned.ts';
import { plannedRun } from '../simulate/plan/plannedRun.ts';
import { recordedSamples } from '../simulate/plan/samples.ts';
import { Disk, digestOf, filesOf } from '../simulate/world/disk.ts';
import { placeOn } from '../simulate/world/job.ts';
import { dialect, words } from '../simulate/world/words.ts';
import { openLog } from '../streams/embedded/openLog.ts';
import type { Log } from '../streams/log.ts';
import { recordsOf } from '../streams/recordsOf.ts';
import { runFlow } from '../streams/run/runFlow.ts';
import { topics } from '../topics/index.ts';
import { benchmark, count } from './options.ts';
import { folderOnDisk, pause, print, type Row } from './table.ts';

const ERROR_GOAL = 0.1;
const WARM_UP = 3;
const [GROUPS, ROLLOUTS, CONCURRENCY] = [8, 4, 8];
/** An iteration of an engine: by itself, and for each request. */
const [ITERATION_MS, REQUEST_MS] = [10, 0.5];
const [STEP_MS, TRAINED_TOKEN_MS, SAVE_MS, LOAD_MS] = [200, 0.25, 60, 40];

const { steps, json } = benchmark(
  'npm run bench:plan',
  `Seconds of a step of jobs that run in real time, beside what millrace plan learns from the one with lagMax 0.`,
)
  .option('--steps <N>', 'steps of each run that are measured', count, 16)
  .parse()
  .opts<{ readonly steps: number; readonly json: boolean }>();

interface Case {
  readonly lagMax: number;
  readonly workers: number;
}

const idOf = (text: string): number => words.encode(text)[0]!;
const WORD = idOf('one');
const CALL_END = idOf('</search>');

/** Decodes a token of every request at a time. Late timers are caught up with. */
class Decoder {
  readonly #active = new Set<{ left: number; readonly done: () => void }>();
  #running = false;

  generate(tokens: number): Promise<void> {
    return new Promise((done) => {
      this.#active.add({ left: tokens, done });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    let dueMs = performance.now();
    while (this.#active.size > 0) {
      dueMs += ITERATION_MS + REQUEST_MS * this.#active.size;
      const leftMs = dueMs - performance.now();
      if (leftMs > 1) await pause(leftMs);
      for (const request of this.#active) {
        request.left -= 1;
        if (request.left > 0) continue;
        this.#active.delete(request);
        request.done();
      }
    }
    this.#running = false;
  }
}

function normal(draw: Draws): number {
  return Math.sqrt(-2 * Math.log(1 - draw.uniform(1))) * Math.cos(2 * Math.PI * draw.uniform(2));
}

/** Half of the rollouts call the tool once, some twice. */
function said(draw: Draws, calls: number): { readonly tokens: number; readonly text: string } {
  const tokens = 20 + draw.integer(0, 50);
  const calling = draw.uniform(3) < (calls === 0 ? 0.7 : 0.3);
  const answer = draw.uniform(4) < 0.5 ? 2 : 3;
  return {
    tokens,
    text: calling ? '<search>three</search>' : `<answer>\\boxed{${answer}}</answer><|end|>`,
  };
}

function engineOf(workers: number): PolicyEngine {
  const decoders = Array.from({ length: workers }, () => new Decoder());
  const homes = new Map<string, number>();
  let version = -1;
  return {
    contextMax: 1 << 20,
    async generate({ draws: keys, tokens }) {
      const calls = tokens.filter((token) => token === CALL_END).length;
      const { tokens: length, text } = said(draws(...keys, calls), calls);
      const home = keys.join();
      if (!homes.has(home)) homes.set(home, homes.size % workers);
      const by = version;
      const end = words.encode(text);
      await decoders[homes.get(home)!]!.generate(length + end.length);
      const all = [...new Array<number>(length).fill(WORD), ...end];
      return {
        tokens: Int32Array.from(all),
        logProbs: new Float32Array(all.length).fill(-0.5),
        ...{ finish: 'stop', topLogProbs: [], version: by },
      };
    },
    async load(weights) {
      await pause(LOAD_MS);
      version = weights.version;
    },
    stats: () => ({ generatedTokens: 0, prefillTokens: 0, busyMs: 0 }),
    close: async () => undefined,
  };
}

function trainerOf(disk: Disk): TrainerEngine {
  return {
    score: async (all) =>
      all.map(({ length }) => ({ logProbs: new Float32Array(length).fill(-0.5) })),
    async step({ sequences }) {
      const tokens = sequences.reduce((sum, one) => sum + one.tokens.length, 0);
      const startMs = performance.now();
      await pause(STEP_MS + TRAINED_TOKEN_MS * tokens);
      const numbers = { 'logprob/diff_mean': 0, 'logprob/diff_max': 0 };
      const report = { loss: 0.5, gradNorm: 1, applied: true, entropy: 0.25, numbers };
      return { ...report, tokens, ms: performance.now() - startMs };
    },
    async save({ version }) {
      await pause(SAVE_MS);
      const files = filesOf(version);
      for (const uri of [files.weights, files.state]) disk.write(uri, uri);
      const at = (uri: string) => ({ version, uri, digest: digestOf(uri) });
      return { weights: at(files.weights), state: at(files.state), bytes: 1 };
    },
    restore: async () => undefined,
    close: async () => undefined,
  };
}

function toolsOf() {
  let calls = 0;
  return callTools(
    [
      {
        ...{ name: 'search', about: 'looks a word up', concurrencyMax: 1024, pure: false },
        async run() {
          const draw = draws('latency', calls++);
          await pause(300 * Math.exp(0.6 * normal(draw)));
          return { output: 'two'.repeat(10), ok: true };
        },
        close: async () => undefined,
      },
    ],
    { clock: systemClock },
  );
}

const last = WARM_UP + steps;

function settingsOf({ lagMax, workers }: Case) {
  const explore = GROUPS * (last + 1);
  return calibrateSettings.parse({
    ...{ lagMax, explore, rounds: 1, heldOut: 1, evaluationRollouts: 1, rollouts: ROLLOUTS },
    ...{ initialRollouts: ROLLOUTS, batchGroups: GROUPS, concurrency: CONCURRENCY * workers },
    ...{ branching: 'none', reward: 'accuracy', responseMax: 1 << 16, callLimit: 64 },
    ...{ miniBatches: 1, keepVersions: 2, lagCorrection: 'none' },
  });
}

async function* questions(number: number) {
  for (let i = 0; i < number; i++) {
    const value = { id: `q${i}`, question: 'What is 1 + 1?', answers: ['2'], source: 'bench' };
    yield { value: { ...value, ability: 'math' as const } };
  }
}

/** Runs a job; resolves with seconds of a step, once `use` has read its log. */
async function ran<T>(which: Case, use: (log: Log) => Promise<T>): Promise<[number, T]> {
  const folder = folderOnDisk('plan');
  const log = await openLog({ folder: join(folder, 'log'), mode: 'write' });
  try {
    const settings = settingsOf(which);
    const nothing = (): void => undefined;
    const disk = new Disk();
    const flow = await trainPolicy(
      {
        ...{ run: 'bench', folder, seed: 1, settings, log, clock: systemClock, print: nothing },
        own: <R>(resource: R): R => resource,
        screen: { event: nothing, status: nothing, warning: nothing, close: nothing },
        place: placeOn(disk),
      },
      {
        ...{ base: 'base', dialect, tools: toolsOf() },
        ...{ engine: engineOf(which.workers), trainer: trainerOf(disk) },
      },
      { train: questions(1 + settings.explore) },
      [everyQuestion(everyQuestionSettings.parse(settings))],
    );
    await runFlow(flow, { log, clock: sleepClock(systemClock) });
    const atMs = new Map<number, number>();
    for await (const { value } of recordsOf(log, topics.metrics, { from: { kind: 'earliest' } })) {
      if (value.name === 'time/train_ms') atMs.set(value.step, value.atMs);
    }
    return [(atMs.get(last)! - atMs.get(WARM_UP)!) / 1000 / steps, await use(log)];
  } finally {
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const first: Case = { lagMax: 0, workers: 1 };
const [seconds, known] = await ran(first, (log) =>
  learned(log, settingsOf(first) as unknown as Readonly<Record<string, unknown>>),
);

async function planned({ lagMax, workers }: Case): Promise<number> {
  const { cluster, groups } = known;
  const { stepSeconds } = await plannedRun({
    cluster: {
      ...cluster,
      servers: { ...cluster.servers, gpus: workers },
      job: { ...cluster.job, lagMax, workers },
    },
    ...{ samples: recordedSamples(groups, 1), seed: 1 },
  });
  return stepSeconds;
}

const cases: readonly Case[] = [
  { lagMax: 1, workers: 1 },
  { lagMax: 4, workers: 1 },
  { lagMax: 0, workers: 2 },
  { lagMax: 0, workers: 4 },
  { lagMax: 1, workers: 4 },
];
const rows: Row[] = [];
const add = (which: Case, happened: number, predicted: number): void => {
  rows.push({
    what: `lagMax ${which.lagMax}, ${which.workers === 1 ? 'one worker' : `${which.workers} workers`}`,
    against: which === first ? 'what it was learned from' : 'what then happened',
    ...{ ratio: Math.abs(predicted / happened - 1), goal: ERROR_GOAL, atMost: true },
    ...{ unit: 's', ours: predicted, theirs: happened },
  });
};
add(first, seconds, await planned(first));
for (const which of cases) {
  const [happened] = await ran(which, async () => undefined);
  add(which, happened, await planned(which));
}
print('plan', rows, json);
