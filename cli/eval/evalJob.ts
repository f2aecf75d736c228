/**
 * The job behind `millrace eval`: evaluates a policy, here or on servers, with the tools and judge that its
 * settings name.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError, sleepClock } from '../../base/index.ts';
import { callsFunctions, dialectOf } from '../../jobs/dialects/index.ts';
import { checkWithoutHelp, checkWorld, environmentOf } from '../../jobs/environment/index.ts';
import {
  agentsOf,
  defineJob,
  type EvaluationPlan,
  evaluate,
  type JobContext,
  planEvaluation,
} from '../../jobs/index.ts';
import {
  askedBefore,
  checkEngineFits,
  checkPolicy,
  checkVocabulary,
  chosenPrompt,
  helpersOf,
  promptRecord,
  rolesOf,
  sayPrompt,
} from '../../jobs/parts/index.ts';
import { imagesFolder, toolSettings, toolsOf } from '../../jobs/tools/index.ts';
import type { PolicyEngine } from '../../model/index.ts';
import { serverEngine, serverSettings } from '../../model/remote/index.ts';
import { EmbeddedEngine, ROWS, tokenBytes } from '../../model/rollout/index.ts';
import {
  configuredTextModel,
  openReplies,
  samplingOf,
  scripted,
  type TextSampling,
} from '../../model/text/index.ts';
import type { Dialect } from '../../operators/dialect/index.ts';
import { callTools } from '../../operators/index.ts';
import {
  type AskModel,
  graderOf,
  gradingLines,
  type Jury,
  jury,
} from '../../operators/metrics/graders/index.ts';
import { hasWorld } from '../../operators/rollout/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import type { SourceItem } from '../../streams/index.ts';
import type { Question } from '../../topics/index.ts';
import { EVALUATION } from '../runs.ts';
import { episodesAsked } from './evalEpisodes.ts';
import { type EvalSettings, evalSettings } from './evalSettings.ts';
import { askedBySet, setPromptLines, setPrompts } from './setPrompts.ts';

export const evalJob = defineJob({
  name: EVALUATION,
  about: 'Evaluates a policy on files of questions.',
  settings: evalSettings,

  async build(context) {
    const { settings, seed, clock, own, print } = context;
    const { policy: base, responseMax } = settings;
    if (settings.engine.server === 'embedded' && !existsSync(base)) throw gone(base);
    const { agent } = settings;
    const hasAgent = agent.command !== '' || agent.url !== '';
    // An agent has tools of its own.
    const chosen = hasAgent ? [] : await toolsFor(context);
    const episodes = settings.episodes ? await episodesAsked(context, chosen) : null;
    const world = episodes === null ? await environmentOf(context) : null;
    const tools = episodes?.tools ?? [...chosen, ...(world?.actions ?? [])];
    const known = { name: settings.policyName || base, promptIn: settings.promptIn || null };
    const before = await askedBefore(context, known);
    const images = imagesFolder(settings.files.folder, context);
    const files = settings.questions.map((one) => ({ ...file(one), images }));
    const plan = await planEvaluation(files, settings.limit);
    const dialect = episodes?.dialect ?? (await chosenDialect(context, before, tools, plan));
    sayPrompt(context, before, promptRecord(dialect));
    if (episodes === null && !hasAgent) checkAnswered(plan.items, world !== null);
    sayGrading(context, plan.items);
    const helpers = helpersOf(settings.roles, { seed, dialect: dialect.name });
    if (helpers.helping !== undefined && episodes !== null) throw noHelp();
    if (world !== null) checkWithoutHelp(helpers.helping);
    const longest = longestPrompt(plan.items, dialect.prompt);
    const isPlain = episodes === null && world === null && !hasAgent;
    const room = isPlain ? longest : Math.max(longest, settings.episodePrompt);
    const contextMax = room + responseMax;
    const vocabSize = await checkPolicy(
      { path: base, name: settings.policyName || base },
      {
        generates: settings.engine.server === 'embedded' ? { rows: ROWS } : null,
        trains: null,
        contextMax,
        limits: 'the longest prompt plus responseMax is',
        provider: settings.provider,
        print,
      },
    );
    checkVocabulary(dialect, vocabSize);
    const engine = own(await engineOf(context, dialect, contextMax));
    checkEngineFits(longest, engine);
    await episodes?.bind(engine);
    helpers.bind(rolesOf({ folder: settings.tokenizer }, context), { engine });
    const place = { folder: settings.tokenizer, name: settings.policyName };
    const sessions = hasAgent ? await agentsOf(context, place) : null;
    return evaluate(context, {
      dialect,
      plan,
      engine,
      base,
      grow: sessions?.grow ?? episodes?.grow,
      helping: helpers.helping,
      jury: juryOf(context, seed),
      tools: own(
        callTools(tools, {
          clock,
          helpers: world === null ? helpers.tools : [...helpers.tools, world.begin],
        }),
      ),
    });
  },
});

/** Fails with code `USAGE` for a question that only its calls can score, as only episodes record them. */
function checkAnswered(items: readonly SourceItem<Question>[], hasEnvironment: boolean): void {
  for (const item of items) {
    if (!('value' in item)) continue;
    const { id, answers, task } = item.value;
    if (!hasEnvironment) checkWorld(id, task);
    if (hasWorld(item.value)) continue;
    if (answers.length > 0 && (task?.gold ?? null) === null) continue;
    throw new MillraceError(
      'USAGE',
      `question ${id} is scored by its calls, which only DeepAgent’s episodes record: give --episodes FORM (docs/evaluation.md)`,
    );
  }
}

