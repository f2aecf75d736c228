/**
 * A whole calibrate job in a folder, small enough to run in a moment: single-digit sums, a scripted policy that
 * searches too much and is sometimes wrong, a trainer whose weights are a digest, and the real embedded log.
 *
 * What the policy says follows from its version, the question and its draws, never from timing; `timing` seeds
 * the order in which things are finished.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastValueFrom, toArray } from 'rxjs';
import { calibrate } from '../../jobs/calibrate.ts';
import { type CalibrateSettings, calibrateSettings } from '../../jobs/calibrateSettings.ts';
import { planQuestions } from '../../jobs/plan.ts';
import type { WeightsRef } from '../../model/engine.ts';
import type { QuestionRow } from '../../sources/questions.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Flow } from '../../streams/flow.ts';
import type { Log } from '../../streams/log.ts';
import { runFlow } from '../../streams/runFlow.ts';
import type { Topic } from '../../streams/topic.ts';
import { topics } from '../../streams/topics.ts';
import { manualClock } from './clock.ts';
import { fakeTools } from './fakeTools.ts';
import { fakeTrainer } from './fakeTrainer.ts';
import { type Fate, mortalLog } from './mortalLog.ts';
import {
  type ScriptedPolicy,
  type ScriptLine,
  scriptedPolicy,
  shuffledTurns,
} from './scriptedPolicy.ts';
import { tinyWords } from './tinyWords.ts';

export interface TinyOptions {
  readonly folder: string;
  readonly settings?: Partial<CalibrateSettings>;
  readonly timing?: number;
  readonly fate?: Fate;
  /** Stops the run in order. */
  readonly signal?: AbortSignal;
  readonly script?: (line: ScriptLine) => string;
}

export interface TinyEnd {
  readonly end: 'quiescent' | 'stopped' | 'killed';
  readonly commits: number;
  /** Versions in the order in which the policy loaded them. */
  readonly loads: readonly number[];
}

export const tinySettings: CalibrateSettings = calibrateSettings.parse({
  ...{ rounds: 2, explore: 10, keep: 7, heldOut: 3, evaluationRollouts: 2 },
  ...{ rollouts: 4, initialRollouts: 2, batchGroups: 3, concurrency: 2 },
  ...{ responseMax: 80, callLimit: 2 },
});

async function* rows(): AsyncGenerator<{ readonly value: QuestionRow }> {
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

interface Wired {
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
  const { folder } = options;
  const settings = { ...tinySettings, ...options.settings };
  const base = join(folder, 'base.safetensors');
  if (!existsSync(base)) await writeFile(base, 'base weights');
  const tokenizer = tinyWords;
  const engine = scriptedPolicy({
    ...{ tokenizer, script: options.script ?? sloppy, delay },
    onLoad: async (ref) => {
      await delay();
      checkDigest(ref);
    },
    topLogProbs: ({ draws }) => [Math.log(0.5 + 0.4 * draws.uniform(7)), Math.log(0.1)],
  });
  const owned: { close(): Promise<void> }[] = [];
  const flow = await calibrate(
    {
      ...{ run: 'tiny', folder, seed: 7, settings, log, clock: manualClock() },
      signal: options.signal ?? new AbortController().signal,
      print: () => undefined,
      own: (resource) => {
        owned.push(resource);
        return resource;
      },
    },
    {
      ...{ engine, tokenizer, base },
      plan: await planQuestions({ train: rows() }, { ...settings, seed: 7 }),
      trainer: fakeTrainer({ before: delay }),
      tools: fakeTools({ tokenizer, answers: { search: (q) => `two ${q}` }, delay }),
      prompt: (question) => tokenizer.encode(question, { tags: false }),
    },
  );
  const close = async (): Promise<void> => {
    for (const resource of owned.reverse()) await resource.close();
  };
  return { flow, engine, close };
}

/** Starts the job, or resumes it, and runs it to its end; the log is closed after. */
export async function tinyCalibration(options: TinyOptions): Promise<TinyEnd> {
  const { folder, timing = 0, fate, signal } = options;
  const real = await openLog({ folder: join(folder, 'log'), mode: 'write', clock: manualClock() });
  const mortal = mortalLog(real, fate ?? { commitsLeft: 1e9, lastIsWritten: true });
  const turns = shuffledTurns(timing);
  try {
    const { flow, engine, close } = await tinyFlow(options, mortal.log, async () => {
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

/** Lets the file operations end that were under way at the kill: a process that is really killed has none left. */
async function stillness(): Promise<void> {
  for (let quiet = 0; quiet < 20; quiet++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (process.getActiveResourcesInfo().some((name) => /^(FSReq|CloseReq)/.test(name))) quiet = 0;
  }
}

/** As an engine does: refuses a file that is not the one of the manifest. */
function checkDigest({ path, sha256 }: WeightsRef): void {
  const digest = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (digest !== sha256) throw new Error(`${path} has digest ${digest}, not ${sha256}`);
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
