/**
 * `deepAgent`: ToolPO on episodes of one continued thought (DeepAgent §1 to §3), in rounds, as one stream.
 *
 *     questions ─► rollout (episodes: search, call, fold) ─► score (ToolPO) ─► paretoSample (all) ─► batch ─► trainer
 *         ▲ gate                                                                                       │
 *         └──────────────────────────────────────────── weights ◄──────────────────────────────────────┘
 *
 * The wiring is that of `calibrate` with groups that are trained on as they are; its own are how a group is
 * grown and how it is rewarded. `select=questions` and `sampler=pareto` add the curriculum of ET-Agent.
 */
import { z } from 'zod';
import type { ToolDoc } from '../base/functions/index.ts';
import {
  type AskAuxiliary,
  type DeepDialect,
  episodeTools,
  growEpisodes,
  type PromptForm,
  promptForms,
} from '../operators/deepAgent/index.ts';
import { onlyText, specOf } from '../operators/dialect/native/index.ts';
import { taskSuccess } from '../operators/metrics/deepAgent/index.ts';
import { accuracy, type RewardFunction } from '../operators/rewards/index.ts';
import { type ToolPoOptions, toolPo } from '../operators/rewards/toolPo/index.ts';
import type { Tool } from '../operators/tools/index.ts';
import type { Retriever } from '../operators/tools/retrieval/index.ts';
import type { Question } from '../topics/index.ts';
import { calibrate } from './calibrate/calibrate.ts';
import { calibrateSettings } from './calibrate/settings.ts';
import type { Method } from './method.ts';
import { positiveInt } from './policySettings.ts';

const limit = z.number().int().nonnegative();

/** The settings of an episode. */
export const episodeSettings = z.object({
  mode: z
    .enum(['repaired', 'reference'])
    .default('repaired')
    .describe('with the defects of the release (reference) or without them (docs/deepagent.md)'),
  form: z
    .enum(promptForms)
    .default('open')
    .describe(
      'what the prompt offers: a search for tools (open), a list of tools (closed), or an environment to act in (the others)',
    ),
  actions: positiveInt.default(50).describe('maximum actions per episode, of all kinds'),
  folds: limit.default(3).describe('maximum folds per episode; 0 = never fold'),
  context: positiveInt
    .default(24_000)
    .describe(
      'context length at which the policy must answer, in tokens (with mode=reference, in words)',
    ),
  top: positiveInt.default(10).describe('functions per search result'),
  searchCharacters: positiveInt
    .default(15_000)
    .describe('length above which the auxiliary model picks from a list of functions'),
  callCharacters: positiveInt
    .default(5000)
    .describe('length above which the auxiliary model condenses the result of a call'),
  memoryCharacters: positiveInt
    .default(4000)
    .describe('maximum length of each of the three memories of a fold'),
  auxiliaryAtOnce: positiveInt.default(32).describe('concurrent requests to the auxiliary model'),
});

/** `episodeSettings` with all defaults filled in. */
export type EpisodeSettings = z.infer<typeof episodeSettings>;

const { shape } = calibrateSettings;

/** The settings of `calibrate`, with ToolPO's numbers as defaults. */
export const deepAgentSettings = calibrateSettings.extend({
  rollouts: shape.rollouts.default(8),
  advantage: shape.advantage.default('toolpo'),
  aggregation: shape.aggregation.default('seq-mean-token-sum'),
  clipC: shape.clipC.default(1e9),
  branching: shape.branching.default('none'),
  select: shape.select.default('groups'),
  sampler: shape.sampler.default('random'),
  mixedOnly: shape.mixedOnly.default(false),
  miniBatches: shape.miniBatches.default(1),
  episode: episodeSettings.prefault({}),
  callWeight: z.number().nonnegative().default(1).describe('weight of right calls (λ1)'),
  foldWeight: z
    .number()
    .nonnegative()
    .default(1)
    .describe('weight of folds that shorten the context (λ2)'),
  credit: z
    .enum(['sum', 'mean', 'distinct'])
    .default('sum')
    .describe('how right calls count: all of them, their share, or each function once'),
});

/** `deepAgentSettings` with all defaults filled in. */
export type DeepAgentSettings = z.infer<typeof deepAgentSettings>;

