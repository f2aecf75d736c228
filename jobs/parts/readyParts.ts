/**
 * What every ready job uses, by settings: the policy and how it writes, tools, engine, trainer, questions.
 *
 * Everything that can be wrong with a setting fails here, before the first rollout, with what to do about it.
 */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { z } from 'zod';
import { sleepClock } from '../../base/index.ts';
import { type ChatPrompt, loadChatPrompt } from '../../model/hf/index.ts';
import type { Tokenizer } from '../../model/index.ts';
import { type Provider, providers } from '../../model/runtime/index.ts';
import { enginePolicy, samplingOf, textModelSettings } from '../../model/text/index.ts';
import { type CallFaults, callFaults, type Dialect } from '../../operators/dialect/index.ts';
import type { Complete } from '../../operators/evolve/index.ts';
import { callTools } from '../../operators/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import {
  type EndlessQuestions,
  endlessForms,
  endlessFrom,
  namesEndless,
  repeatsAre,
} from '../../sources/endless/index.ts';
import { readDataset } from '../../sources/index.ts';
import type { JobContext } from '../defineJob.ts';
import { dialectOf } from '../dialects/dialectOf.ts';
import { checkWithoutHelp, type EnvironmentSettings, environmentOf } from '../environment/index.ts';
import { sameInputs, tokenizerFiles } from '../inputs.ts';
import type { JobQuestions } from '../plan.ts';
import type { PolicyParts } from '../policyLoop.ts';
import { type PolicySettings, positiveInt } from '../policySettings.ts';
import { completeWith, textRoles } from '../roles.ts';
import { imagesFolder } from '../tools/attachmentsOf.ts';
import { indexFile } from '../tools/retrieverAt.ts';
import { toolSettings } from '../tools/toolSettings.ts';
import { type ToolsSettings, toolsOf } from '../tools/toolsOf.ts';
import { checkPolicy } from './checkPolicy.ts';
import {
  askedBefore,
  chosenPrompt,
  dialectSetting,
  type PromptSettings,
  promptSetting,
  sayPrompt,
  systemFile,
  systemSetting,
} from './chosenPrompt.ts';
import { checkEngine, type EngineSettings, engineSettings, openEngine } from './engines.ts';
import { type HelperSettings, helperSettings, helpersOf } from './helpers.ts';
import { patienceOf } from './places.ts';
import { findPolicy, type PolicyPlace } from './policyPlace.ts';
import {
  checkEngineFits,
  checkPromptFits,
  checkVocabulary,
  type PromptLimit,
  promptFault,
  withinPrompt,
} from './promptLimit.ts';
import { promptRecord } from './promptRecord.ts';
import { checkPublished } from './published.ts';
import {
  checkTrainer,
  openTrainer,
  type TrainerSettings,
  trainerSettings,
  trainingHere,
} from './trainers.ts';

/** A text that a job requires; the message says what for. */
const needed = (message: string) => z.string().min(1, message).prefault('');

/** Settings that all ready jobs have, to be spread into those of a method. */
export const readySettings = {
  policy: needed(
    'is required: a Hugging Face folder, or the name of a model in the Hugging Face cache',
  ).describe(
    'initial policy: a Hugging Face folder, a policy file, the folder of a run (add @VERSION for a version), or the name of a model in the Hugging Face cache',
  ),
  questions: needed('is required: a file of questions (CSV, JSON Lines, JSON, Parquet)').describe(
    `questions to train on: CSV, JSON Lines, JSON or Parquet with question and answer; a benchmark’s file; or an endless source: ${endlessForms} (docs/sources.md)`,
  ),
  repeats: z
    .enum(repeatsAre)
    .default('once')
    .describe('whether an endless source may repeat a question (by its id)'),
  heldOutFile: z
    .string()
    .default('')
    .describe('file of questions to evaluate on; empty = hold out some of `questions`'),
  dialect: dialectSetting,
  callFaults: z
    .enum(callFaults)
    .default('answered')
    .describe(
      'with dialect=native: whether an invalid call is answered with an error or ends the rollout',
    ),
  system: systemSetting,
  prompt: promptSetting,
  tools: toolSettings,
  roles: helperSettings.prefault({}),
  corpus: z
    .string()
    .default('')
    .describe('documents for the search tool: JSON Lines with id, title, text'),
  searchTop: positiveInt.default(4).describe('documents per search result'),
  searchCharacters: positiveInt.default(1200).describe('maximum characters of each document'),
  promptMax: positiveInt
    .default(1024)
    .describe('maximum prompt tokens; a question with a longer prompt becomes a dead letter'),
  responseMax: positiveInt.default(1024).describe('maximum response tokens, tool results included'),
  engine: engineSettings.prefault({}),
  trainer: trainerSettings.prefault({}),
  threads: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe('threads for engine and trainer in this process, which take turns; 0 = all cores'),
  provider: z
    .enum(providers)
    .default('cpu')
    .describe('device that engine and trainer compute on; tested at the start (docs/gpu.md)'),
};

