/**
 * A whole calibrate job in a folder, small enough to run in a moment: single-digit sums, a scripted policy
 * that searches too much and is sometimes wrong, a trainer whose weights are a digest, and the real embedded
 * log.
 *
 * What the policy says follows from its version, the question and its draws, never from timing; `timing`
 * seeds the order in which things are finished.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastValueFrom, toArray } from 'rxjs';
import type { Clock } from '../../base/clock.ts';
import { calibrate } from '../../jobs/calibrate/calibrate.ts';
import { type CalibrateSettings, calibrateSettings } from '../../jobs/calibrate/settings.ts';
import type { Job, JobContext } from '../../jobs/defineJob.ts';
import { finetune, finetuneSettings } from '../../jobs/finetune.ts';
import { flywheel, flywheelSettings } from '../../jobs/flywheel.ts';
import { trainPolicy } from '../../jobs/method.ts';
import type { JobQuestions } from '../../jobs/plan.ts';
import { policyModel } from '../../jobs/policyModel.ts';
import { completeWith } from '../../jobs/roles.ts';
import type { Checkpoint, Tokenizer, TrainerEngine } from '../../model/engine.ts';
import { scripted } from '../../model/text/scripted.ts';
import type { TextRequest } from '../../model/text/textModel.ts';
import type { Dialect } from '../../operators/dialect/dialect.ts';
import type { QuestionRow } from '../../sources/questions.ts';
import { type Control, followControl } from '../../streams/control.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { runFlow } from '../../streams/run/runFlow.ts';
import type { Topic } from '../../streams/topic.ts';
import { type FakeTools, type FakeToolsOptions, fakeTools } from '../../testing/fakeTools.ts';
import { manualClock } from '../../testing/manualClock.ts';
import {
  type ScriptedPolicy,
  type ScriptLine,
  scriptedPolicy,
  shuffledTurns,
} from '../../testing/scriptedPolicy.ts';
import { topics } from '../../topics/index.ts';
import { fakeTrainer } from './fakeTrainer.ts';
import { type Fate, mortalLog } from './mortalLog.ts';
import { tinyDialect, tinyWords } from './tinyWords.ts';

export interface TinyOptions {
  readonly folder: string;
  readonly settings?: Partial<CalibrateSettings>;
  readonly timing?: number;
  readonly fate?: Fate;
  /** Stops the run in order. */
  readonly signal?: AbortSignal;
  readonly script?: (line: ScriptLine) => string;
  /** Opens the log to write; that of the folder unless given. */
  readonly open?: () => Promise<Log>;
  /** Words and tools of the run; `tinyWords` and a search unless given. */
  readonly world?: TinyWorld;
  /** The questions; `tinyRows` unless given. */
  readonly rows?: JobQuestions;
  /** One that stands still unless given. */
  readonly clock?: Clock;
  /** Questions that a flywheel and a fine-tuning begin with; none unless given. */
  readonly evolve?: number;
}

export interface TinyWorld {
  readonly tokenizer: Tokenizer;
  /** What each tool answers, by tag. */
  readonly answers: FakeToolsOptions['answers'];
  /** How the policy writes; tags unless given. */
  readonly dialect?: Dialect;
  /** What is trained; a trainer of its own unless given. */
  readonly trainer?: TrainerEngine;
}

export interface TinyEnd {
  readonly end: 'quiescent' | 'stopped' | 'killed';
  readonly commits: number;
  /** Versions in the order in which the policy loaded them. */
  readonly loads: readonly number[];
}

export const tinySettings = {
  ...calibrateSettings.parse({
    ...{ explore: 10, keep: 7, heldOut: 3, evaluationRollouts: 2 },
    ...{ rollouts: 4, initialRollouts: 2, batchGroups: 3, concurrency: 2 },
    ...{ responseMax: 80, callLimit: 2 },
  }),
  rounds: 2,
};

/** Forty sums of single digits. */
export async function* tinyRows(): AsyncGenerator<{ readonly value: QuestionRow }> {
  for (let i = 0; i < 40; i++) {
    const [a, b] = [i % 10, Math.floor(i / 10)];
    const answers = [String(a + b)];
    yield {
      value: {
        id: `sum-${i}`,
        question: `What is ${a} + ${b}?`,
        answers,
        source: 'tiny',
        ability: 'math',
      },
    };
  }
}