/** What the method needs besides the loop. */
export interface DeepAgentParts {
  readonly dialect: DeepDialect;
  readonly library: readonly Tool[];
  /** The functions that a question lists; left out = all of them if the prompt is `closed`, else none. */
  readonly listed?: (question: Question) => readonly ToolDoc[] | null;
  /** How to ask a question; left out = as `episode.form` says. */
  readonly formOf?: (question: Question) => PromptForm;
  /** The calls that answer a question; left out = its `task.gold`. */
  readonly gold?: ToolPoOptions['gold'];
  /** R_success; left out = what its `task` says, else whether the answer is right. */
  readonly success?: RewardFunction;
}

/** How to grow the episodes of a question. */
export function episodesOf(
  episode: EpisodeSettings,
  { dialect, library, ...parts }: Pick<DeepAgentParts, 'dialect' | 'library' | 'listed' | 'formOf'>,
): ReturnType<typeof growEpisodes> {
  const docs = library.map(docOf);
  const all = dialect.form === 'open' ? null : docs;
  const { listed = () => all, formOf } = parts;
  return growEpisodes({
    dialect,
    listed,
    ...(formOf === undefined ? {} : { formOf }),
    mode: episode.mode,
    docs: new Map(docs.map((doc) => [doc.name, doc])),
    actionLimit: episode.actions,
    foldLimit: episode.folds,
    contextLimit: episode.context,
    searchCharacters: episode.searchCharacters,
    callCharacters: episode.callCharacters,
    memoryCharacters: episode.memoryCharacters,
  });
}

/** The method. */
export function deepAgent(settings: DeepAgentSettings, parts: DeepAgentParts): Method {
  const { episode, callWeight, foldWeight, credit } = settings;
  const { success, gold } = parts;
  const grow = episodesOf(episode, parts);
  const reward = toolPo({
    callWeight,
    foldWeight,
    credit,
    success: success ?? taskSuccess(accuracy()),
    ...(gold === undefined ? {} : { gold }),
  });
  // If groups are trained on as they are, all of them are.
  const keep = settings.select === 'groups' ? settings.explore : settings.keep;
  return calibrate({ ...settings, keep }, { grow, reward });
}

/** A tool of the library as described to the policy. */
export function docOf(tool: Tool): ToolDoc {
  const { name, about: description, parameters } = specOf(tool);
  return { name, description, parameters };
}

/** Our tools by the names they have in DeepAgent's release. */
const RELEASED: Readonly<Record<string, string>> = {
  python: 'execute_python_code',
  search: 'web_search',
  browse: 'browse_pages',
};

/** A job's tool as a function of the library, which gets its arguments as JSON. */
export function functionTool(tool: Tool): Tool {
  const spec = specOf(tool);
  const only = onlyText(spec);
  return {
    ...tool,
    name: RELEASED[tool.name] ?? tool.name,
    parameters: spec.parameters,
    run: (input, signal, situation) =>
      tool.run(only === null ? input : textIn(input, only), signal, situation),
  };
}

/** One argument of a call; '' if it is not a text. */
function textIn(input: string, argument: string): string {
  const value = (JSON.parse(input) as Readonly<Record<string, unknown>> | null)?.[argument];
  return typeof value === 'string' ? value : '';
}

/** The tools that a job of episodes calls: those that `rollout` calls in its environment. */
export function deepAgentTools(
  { episode }: Pick<DeepAgentSettings, 'episode'>,
  world: {
    readonly library: readonly Tool[];
    readonly retriever: Pick<Retriever, 'retrieve'> | null;
    readonly auxiliary: AskAuxiliary;
    readonly seed: number;
    /** The functions that a question brings itself, by its id. */
    readonly ownTools?: (questionId: string) => ReadonlyMap<string, Tool> | undefined;
  },
): readonly Tool[] {
  const { mode, top, memoryCharacters, auxiliaryAtOnce: auxiliaryMax } = episode;
  const library = new Map(world.library.map((tool) => [tool.name, tool]));
  const { ownTools, ...rest } = world;
  const own = ownTools === undefined ? {} : { own: ownTools };
  return episodeTools({ ...rest, ...own, library, mode, top, memoryCharacters, auxiliaryMax });
}