/** A role's model: the policy itself unless a server is named. */
export const roleSettings = textModelSettings;

/** `readySettings` with all defaults filled in, as well as those of the loop. */
export interface ReadySettings extends PolicySettings, ToolsSettings, PromptSettings {
  readonly policy: string;
  readonly questions: string;
  readonly repeats: (typeof repeatsAre)[number];
  readonly heldOutFile: string;
  readonly callFaults: CallFaults;
  readonly roles: HelperSettings;
  /** Left out = the job has no environments. */
  readonly environment?: EnvironmentSettings;
  readonly promptMax: number;
  readonly engine: EngineSettings;
  readonly trainer: TrainerSettings;
  readonly threads: number;
  readonly provider: Provider;
}

/** Settings that nothing uses in a job with a dialect and tools of its own. */
const chosen = [
  ...(['dialect', 'callFaults', 'system', 'prompt'] as const),
  ...(['tools', 'roles', 'corpus', 'searchTop', 'searchCharacters'] as const),
] as const;
type Chosen = (typeof chosen)[number];

/** `readySettings` for such a job. */
export type OwnSettings = Omit<ReadySettings, Chosen> & Partial<Pick<ReadySettings, Chosen>>;

/** The settings of `readySettings` that such a job omits: `schema.omit(notRead)`. */
export const notRead = Object.fromEntries(chosen.map((name) => [name, true])) as Readonly<
  Record<Chosen, true>
>;

/** What a ready job is wired from. */
export interface ReadyParts<D extends Dialect = Dialect> {
  readonly parts: PolicyParts;
  /** The policy of `parts`, as given. */
  readonly dialect: D;
  readonly questions: JobQuestions;
  /**
   * A role's model: the one on the server in its settings, or else the policy itself, asked without tools.
   */
  readonly role: (
    settings: z.infer<typeof roleSettings>,
  ) => (live: Pick<PolicyParts, 'engine'>) => Complete;
}

/** What your own job provides instead of settings. */
export interface OwnParts<D extends Dialect = Dialect> {
  /** The tools, instead of the setting `tools`. */
  readonly tools?: readonly Tool[];
  /** Whether something else reads `task.world` of questions, so that they need no environment. */
  readonly worlds?: boolean;
  /** Builds the dialect from the tokenizer in a policy's folder, instead of the setting `dialect`. */
  readonly dialectIn?: (folder: string) => Promise<D>;
  /** Whether questions may lack answers, because something else gives rollouts their rewards. */
  readonly unanswered?: boolean;
}

/**
 * The parts that the settings of a ready job choose, except for those given; the job's context owns them.
 * Fails with `POLICY`, `MEMORY`, `USAGE` or the code of what cannot be read.
 */
export function readyParts<D extends Dialect = Dialect>(
  context: JobContext<OwnSettings>,
  given: OwnParts<D> & Required<Pick<OwnParts<D>, 'tools' | 'dialectIn'>>,
): Promise<ReadyParts<D>>;
/** The same, if the settings choose dialect, tools or both. */
export function readyParts<D extends Dialect = Dialect>(
  context: JobContext<ReadySettings>,
  given?: OwnParts<D>,
): Promise<ReadyParts<D>>;
/** Both. */
export async function readyParts<D extends Dialect>(
  asked: JobContext<OwnSettings>,
  given: OwnParts<D> = {},
): Promise<ReadyParts<D>> {
  // Callers that leave some of them out pass the settings that choose them.
  const context = asked as JobContext<ReadySettings>;
  const { settings, own, clock } = context;
  const { promptMax, heldOutFile } = settings;
  // Before anything is loaded, or waits for a service.
  checkEngine(settings.engine);
  checkTrainer(settings.trainer);
  checkPublished(settings.trainer, settings.engine);
  const policy = await findPolicy(settings.policy);
  const vocabSize = await checkPolicy(policy, {
    generates: settings.engine.server === 'embedded' ? settings.engine : null,
    trains: trainingHere(settings.trainer),
    contextMax: contextOf(settings),
    limits: 'promptMax + responseMax is',
    provider: settings.provider,
    print: context.print,
  });
  warnOfSize(context);
  const { questions, corpus = '', tools: choice } = asked.settings;
  if (context.replay === undefined)
    await sameInputs(context.folder, [
      ...[questions, heldOutFile, corpus].map((file) =>
        file === '' || namesEndless(file) ? '' : resolve(file),
      ),
      systemFile(asked.settings),
      indexFile(choice?.search.index ?? ''),
      ...tokenizerFiles(policy.folder),
    ]);
  const { begin = null, actions = [] } =
    given.dialectIn === undefined ? ((await environmentOf(context)) ?? {}) : {};
  const tools = [...(given.tools ?? (await toolsOf(context))), ...actions];
  const isWorld = begin !== null || tools.some(({ offered }) => offered === false);
  const before = await askedBefore(context, policy);
  const chosen = async (): Promise<Dialect> =>
    dialectOf({
      ...(await chosenPrompt(settings, before, { tools })),
      ...{ folder: policy.folder, tools, faults: settings.callFaults },
    });
  // Without a dialect from the caller, any will do.
  const dialect = (await (given.dialectIn?.(policy.folder) ?? chosen())) as D;
  sayPrompt(context, before, promptRecord(dialect));
  const { seed } = context;
  const { lagMax } = settings;
  const roles = asked.settings.roles ?? helperSettings.parse({});
  const helpers = helpersOf(roles, { seed, lagMax, dialect: dialect.name });
  if (isWorld) checkWithoutHelp(helpers.helping);
  const called = own(
    callTools(tools, {
      clock,
      helpers: begin === null ? helpers.tools : [...helpers.tools, begin],
    }),
  );
  const limit = { prompt: dialect.prompt, promptMax };
  checkPromptFits(limit);
  checkVocabulary(dialect, vocabSize);
  const made = await enginesOf(policy, dialect.tokenizer, context);
  checkEngineFits(dialect.prompt('').length, made.engine);
  const role = rolesOf(policy, context);
  helpers.bind(role, made);
  const { helping } = helpers;
  const episodes = given.dialectIn !== undefined;
  const images = imagesFolder(choice?.files.folder ?? '', context);
  const from = (file: string) =>
    withinPrompt(readDataset(file, { images, unanswered: given.unanswered ?? false }), file, {
      ...limit,
      episodes,
      worlds: isWorld || given.worlds === true,
    });
  return {
    parts: { ...made, tools: called, dialect, base: policy.path, helping },
    dialect,
    questions: {
      train:
        questions === ''
          ? []
          : namesEndless(questions)
            ? arriving(context, limit)
            : from(questions),
      ...(questions === '' ? {} : { file: questions }),
      ...(heldOutFile === '' ? {} : { heldOut: from(heldOutFile) }),
    },
    role,
  };
}

