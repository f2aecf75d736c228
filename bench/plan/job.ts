/**
 * A job whose parts take their time and compute nothing: its engine decodes all its requests a token at a
 * time, as servers with continuous batching do, and an iteration takes the longer the more there are. By a
 * clock, so that it can run for real or in virtual time.
 */
import { type Draws, draws } from '../../base/draws.ts';
import type { SleepClock } from '../../base/sleepClock.ts';
import { calibrateSettings } from '../../jobs/calibrate/settings.ts';
import { everyQuestion, everyQuestionSettings } from '../../jobs/everyQuestion.ts';
import { trainPolicy } from '../../jobs/method.ts';
import type { PolicyEngine, TrainerEngine } from '../../model/engine.ts';
import { callTools } from '../../operators/callTools.ts';
import { type Learned, learned } from '../../simulate/plan/learned.ts';
import { plannedRun } from '../../simulate/plan/plannedRun.ts';
import { recordedSamples } from '../../simulate/plan/samples.ts';
import { Disk, digestOf, filesOf } from '../../simulate/world/disk.ts';
import { placeOn } from '../../simulate/world/job.ts';
import { dialect, words } from '../../simulate/world/words.ts';
import type { Log } from '../../streams/log.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import { topics } from '../../topics/index.ts';

export interface Case {
  readonly lagMax: number;
  /** Engines, each with as many questions at once. */
  readonly workers: number;
}

export interface JobOptions extends Case {
  readonly log: Log;
  readonly clock: SleepClock;
  /** That are measured. */
  readonly steps: number;
}

const WARM_UP = 3;
const [GROUPS, ROLLOUTS, CONCURRENCY] = [8, 4, 8];
/** An iteration of an engine: by itself, and for each request. */
const [ITERATION_MS, REQUEST_MS] = [10, 0.5];
const [STEP_MS, TRAINED_TOKEN_MS, SAVE_MS, LOAD_MS] = [200, 0.25, 60, 40];

const idOf = (text: string): number => words.encode(text)[0]!;
const WORD = idOf('one');
const CALL_END = idOf('</search>');

/** Decodes a token of every request at a time. Late timers are caught up with. */
class Decoder {
  readonly #clock: SleepClock;
  readonly #active = new Set<{ left: number; readonly done: () => void }>();
  #running = false;

  constructor(clock: SleepClock) {
    this.#clock = clock;
  }

  generate(tokens: number): Promise<void> {
    return new Promise((done) => {
      this.#active.add({ left: tokens, done });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    let dueMs = this.#clock.now();
    while (this.#active.size > 0) {
      dueMs += ITERATION_MS + REQUEST_MS * this.#active.size;
      const leftMs = dueMs - this.#clock.now();
      if (leftMs > 1) await this.#clock.sleep(leftMs);
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

function engineOf({ workers, clock }: JobOptions): PolicyEngine {
  const decoders = Array.from({ length: workers }, () => new Decoder(clock));
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
      await clock.sleep(LOAD_MS);
      version = weights.version;
    },
    stats: () => ({ generatedTokens: 0, prefillTokens: 0, busyMs: 0 }),
    close: async () => undefined,
  };
}

function trainerOf({ clock }: JobOptions, disk: Disk): TrainerEngine {
  return {
    score: async (all) =>
      all.map(({ length }) => ({ logProbs: new Float32Array(length).fill(-0.5) })),
    async step({ sequences }) {
      const tokens = sequences.reduce((sum, one) => sum + one.tokens.length, 0);
      const startMs = clock.now();
      await clock.sleep(STEP_MS + TRAINED_TOKEN_MS * tokens);
      const numbers = { 'logprob/diff_mean': 0, 'logprob/diff_max': 0 };
      const report = { loss: 0.5, gradNorm: 1, applied: true, entropy: 0.25, numbers };
      return { ...report, tokens, ms: clock.now() - startMs };
    },
    async save({ version }) {
      await clock.sleep(SAVE_MS);
      const files = filesOf(version);
      for (const uri of [files.weights, files.state]) disk.write(uri, uri);
      const at = (uri: string) => ({ version, uri, digest: digestOf(uri) });
      return { weights: at(files.weights), state: at(files.state), bytes: 1 };
    },
    restore: async () => undefined,
    close: async () => undefined,
  };
}

function toolsOf({ clock }: JobOptions) {
  let calls = 0;
  return callTools(
    [
      {
        ...{ name: 'search', about: 'looks a word up', concurrencyMax: 1024, pure: false },
        async run() {
          const draw = draws('latency', calls++);
          await clock.sleep(300 * Math.exp(0.6 * normal(draw)));
          return { output: 'two'.repeat(10), ok: true };
        },
        close: async () => undefined,
      },
    ],
    { clock },
  );
}

function settingsOf({ lagMax, workers, steps }: Case & Pick<JobOptions, 'steps'>) {
  const explore = GROUPS * (WARM_UP + steps + 1);
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

/** Runs the job on an empty log; resolves with seconds of a step. */
export async function timedJob(options: JobOptions): Promise<number> {
  const { log, clock, steps } = options;
  const settings = settingsOf(options);
  const nothing = (): void => undefined;
  const disk = new Disk();
  const flow = await trainPolicy(
    {
      ...{ run: 'bench', folder: '/bench', seed: 1, settings, log, clock, print: nothing },
      own: <R>(resource: R): R => resource,
      screen: { event: nothing, status: nothing, warning: nothing, close: nothing },
      place: placeOn(disk),
    },
    {
      ...{ base: 'base', dialect, tools: toolsOf(options) },
      ...{ engine: engineOf(options), trainer: trainerOf(options, disk) },
    },
    { train: questions(1 + settings.explore) },
    [everyQuestion(everyQuestionSettings.parse(settings))],
  );
  await runFlow(flow, { log, clock });
  const atMs = new Map<number, number>();
  for await (const { value } of recordsOf(log, topics.metrics, { from: { kind: 'earliest' } })) {
    if (value.name === 'time/train_ms') atMs.set(value.step, value.atMs);
  }
  return (atMs.get(WARM_UP + steps)! - atMs.get(WARM_UP)!) / 1000 / steps;
}

/** What a plan learns from the log of a run with these options. */
export function learnedFrom(log: Log, options: Case & Pick<JobOptions, 'steps'>): Promise<Learned> {
  const settings: unknown = settingsOf(options);
  return learned(log, settings as Readonly<Record<string, unknown>>);
}

/** The seconds of a step that are predicted for another case. */
export async function plannedSeconds(
  { cluster, groups }: Learned,
  { lagMax, workers }: Case,
): Promise<number> {
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
