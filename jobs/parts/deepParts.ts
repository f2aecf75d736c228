/**
 * What the ready job deep-agent uses, by settings: a library of functions, what finds them, what answers
 * their calls, and the dialect of the policy's folder. Everything that can be wrong with a setting fails
 * here, before the first rollout.
 */
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { ToolDoc } from '../../base/functions/index.ts';
import { MillraceError, sleepClock } from '../../base/index.ts';
import { loadChatPrompt } from '../../model/hf/index.ts';
import type { TextModelSettings } from '../../model/text/index.ts';
import {
  type AskAuxiliary,
  type DeepDialect,
  deepDialect,
  type PromptForm,
} from '../../operators/deepAgent/index.ts';
import {
  apiBankTools,
  functionText,
  isApiBank,
  listedDocs,
  ownDocs,
  programTool,
  readApiBank,
  readLibrary,
} from '../../operators/deepAgent/tools/index.ts';
import type { Complete } from '../../operators/evolve/index.ts';
import { hasWorld } from '../../operators/rollout/index.ts';
import { askOnce, openToolCache } from '../../operators/tools/cache/index.ts';
import { FILE, VISION } from '../../operators/tools/files/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import { bm25Retriever, type Retriever } from '../../operators/tools/retrieval/index.ts';
import {
  type AskSimulator,
  modelWorld,
  simulatedTool,
} from '../../operators/tools/simulator/index.ts';
import type { Question, Task } from '../../topics/index.ts';
import { type DeepAgentSettings, deepAgentTools, docOf, functionTool } from '../deepAgent.ts';
import type { JobContext } from '../defineJob.ts';
import { checkWorld, type EnvironmentSettings, environmentOf } from '../environment/index.ts';
import { sameInputs } from '../inputs.ts';
import type { PolicyParts } from '../policyLoop.ts';
import { type PythonSettings, pythonOf, pythonSettings } from '../tools/pythonOf.ts';
import { indexFile, retrieverAt } from '../tools/retrieverAt.ts';
import { checkFunctions, type QuestionFile, questionTasks } from './questionTasks.ts';

/** Where functions come from, and how to find them. */
export const librarySettings = {
  library: z
    .string()
    .default('')
    .describe(
      'functions that can be called: JSON Lines, one OpenAI function per line, ToolBench’s corpus.tsv, RestBench’s specification, or the folder of API-Bank’s classes (docs/deepagent.md); empty = the questions’ own functions',
    ),
  retriever: z
    .string()
    .default('')
    .describe(
      'folder of an index of the functions (millrace retriever build); empty = search by words',
    ),
  python: pythonSettings
    .prefault({ characters: 20_000 })
    .describe('where to run functions that questions define in Python (ToolHop)'),
};

/** The settings for these parts. */
export interface LibrarySettings {
  readonly library: string;
  readonly retriever: string;
  readonly python: PythonSettings;
  readonly auxiliary: TextModelSettings;
  readonly simulator: TextModelSettings;
  readonly environment: EnvironmentSettings;
}

/** A role's model, once the policy exists. */
type RoleOf = (settings: TextModelSettings) => (live: Pick<PolicyParts, 'engine'>) => Complete;

/** The parts, before the policy exists. */
export interface DeepParts {
  readonly library: readonly Tool[];
  /** The functions that a question lists. */
  readonly listed: (question: Question) => readonly ToolDoc[] | null;
  /** How a question is asked. */
  readonly formOf: (question: Question) => PromptForm;
  /** For `readyParts`. */
  readonly tools: readonly Tool[];
  readonly dialectIn: (folder: string) => Promise<DeepDialect>;
  /** Binds the roles' models, which are not called before. */
  bind(role: RoleOf, live: Pick<PolicyParts, 'engine'>): void;
}

/**
 * Opens the parts; the job's context owns them. `real` = tools that really run, as functions of the library;
 * those for files are listed for questions with files. Fails with `TOOL_LIBRARY`, `USAGE` or the code of what
 * cannot be opened.
 */