/** How answers are graded; a replay says nothing about it. */
function sayGrading(
  { settings, print, replay }: JobContext<EvalSettings>,
  items: readonly SourceItem<Question>[],
): void {
  if (replay !== undefined) return;
  const { grader, judge } = settings;
  const named = { grader, judge: judge.url === '' ? null : judge.model };
  for (const line of gradingLines(questionsIn(items), named)) print(line);
}

function questionsIn(items: readonly SourceItem<Question>[]): readonly Question[] {
  return items.flatMap((item) => ('value' in item ? [item.value] : []));
}

function noHelp(): MillraceError<'USAGE'> {
  return new MillraceError(
    'USAGE',
    'roles.debugger, roles.backTracer and roles.refiner help rollouts of Python programs, not DeepAgent’s episodes: leave them out',
  );
}

async function chosenDialect(
  { settings, print, replay }: JobContext<EvalSettings>,
  before: Awaited<ReturnType<typeof askedBefore>>,
  tools: readonly Tool[],
  { sources, items }: EvaluationPlan,
): Promise<Dialect> {
  const chosen = await chosenPrompt(settings, before, {
    tools,
    unset: settings.explained ? 'default' : 'none',
  });
  const faults = before?.prompt.callFaults ?? settings.callFaults;
  const made = { ...chosen, folder: settings.tokenizer, tools };
  const dialectWith = (system: string): Promise<Dialect> =>
    dialectOf({ ...made, system, ...(callsFunctions(chosen.name) ? { faults } : {}) });
  const { name } = chosen;
  const own = Object.entries(setPrompts(sources, { settings, before, name, tools }));
  if (own.length === 0) return dialectWith(chosen.system);
  if (replay === undefined) for (const line of setPromptLines(own.map(([set]) => set))) print(line);
  // If no other set is asked, its prompt is the evaluation's.
  const [[, alone] = ['', '']] = own;
  if (sources.length === 1) return dialectWith(alone);
  const dialects = own.map(async ([set, system]) => {
    return [set, { system, dialect: await dialectWith(system) }] as const;
  });
  const bySet = new Map(await Promise.all(dialects));
  return askedBySet(await dialectWith(chosen.system), bySet, questionsIn(items));
}

/** Weights are not copied, and a training run deletes old ones. */
function gone(weights: string): MillraceError<'POLICY'> {
  return new MillraceError(
    'POLICY',
    `${weights} no longer exists: put it back to resume, or start another evaluation (--policy, --questions)`,
    { context: { weights } },
  );
}

/** The policy in this process, or the one on servers, which is version 0 throughout. */
async function engineOf(
  { settings, clock, folder, print }: JobContext<EvalSettings>,
  { tokenizer, stopTexts }: Dialect,
  contextMax: number,
): Promise<PolicyEngine> {
  const { policy, provider, threads, engine } = settings;
  if (engine.server === 'embedded') {
    return EmbeddedEngine.create({
      weights: policy,
      provider,
      threads,
      contextMax,
      clock,
      ...(stopTexts.length > 0 ? { tokenBytes: tokenBytes(tokenizer) } : {}),
    });
  }
  const { server, ...asked } = engine;
  const served = z.object(serverSettings).parse({ ...asked, publish: 'none' });
  return serverEngine(server, served, {
    policy: null,
    policyName: engine.model,
    tokenizer,
    contextMax,
    folder,
    clock: sleepClock(clock),
    print,
  });
}

function file({ path, name }: EvalSettings['questions'][number]) {
  return name === undefined ? { path } : { path, name };
}

/** In tokens. The engine's cache is as long as the longest context needs. */
function longestPrompt(
  items: readonly SourceItem<Question>[],
  prompt: (question: string) => Int32Array,
): number {
  return items.reduce(
    (most, item) => ('value' in item ? Math.max(most, prompt(item.value.question).length) : most),
    0,
  );
}

function toolsFor(context: JobContext<EvalSettings>): Promise<readonly Tool[]> {
  const { episodes, episodeTools, python, files, vision, corpus, searchTop } = context.settings;
  const use = episodes ? episodeTools : context.settings.tools;
  const tools = toolSettings.parse({ use, python, files, vision });
  const settings = { tools, corpus, searchTop, searchCharacters: 1200 };
  return toolsOf({ ...context, settings });
}

/**
 * How the reference's critic samples its votes (ET-Agent §10); a server's template is not left out, as it
 * does.
 */
const VOTE_SAMPLING: TextSampling = { maxTokens: 128, temperature: 0.6, topP: 0.95 };

/** The judge and, if requested, the critic: one model, whose replies are kept in the run folder. */
function juryOf(context: JobContext<EvalSettings>, seed: number): Jury | null {
  const { settings, folder, clock, own, print } = context;
  const timer = sleepClock(clock);
  const sitting = {
    seed,
    grader: ({ source }: Question) => graderOf(settings.grader, source),
    sleep: (ms: number, signal?: AbortSignal) => timer.sleep(ms, signal),
  };
  if (settings.judge.url === '') {
    return settings.grader === 'authors' ? jury({ ...sitting, judge: null }) : null;
  }
  const replies = own(openReplies(join(folder, 'judge.mdb')));
  const model = own(
    configuredTextModel(settings.judge, {
      own: () => scripted(() => null),
      clock: timer,
      replies,
      report: print,
    }),
  );
  const ask =
    (sampling: TextSampling): AskModel =>
    (request, signal) =>
      model.complete({ ...sampling, ...request, continuation: '' }, signal);
  return jury({
    ...sitting,
    judge: ask(samplingOf(settings.judge)),
    unsolvablePasses: settings.episode.mode === 'reference',
    ...(settings.conciseness ? { critic: ask(VOTE_SAMPLING) } : {}),
  });
}

/** A run's `run.json` names this file, so that the run can be replayed. */
export default evalJob;
