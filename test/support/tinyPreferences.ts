/**
 * The jobs of Tool-Light and Tool-Star in a moment: single-digit sums, a scripted policy, a trainer of
 * digests.
 */

import { draws } from '../../base/draws.ts';
import { type Method, trainPolicy } from '../../jobs/method.ts';
import type { PolicyParts } from '../../jobs/policyLoop.ts';
import { policyModel } from '../../jobs/policyModel.ts';
import type { PolicySettings } from '../../jobs/policySettings.ts';
import { completeWith } from '../../jobs/roles.ts';
import { type ToolLightSettings, toolLight, toolLightSettings } from '../../jobs/toolLight.ts';
import { type ToolStarSettings, toolStar, toolStarSettings } from '../../jobs/toolStar.ts';
import type { ScriptLine } from '../../testing/scriptedPolicy.ts';
import { type FakeTrainerOptions, fakeTrainer } from './fakeTrainer.ts';
import {
  oneLife,
  type RunRecords,
  readRun,
  type TinyEnd,
  type TinyOptions,
  tinyContext,
  tinyParts,
  tinyRows,
  type Wired,
} from './tinyCalibration.ts';

export interface TinyPreferences<Settings>
  extends Pick<TinyOptions, 'folder' | 'timing' | 'fate' | 'script'> {
  readonly settings?: Partial<Settings>;
}

/** Wires a job and runs it to its end, or until it is killed. */
export type TinyJob<Settings> = (options: TinyPreferences<Settings>) => Promise<TinyEnd>;

/** A policy that searches now and then, may be made to answer, and is right more often after a search. */
export function eager({ context, draws: stream, version }: ScriptLine): string {
  const chance = stream.under('version', version);
  const [, a, b] = /(\d) ?\+ ?(\d)/.exec(context) ?? [];
  const searched = context.includes('</search>');
  const right = chance.uniform(1) < (searched ? 0.6 : 0.3);
  const answer = Number(a) + Number(b) + (right ? 0 : 1);
  if (context.endsWith('\\boxed{')) return `${answer}}</answer><|end|>`;
  // Behind a hint the thought is open.
  const open = context.lastIndexOf('<think>') > context.lastIndexOf('</think>') ? '' : '<think>';
  if (chance.uniform(0) < 0.5) return `${open}I look it up.</think><search>one</search>`;
  return `${open}So it is ${answer}.</think><answer>\\boxed{${answer}}</answer><|end|>`;
}

const shared = {
  ...{ heldOut: 3, evaluationRollouts: 2, concurrency: 2, responseMax: 80, callLimit: 3 },
};

export const tinyLightSettings: ToolLightSettings = toolLightSettings.parse({
  ...{ ...shared, candidates: 12, sourceMin: 3, loops: 2, ways: 'one' },
  prefer: { samples: 6, size: 2 },
});

export const tinyStarSettings: ToolStarSettings = toolStarSettings.parse({
  ...shared,
  coldStart: { questions: 8, tools: 2, concurrency: 2 },
  finetune: { size: 2 },
  ...{ loops: 2, hardMin: 3, hardMax: 5, rollouts: 4, batchGroups: 2 },
  ...{ criticQuestions: 4, critic: { samples: 4, size: 2 } },
});

const sampling = { temperature: 1, maxTokens: 40 };

const policy = (parts: PolicyParts) => completeWith(policyModel(parts), sampling);

export const tinyToolLight: TinyJob<ToolLightSettings> = (options) =>
  tinyJobOf(options, { ...tinyLightSettings, ...options.settings }, (settings) =>
    toolLight(settings, { policy }),
  );

export const tinyToolStar: TinyJob<ToolStarSettings> = (options) =>
  tinyJobOf(options, { ...tinyStarSettings, ...options.settings }, (settings) => {
    const again = { math: ['I look it up.'], qa: ['I look it up.'] };
    const hints = { verify: again, reflect: again, uncertain: ['So it is'] };
    return toolStar(settings, { policy, hints });
  });

export function tinyJobOf<Settings extends PolicySettings>(
  options: TinyPreferences<Settings>,
  settings: Settings,
  methods: (settings: Settings) => Method | readonly Method[],
  fake: FakeTrainerOptions = {},
): Promise<TinyEnd> {
  return oneLife(options, async (log, delay): Promise<Wired> => {
    const { folder, script = eager } = options;
    const { context, close } = tinyContext(settings, { folder }, log);
    const trainer = fakeTrainer({ before: delay, ...fake });
    const parts = { ...(await tinyParts(folder, script, delay)), trainer };
    const list = [methods(settings)].flat();
    const flow = await trainPolicy(context, parts, { train: tinyRows() }, list);
    return { flow, engine: parts.engine, close };
  });
}

/** Runs a job undisturbed and gives what it wrote. */
export async function whole<Settings>(
  job: TinyJob<Settings>,
  options: TinyPreferences<Settings>,
): Promise<RunRecords> {
  const { end } = await job(options);
  if (end !== 'quiescent') throw new Error(`the run ended as ${end}`);
  return readRun(options.folder);
}

/**
 * Starts a job again and again, each time to be killed at some commit, until it ends; gives the number of
 * starts.
 */
export async function killedUntilDone<Settings>(
  job: TinyJob<Settings>,
  options: TinyPreferences<Settings>,
  seed: number,
): Promise<number> {
  const stream = draws('kill', seed);
  for (let start = 0; ; start++) {
    const fate = {
      commitsLeft: stream.integer(2 * start, 50),
      lastIsWritten: stream.uniform(2 * start + 1) < 0.5,
    };
    const { end } = await job({ ...options, timing: 100 * seed + start, fate });
    if (end === 'quiescent') return start + 1;
  }
}

/** What must depend neither on timing nor on crashes. */
export function essence({ evolved, demonstrations, pairs, toolCalls, ...run }: RunRecords) {
  const byText = <T>(items: readonly T[]): string[] =>
    items.map((item) => JSON.stringify(item)).sort();
  return {
    evolved: byText(evolved),
    demonstrations: byText(demonstrations),
    pairs: byText(pairs),
    toolCalls: byText(toolCalls),
    questions: byText(run.questions),
    batches: run.batches.map(({ step, round, kind, examples, groups }) => ({
      ...{ step, round, kind },
      of: [...examples, ...groups].map(({ questionId }) => questionId),
    })),
    weights: run.weights.map(({ version, roundsDone, digest }) => [version, roundsDone, digest]),
  };
}