/** Searches now and then, and is right more often after a search. */
export function sloppy({ context, draws, version }: ScriptLine): string {
  const chance = draws.under('version', version);
  const searched = context.includes('</search>');
  if (chance.uniform(0) < 0.5) return '<think>I look it up.</think><search>one</search>';
  const [, a, b] = /(\d) ?\+ ?(\d)/.exec(context) ?? [];
  const right = chance.uniform(1) < (searched ? 0.7 : 0.4);
  const answer = Number(a) + Number(b) + (right ? 0 : 1);
  return `<think>So it is ${answer}.</think><answer>\\boxed{${answer}}</answer><|end|>`;
}

export interface Wired {
  readonly flow: Flow;
  readonly engine: ScriptedPolicy;
  close(): Promise<void>;
}

/** The job wired over `log`; `delay` is awaited wherever a real run would wait. */
export async function tinyFlow(
  options: TinyOptions,
  log: Log,
  delay: () => Promise<void> = async () => undefined,
): Promise<Wired> {
  const settings = { ...tinySettings, ...options.settings };
  const told = await followControl(log);
  const { context, close } = tinyContext(settings, options, log, told);
  context.own(told);
  const { flow, engine } = await wire(context, options, delay);
  return { flow, engine, close };
}

/** What a job is given, and how to close what it owns. */
export function tinyContext<Settings>(
  settings: Settings,
  { folder, clock = manualClock() }: Pick<TinyOptions, 'folder' | 'clock'>,
  log: Log,
  control?: Control,
): { readonly context: JobContext<Settings>; readonly close: () => Promise<void> } {
  const owned: { close(): Promise<void> }[] = [];
  const context: JobContext<Settings> = {
    ...{ run: 'tiny', folder, seed: 7, log, clock, settings },
    ...(control === undefined ? {} : { control }),
    print: () => undefined,
    own: (resource) => {
      owned.push(resource);
      return resource;
    },
  };
  const close = async (): Promise<void> => {
    for (const resource of owned.reverse()) await resource.close();
  };
  return { context, close };
}

export const tinyWorld: TinyWorld = {
  tokenizer: tinyWords,
  answers: { search: (query) => `two ${query}` },
};

/** What a job runs on. */
export async function tinyParts(
  folder: string,
  script: (line: ScriptLine) => string,
  delay: () => Promise<void>,
  { tokenizer, answers, dialect, trainer }: TinyWorld = tinyWorld,
) {
  const base = join(folder, 'base.safetensors');
  if (!existsSync(base)) await writeFile(base, 'base weights');
  const engine = scriptedPolicy({
    ...{ tokenizer, script, delay },
    onLoad: async (ref) => {
      await delay();
      checkDigest(ref);
    },
    topLogProbs: ({ draws }) => [Math.log(0.5 + 0.4 * draws.uniform(7)), Math.log(0.1)],
  });
  return {
    ...{ engine, base },
    dialect: dialect ?? tinyDialect(Object.keys(answers), tokenizer),
    tools: fakeTools({ answers, delay }),
    trainer: trainer ?? fakeTrainer({ before: delay }),
  };
}

interface Wiring {
  readonly flow: Flow;
  readonly engine: ScriptedPolicy;
  readonly tools: FakeTools;
}

async function wire(
  context: JobContext<CalibrateSettings>,
  options: Pick<TinyOptions, 'script' | 'evolve' | 'world' | 'rows'>,
  delay: () => Promise<void>,
): Promise<Wiring> {
  const { folder, settings } = context;
  const { evolve = 0, script = sloppy } = options;
  const parts = await tinyParts(folder, script, delay, options.world);
  const { engine, tools } = parts;
  const sampling = { temperature: 1, maxTokens: 200 };
  const critic = completeWith(scripted(careless), sampling);
  const evolving = flywheelSettings.parse({ questions: evolve, rounds: 2, concurrency: 2 });
  const before = [
    flywheel(evolving, {
      models: (live) => ({
        policy: completeWith(policyModel(live), sampling),
        analyst: critic,
        critic,
      }),
      hints: { math: ['I look it up.'], qa: ['I look it up.'] },
    }),
    finetune(finetuneSettings.parse({ size: 2 })),
  ];
  const methods = [...(evolve === 0 ? [] : before), calibrate(settings)];
  const flow = await trainPolicy(context, parts, options.rows ?? { train: tinyRows() }, methods);
  return { flow, engine, tools };
}