export async function deepParts(
  context: JobContext<Pick<DeepAgentSettings, 'episode'> & LibrarySettings>,
  files: readonly QuestionFile[],
  real: readonly Tool[] = [],
): Promise<DeepParts> {
  const { settings, seed, folder, clock, own, replay } = context;
  const { episode } = settings;
  if (replay === undefined) {
    const { library, retriever: index } = settings;
    await sameInputs(folder, [library === '' ? '' : resolve(library), indexFile(index)]);
  }
  const tasks = await questionTasks(files);
  const environment = await environmentOf(context);
  if (environment === null) for (const [id, task] of tasks) checkWorld(id, task);
  const acts = (environment?.actions ?? []).map(docOf);
  const isBank = await isApiBank(settings.library);
  const python =
    isBank || [...tasks.values()].some(({ program }) => program !== '')
      ? own(await pythonOf(settings.python, [], { ...context, clock: sleepClock(clock) }))
      : null;
  const bank = isBank && python !== null ? await readApiBank(settings.library, python) : null;
  const called = new Map(real.map(functionTool).map((tool) => [tool.name, tool]));
  const read = bank?.docs ?? (settings.library === '' ? [] : await readLibrary(settings.library));
  checkIndexed(settings, called);
  const given = [
    ...read.filter(({ name }) => !called.has(name)),
    ...[...called.values()].map(docOf),
  ];
  checkFunctions(tasks, new Map(given.map((doc) => [doc.name, doc])));
  const docs = episode.form === 'open' ? withOwn(given, tasks) : given;
  if (docs.length === 0 && acts.length === 0 && [...tasks.values()].every(bringsNothing))
    throw noFunctions();
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
  const simulated = ({ name, description: about, parameters }: ToolDoc): Tool =>
    simulatedTool({ name, about, parameters }, answering);
  const toolsOfTask = (task: Task): ReadonlyMap<string, Tool> =>
    new Map(
      ownDocs({ task }).map((doc) => [
        doc.name,
        python === null || task.program === ''
          ? simulated(doc)
          : programTool(doc, task.program, python),
      ]),
    );
  const made = new Map<string, ReadonlyMap<string, Tool>>();
  const ownTools = (id: string): ReadonlyMap<string, Tool> | undefined => {
    const task = tasks.get(id);
    if (task === undefined || task.functions.length === 0) return undefined;
    const known = made.get(id) ?? toolsOfTask(task);
    made.set(id, known);
    return known;
  };
  const brought = new Map<string, string>();
  if (episode.form === 'open') {
    for (const [id, task] of tasks)
      for (const { name } of ownDocs({ task })) if (!brought.has(name)) brought.set(name, id);
  }
  const inBank = bank === null || python === null ? [] : apiBankTools(bank, python);
  const ofBank = new Map(inBank.map((tool) => [tool.name, tool]));
  const library = docs.map(
    ({ name, ...doc }) =>
      called.get(name) ??
      ownTools(brought.get(name) ?? '')?.get(name) ??
      ofBank.get(name) ??
      simulated({ name, ...doc }),
  );
  const byName = new Map(docs.map((doc) => [doc.name, doc]));
  const withoutFiles = docs.filter(({ name }) => !FOR_FILES.includes(name));
  const acting = environment?.actions ?? [];
  const isActing = (tool: Tool): boolean => acting.some(({ name }) => name === tool.name);
  const whole = [...library.filter((tool) => !isActing(tool)), ...acting];
  const form = actingForm(settings);
  const tools = deepAgentTools(settings, { library: whole, retriever, auxiliary, seed, ownTools });
  return {
    library: whole,
    listed(question) {
      if (hasWorld(question)) return [...acts, ...(listedDocs(question, byName) ?? [])];
      if (episode.form === 'open') return null;
      const all = (question.task?.files.length ?? 0) > 0 ? docs : withoutFiles;
      return listedDocs(question, byName) ?? all;
    },
    formOf: (question) => (hasWorld(question) ? form : episode.form),
    tools: environment === null ? tools : [...tools, environment.begin],
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

/** The functions for a question's files. */
const FOR_FILES: readonly string[] = [FILE, VISION];

/** Fails with `USAGE`: an index does not contain our tools. */
function checkIndexed(
  { retriever }: Pick<LibrarySettings, 'retriever'>,
  called: ReadonlyMap<string, unknown>,
): void {
  if (retriever === '' || called.size === 0) return;
  throw new MillraceError(
    'USAGE',
    `the index ${retriever} cannot find ${[...called.keys()].join(', ')}: leave retriever out (search by words), or list all functions (episode.form=closed)`,
  );
}

/** The library, followed by the functions that questions bring, so that a search can find them. */
function withOwn(given: readonly ToolDoc[], tasks: ReadonlyMap<string, Task>): readonly ToolDoc[] {
  const docs = new Map(given.map((doc) => [doc.name, doc]));
  for (const task of tasks.values()) {
    for (const doc of ownDocs({ task })) if (!docs.has(doc.name)) docs.set(doc.name, doc);
  }
  return [...docs.values()];
}

function bringsNothing({ functions }: Task): boolean {
  return functions.length === 0;
}

/** How to ask a question that has an environment. */
function actingForm({
  episode: { form },
  environment,
}: Pick<DeepAgentSettings, 'episode'> & Pick<LibrarySettings, 'environment'>): PromptForm {
  if (form !== 'open' && form !== 'closed') return form;
  const forms = { auto: 'environment', alfworld: 'embodied', webshop: 'shopping' } as const;
  return forms[environment.form];
}

function noFunctions(): MillraceError {
  return new MillraceError(
    'TOOL_LIBRARY',
    'there is no function to call: set library=FILE (JSON Lines, one OpenAI function per line), or give questions that have their own functions (docs/deepagent.md)',
  );
}

/** By meaning with an index or, without one, by the words of the functions. */
async function retrieverOf(
  { retriever: index, library }: Pick<LibrarySettings, 'retriever' | 'library'>,
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
  if (model === undefined) throw new Error(`${name} was asked before the policy was loaded`);
  return model({ role: 'analyst', name, prompt, draws, continuation: '', stop: [] }, signal);
}