/** Endless questions. */
function arriving(
  { settings, clock, print }: JobContext<ReadySettings>,
  limit: PromptLimit,
): EndlessQuestions {
  const { questions, repeats } = settings;
  return endlessFrom(questions, {
    clock: sleepClock(clock),
    env: process.env,
    print,
    repeats,
    check: ({ question }) => promptFault(question, limit),
  });
}

/** Tokens of a batch above which a step of training in this process takes hours. */
const BATCH_TOKENS = 2_000_000;

/** The papers' batches are for many GPUs; says so once if this process is to train on them. */
function warnOfSize({ settings, print }: JobContext<ReadySettings>): void {
  const { batchGroups = 0, rollouts = 0, trainer } = settings as ReadySettings & BatchSizes;
  const tokens = batchGroups * rollouts * contextOf(settings);
  if (trainer.kind !== 'embedded' || tokens < BATCH_TOKENS) return;
  print(
    `a batch has up to ${(tokens / 1e6).toFixed(1)} million tokens (${batchGroups} questions × ${rollouts} rollouts × ${contextOf(settings)} tokens), ` +
      'which takes several GPUs per step, but this process is set to train on it: set trainer.kind to a training service (docs/jobs.md), or lower batchGroups, rollouts or responseMax',
  );
}

/** For methods that train on batches of rollouts. */
interface BatchSizes {
  readonly batchGroups?: number;
  readonly rollouts?: number;
}

/** The trainer first, then the engine, which may sample from it. */
async function enginesOf(
  { path, name: policyName }: PolicyPlace,
  tokenizer: Tokenizer,
  context: JobContext<ReadySettings>,
): Promise<Pick<PolicyParts, 'engine' | 'trainer'>> {
  const { settings, run, folder, seed, clock, print, own } = context;
  const { provider, swap, threads } = settings;
  const place = {
    ...{ policy: path, policyName, tokenizer, contextMax: contextOf(settings) },
    ...{ threads: threads || availableParallelism(), provider },
    ...{ run, folder, seed, clock: sleepClock(clock), print, patienceMs: patienceOf(context) },
  };
  const trainer = own(await openTrainer(settings.trainer, place));
  const engine = own(await openEngine(settings.engine, { ...place, swap, trainer }));
  return { engine, trainer };
}

/**
 * Roles are asked without the rollouts' system prompt: the request says what to do. The policy's template is
 * read by the first request to it.
 */
export function rolesOf(
  { folder }: Pick<PolicyPlace, 'folder'>,
  context: Parameters<typeof textRoles>[0],
): ReadyParts['role'] {
  let plain: Promise<ChatPrompt> | null = null;
  const onServer = textRoles(context);
  return (model) => {
    if (model.url !== '') {
      const served = onServer(model);
      return () => served;
    }
    const sampling = samplingOf(model);
    return ({ engine }) =>
      async (request, signal) => {
        plain ??= loadChatPrompt(folder, '');
        const policy = enginePolicy({ ...(await plain), engine });
        return completeWith(policy, sampling)(request, signal);
      };
  };
}

/** Longest prompt and response, in tokens. */
function contextOf({ promptMax, responseMax }: ReadySettings): number {
  return promptMax + responseMax;
}