/** A critic that finds the first step at fault, has one better step to offer, and judges by the reference. */
function careless({ draws, prompt }: TextRequest): string {
  const purpose = String(draws.at(-2)).split('/').at(-1);
  if (String(draws.at(-2)).startsWith('judge/')) {
    const [, gold, said] = /counts\):\n(\d+)\n\nPrediction:\n(\d*)/.exec(prompt) ?? [];
    return gold === said ? 'Correct' : 'Incorrect';
  }
  const replies: Record<string, string> = {
    locate: 'Step: 1\nAnalysis: it is wrong.',
    redundancy: 'Step: no',
    'new-step': '<think>I look it up.</think><search>three</search>',
  };
  return replies[purpose ?? ''] ?? '<think>So</think>';
}

export interface TinyJobOptions {
  readonly timing?: number;
  readonly script?: (line: ScriptLine) => string;
  readonly rows?: JobQuestions;
  readonly world?: TinyWorld;
  /** Is shown what each start of the job runs on. */
  readonly onWired?: (wiring: Wiring) => void;
}

/** The same job as a command would load it. */
export function tinyJob({ timing = 0, onWired, ...options }: TinyJobOptions = {}): Job {
  return {
    name: 'tiny',
    about: 'A calibration in a moment.',
    settings: calibrateSettings,
    async build(context) {
      // Checked by the schema above.
      const given = context as JobContext<CalibrateSettings>;
      const wiring = await wire(given, options, shuffledTurns(timing));
      onWired?.(wiring);
      return wiring.flow;
    },
  };
}

/** Starts the job, or resumes it, and runs it to its end; the log is closed after. */
export function tinyCalibration(options: TinyOptions): Promise<TinyEnd> {
  return oneLife(options, (log, delay) => tinyFlow(options, log, delay));
}

/** Wires a job over the log of its folder and runs it until it ends or the log dies. */
export async function oneLife(
  {
    folder,
    timing = 0,
    fate,
    signal,
    open = () => openLog({ folder: join(folder, 'log'), mode: 'write', clock: manualClock() }),
  }: Pick<TinyOptions, 'folder' | 'timing' | 'fate' | 'signal' | 'open'>,
  wired: (log: Log, delay: () => Promise<void>) => Promise<Wired>,
): Promise<TinyEnd> {
  const real = await open();
  const mortal = mortalLog(real, fate ?? { commitsLeft: 1e9, lastIsWritten: true });
  const turns = shuffledTurns(timing);
  try {
    const { flow, engine, close } = await wired(mortal.log, async () => {
      await turns();
      await mortal.life();
    });
    const stop = signal === undefined ? {} : { signal };
    const end = await runFlow(flow, { log: mortal.log, graceMs: 2000, ...stop }).catch((error) => {
      if (mortal.dead) return 'killed' as const;
      throw error;
    });
    await close();
    if (end === 'killed') await stillness();
    return { end, commits: mortal.commits, loads: engine.loads.map(({ version }) => version) };
  } finally {
    await real.close();
  }
}

/**
 * Lets the file operations end that were under way at the kill: a process that is really killed has none
 * left.
 */
async function stillness(): Promise<void> {
  for (let quiet = 0; quiet < 20; quiet++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq)/.test(name))) quiet = 0;
  }
}

/** As an engine does: refuses a file that is not the one of the manifest. */
function checkDigest({ uri, digest }: Checkpoint): void {
  const found = createHash('sha256').update(readFileSync(uri)).digest('hex');
  if (found !== digest) throw new Error(`${uri} has digest ${found}, not ${digest}`);
}

/** Everything that a run has written, topic by topic. */
export async function readRun(folder: string) {
  const log = await openLog({ folder: join(folder, 'log'), mode: 'read' });
  const all = async <T>(topic: Topic<T>): Promise<T[]> => {
    const stored$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
    return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
  };
  const run = {
    questions: await all(topics.questions),
    rollouts: await all(topics.rollouts),
    toolCalls: await all(topics.toolCalls),
    scored: await all(topics.scored),
    selected: await all(topics.selected),
    evolved: await all(topics.evolved),
    demonstrations: await all(topics.demonstrations),
    pairs: await all(topics.pairs),
    windows: await all(topics.windows),
    batches: await all(topics.batches),
    weights: await all(topics.weights),
    metrics: await all(topics.metrics),
    deadLetters: await all(topics.deadLetters),
    lags: await lagsOf(log),
  };
  await log.close();
  return run;
}

export type RunRecords = Awaited<ReturnType<typeof readRun>>;

/** Unsettled records of every stage that has any. */
async function lagsOf(log: Log): Promise<string[]> {
  return (await log.stats()).flatMap(({ topic, lag }) =>
    Object.entries(lag).flatMap(([group, records]) =>
      records > 0 ? [`${group} of ${topic}`] : [],
    ),
  );
}
