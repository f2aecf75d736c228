/**
 * What the ready job deep-agent uses, by settings: a library of functions, what finds them, what answers
 * their calls, and the dialect of the policy's folder. Everything that can be wrong with a setting fails
 * here, before the first rollout.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { MillraceError, sleepClock } from '../../base/index.ts';
import { loadChatPrompt } from '../../model/hf/index.ts';
import type { TextModelSettings } from '../../model/text/index.ts';
import {
  type AskAuxiliary,
  type DeepDialect,
  deepDialect,
} from '../../operators/deepAgent/index.ts';
import { functionText, readLibrary, type ToolDoc } from '../../operators/deepAgent/tools/index.ts';
import type { Complete } from '../../operators/evolve/index.ts';
import { askOnce, openToolCache } from '../../operators/tools/cache/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import { bm25Retriever, type Retriever } from '../../operators/tools/retrieval/index.ts';
import {
  type AskSimulator,
  modelWorld,
  simulatedTool,
} from '../../operators/tools/simulator/index.ts';
import { type DeepAgentSettings, deepAgentTools } from '../deepAgent.ts';
import type { JobContext } from '../defineJob.ts';
import type { PolicyParts } from '../policyLoop.ts';
import { retrieverAt } from '../tools/retrieverAt.ts';

/** Where functions come from, and how they are found. */
export const librarySettings = {
  library: z
    .string()
    .min(1, 'is required: a file of functions (JSON Lines, one OpenAI function per line)')
    .prefault('')
    .describe(
      'functions that can be called: JSON Lines, one OpenAI function per line (docs/deepagent.md)',
    ),
  retriever: z
    .string()
    .default('')
    .describe(
      'folder of an index of the functions (millrace retriever build); empty = search by words',
    ),
};

/** The settings that these parts are made of. */
export interface LibrarySettings {
  readonly library: string;
  readonly retriever: string;
  readonly auxiliary: TextModelSettings;
  readonly simulator: TextModelSettings;
}

/** A model of a role, once the policy is there. */
type RoleOf = (settings: TextModelSettings) => (live: PolicyParts) => Complete;

/** The parts, before there is a policy. */
export interface DeepParts {
  readonly library: readonly Tool[];
  /** For `readyParts`. */
  readonly tools: readonly Tool[];
  readonly dialectIn: (folder: string) => Promise<DeepDialect>;
  /** The roles' models; nothing is asked of them before. */
  bind(role: RoleOf, live: PolicyParts): void;
}

/**
 * Opens the parts; the job's context owns them. Fails with `TOOL_LIBRARY`, `USAGE` or what cannot be opened.
 */
export async function deepParts(
  context: JobContext<DeepAgentSettings & LibrarySettings>,
): Promise<DeepParts> {
  const { settings, seed, folder, clock, own, replay } = context;
  const { episode } = settings;
  const docs = await readLibrary(settings.library);
  const retriever = episode.form === 'open' ? own(await retrieverOf(settings, docs)) : null;
  const roles: { auxiliary?: Complete; simulator?: Complete } = {};
  const simulate: AskSimulator = ({ system, prompt, draws }, signal) =>
    ask(roles.simulator, 'simulator', `${system}\n\n${prompt}`, [seed, ...draws], signal);
  const auxiliary: AskAuxiliary = ({ purpose, prompt, draws }, signal) =>
    ask(roles.auxiliary, purpose, prompt, draws, signal);
  // A replay answers from its record.
  const cache =
    replay === undefined
      ? own(openToolCache({ path: join(folder, 'simulated.mdb'), clock: sleepClock(clock) }))
      : null;
  const { url, model, temperature, topP, maxTokens } = settings.simulator;
  const id = JSON.stringify([url === '' ? 'policy' : model, temperature, topP, maxTokens]);
  const answering = { world: modelWorld(id, simulate), once: askOnce(cache) };
  const library = docs.map(({ name, description: about, parameters }) =>
    simulatedTool({ name, about, parameters }, answering),
  );
  return {
    library,
    tools: deepAgentTools(settings, { library, retriever, auxiliary, seed }),
    async dialectIn(from) {
      const { tokenizer, prompt } = await loadChatPrompt(from, '');
      return deepDialect({ tokenizer, prompt, form: episode.form, mode: episode.mode });
    },
    bind(role, live) {
      roles.auxiliary = role(settings.auxiliary)(live);
      roles.simulator = role(settings.simulator)(live);
    },
  };
}

/** By an index's meaning or, without one, by the words of the functions. */
async function retrieverOf(
  { retriever: index, library }: LibrarySettings,
  docs: readonly ToolDoc[],
): Promise<Retriever> {
  const signal = new AbortController().signal;
  if (index === '') {
    const passages = docs.map((doc) => ({ id: doc.name, contents: functionText(doc) }));
    return bm25Retriever(passages, signal);
  }
  const opened = await retrieverAt({ index }, signal);
  if (opened.passages === docs.length) return opened;
  await opened.close();
  throw new MillraceError(
    'USAGE',
    `${index} has ${opened.passages} passages but ${library} has ${docs.length} functions: rebuild the index from this library (docs/deepagent.md)`,
  );
}

function ask(
  model: Complete | undefined,
  name: string,
  prompt: string,
  draws: Parameters<AskAuxiliary>[0]['draws'],
  signal: AbortSignal,
): Promise<string | null> {
  if (model === undefined) throw new Error(`${name} was asked before there was a policy`);
  return model({ role: 'analyst', name, prompt, draws, continuation: '', stop: [] }, signal);
}
