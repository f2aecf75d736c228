/**
 * The flags of `millrace eval` as settings of its job. Flags not given are left out, so that a resumed run
 * keeps its settings; a policy brings defaults of its own (tokenizer, corpus, the prompt of its training).
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { MODEL_SERVER, serverAddresses } from '../../base/http/index.ts';
import { systemFile } from '../../jobs/parts/index.ts';
import { toolNames } from '../../jobs/tools/index.ts';
import { type ServerName, serverWires, usualServer } from '../../model/remote/wires/index.ts';
import { findDataset } from '../../sources/index.ts';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import type { Settings } from '../settingFields.ts';
import { parseSetting, type Setting } from '../settings.ts';
import { type PolicyFiles, policyFiles } from './policyFiles.ts';

export interface EvalFlags {
  readonly runs: string;
  readonly policy?: string;
  /** For a policy on servers: their kind, its name there, and where their key is. */
  readonly server?: ServerName;
  readonly model?: string;
  readonly keyEnv?: string;
  readonly tokenizer?: string;
  readonly system?: string;
  readonly prompt?: string;
  readonly dialect?: string;
  readonly questions?: readonly string[];
  /** Folder in which to look for datasets by name. */
  readonly data: string;
  readonly limit?: number;
  readonly rollouts?: number;
  readonly greedy?: boolean;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  readonly tools?: string;
  /** Folder of the files that questions name, and the model that sees the images among them. */
  readonly files?: string;
  readonly vision?: string;
  readonly visionModel?: string;
  readonly corpus?: string;
  readonly searchTop?: number;
  readonly responseMax?: number;
  readonly callLimit?: number;
  readonly threads?: number;
  readonly provider?: string;
  readonly judge?: string;
  readonly judgeModel?: string;
  readonly judgeServer?: string;
  readonly judgeKeyEnv?: string;
  readonly judgeMaxTokens?: number;
  readonly conciseness?: boolean;
  /** DeepAgent's episodes, with this prompt. */
  readonly episodes?: string;
  readonly library?: string;
  readonly retriever?: string;
  readonly auxiliary?: string;
  readonly auxiliaryModel?: string;
  readonly equality?: string;
  readonly grader?: string;
  /** `key=value`, over what the other flags say. */
  readonly set?: readonly string[];
  readonly environment?: string;
  readonly agent?: string;
}

/** Fails with code `USAGE` if flags do not fit together, and like `policyFiles` and `findDataset`. */
export async function givenSettings(flags: EvalFlags, io: Io): Promise<Setting[]> {
  const served = servedPolicy(flags, io);
  const policy =
    flags.policy === undefined
      ? null
      : (served?.files ?? (await policyFiles(flags.policy, flags, io)));
  const questions = await Promise.all(
    (flags.questions ?? []).map((one) => located(one, flags, io)),
  );
  const values: Settings = {
    ...(policy === null
      ? {}
      : {
          ...{ policy: policy.weights, policyName: policy.name, tokenizer: policy.tokenizer },
          promptIn: policy.promptIn,
        }),
    ...limitsOf(policy),
    ...systemOf(flags, io),
    ...served?.engine,
    ...(questions.length === 0 ? {} : { questions }),
    ...sampling(flags),
    ...shaping(flags),
    ...(policy === null && flags.tools === undefined ? {} : toolsOf(flags, policy, questions, io)),
    ...filesOf(flags, io),
    ...episodesOf(flags, policy, io),
    ...judgeOf(flags),
    ...plain(flags),
  };
  const given = Object.entries(values).map(([key, value]) => setting(key, value));
  return [...given, ...(flags.set ?? []).map(parseSetting)];
}

/** The limits of the policy's training. */
function limitsOf(policy: PolicyFiles | null): Settings {
  const { tools: _tools, episodes = {}, ...limits } = policy?.asked ?? {};
  return { ...limits, ...episodes };
}

function systemOf({ system }: EvalFlags, io: Io): Settings {
  if (system === undefined) return {};
  return { system: systemFile({ system }) === '' ? system : resolve(io.cwd, system) };
}

interface Served {
  readonly files: PolicyFiles;
  readonly engine: Settings;
}

/** A policy given by the URLs of its servers; null for any other. */
function servedPolicy(flags: EvalFlags, io: Io): Served | null {
  const { policy = '', server = usualServer, model, keyEnv, tokenizer } = flags;
  if (!/^https?:\/\//.test(policy)) {
    const idle = { '--model': model, '--server': flags.server, '--key-env': keyEnv };
    const [given] = Object.entries(idle).find(([, value]) => value !== undefined) ?? [];
    if (given === undefined || flags.policy === undefined) return null;
    throw usageError(`${given} needs a policy on a server (--policy http://host:8000)`);
  }
  serverAddresses(policy, MODEL_SERVER);
  if (tokenizer === undefined) {
    throw usageError(
      'a policy on a server needs --tokenizer FOLDER (tokenizer.json and chat template), because we send the server tokens',
    );
  }
  const { name: called, namesModel } = serverWires[server];
  if (model === undefined && namesModel) {
    throw usageError(
      `a policy on ${called} needs --model NAME, one of those that ${policy.split(',')[0]}/v1/models lists (adapters included)`,
    );
  }
  const name = model ?? policy;
  return {
    files: {
      name: model === undefined ? policy : `${model} at ${policy}`,
      weights: policy,
      tokenizer: resolve(io.cwd, tokenizer),
      corpus: null,
      promptIn: resolve(io.cwd, tokenizer),
      asked: {},
    },
    engine: {
      'engine.server': server,
      'engine.urls': policy,
      'engine.model': name,
      ...(keyEnv === undefined ? {} : { 'engine.keyEnv': keyEnv }),
    },
  };
}

function setting(key: string, value: unknown): Setting {
  const path = key.split('.');
  return { key, path, text: typeof value === 'string' ? value : JSON.stringify(value) };
}

/** Flags that are settings of the same name. */
function plain(flags: EvalFlags): Settings {
  const { limit, rollouts, searchTop, responseMax, callLimit, conciseness, equality, prompt } =
    flags;
  const { threads, provider, dialect, grader, environment, agent } = flags;
  const all = {
    limit,
    rollouts,
    searchTop,
    responseMax,
    callLimit,
    conciseness,
    equality,
    prompt,
    threads,
    provider,
    dialect,
    grader,
    'environment.url': environment === 'none' ? '' : environment,
    'agent.command': agent,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** `FILE`, or `NAME=FILE` for a benchmark whose file has another name. */
async function located(
  given: string,
  { data }: EvalFlags,
  io: Io,
): Promise<{ path: string; name?: string }> {
  const equals = given.indexOf('=');
  if (equals < 1 || existsSync(resolve(io.cwd, given))) {
    return { path: await findDataset(given, data, io.cwd) };
  }
  const path = await findDataset(given.slice(equals + 1), data, io.cwd);
  return { path, name: given.slice(0, equals) };
}

function sampling({ greedy, temperature, rollouts = 1 }: EvalFlags): Settings {
  if (greedy === true && temperature !== undefined) {
    throw usageError('--greedy means temperature 0; give --greedy or --temperature, not both');
  }
  const chosen = greedy === true ? 0 : temperature;
  if (rollouts > 1 && chosen === 0) {
    throw usageError(
      `${rollouts} greedy rollouts of a question would all be the same; set --temperature, or use one rollout`,
    );
  }
  if (chosen !== undefined) return { temperature: chosen };
  return rollouts > 1 ? { temperature: 1 } : {};
}

function shaping({ topP, topK, minP, repetitionPenalty }: EvalFlags): Settings {
  const all = { topP, topK, minP, repetitionPenalty };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function toolsOf(
  flags: EvalFlags,
  policy: PolicyFiles | null,
  questions: readonly { path: string }[],
  io: Io,
): Settings {
  const { tools, corpus } = flags;
  const beside = questions.map(({ path }) => join(dirname(path), 'corpus.jsonl'));
  const found =
    corpus === undefined ? (policy?.corpus ?? beside.find(existsSync)) : resolve(io.cwd, corpus);
  const wanted: readonly string[] =
    tools === undefined
      ? (policy?.asked.tools ?? ['python', ...(found === undefined ? [] : ['search'])])
      : tools === 'none'
        ? []
        : tools.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !toolNames.includes(name));
  if (unknown !== undefined) {
    throw usageError(
      `unknown tool ${unknown}; --tools takes none, or one or more of ${toolNames.join(',')}`,
    );
  }
  const episodes = flags.episodes !== undefined || policy?.asked.episodes !== undefined;
  const use = episodes && tools !== undefined ? { episodeTools: wanted } : { tools: wanted };
  if (!wanted.includes('search')) return use;
  if (found !== undefined) return { ...use, corpus: found };
  throw usageError(
    'the search tool needs documents: give --corpus FILE, with one {id, title, text} per line',
  );
}

function filesOf({ files, vision, visionModel }: EvalFlags, io: Io): Settings {
  if (vision !== undefined && visionModel === undefined) {
    throw usageError('--vision needs --vision-model NAME, the model’s name on that server');
  }
  if (vision === undefined && visionModel !== undefined) {
    throw usageError('--vision-model needs the server that has it: --vision URL');
  }
  return {
    ...(files === undefined ? {} : { 'files.folder': resolve(io.cwd, files) }),
    ...(vision === undefined ? {} : { 'vision.url': vision, 'vision.model': visionModel }),
  };
}

/** DeepAgent's episodes: those of the policy's run, or as the flags say. */
function episodesOf(flags: EvalFlags, policy: PolicyFiles | null, io: Io): Settings {
  const { episodes, library, retriever, auxiliary, auxiliaryModel: model } = flags;
  const own = { '--library': library, '--retriever': retriever, '--auxiliary': auxiliary };
  const [idle] = Object.entries(own).find(([, value]) => value !== undefined) ?? [];
  const isAsked = episodes !== undefined || policy?.asked.episodes !== undefined;
  if (!isAsked && policy !== null && idle !== undefined) {
    throw usageError(`${idle} is for DeepAgent’s episodes: also give --episodes FORM`);
  }
  if (auxiliary !== undefined && model === undefined) {
    throw usageError('--auxiliary needs --auxiliary-model NAME, the model’s name on that server');
  }
  const server = { url: auxiliary, model };
  return {
    ...(isAsked ? { grader: 'deep-agent' } : {}),
    ...(episodes === undefined ? {} : { episodes: true, 'episode.form': episodes, tools: [] }),
    ...(library === undefined ? {} : { library: resolve(io.cwd, library) }),
    ...(retriever === undefined ? {} : { retriever: resolve(io.cwd, retriever) }),
    ...(auxiliary === undefined
      ? {}
      : Object.fromEntries(
          ['auxiliary', 'simulator'].flatMap((role) =>
            Object.entries(server).map(([key, value]) => [`${role}.${key}`, value]),
          ),
        )),
  };
}

function judgeOf(flags: EvalFlags): Settings {
  const { judge = 'none', judgeModel, judgeServer, judgeKeyEnv, judgeMaxTokens } = flags;
  if (judge === 'none') {
    const isAsked = flags.conciseness === true || judgeMaxTokens !== undefined;
    if (isAsked || judgeModel !== undefined) {
      throw usageError('no judge is set: give its server with --judge URL');
    }
    return flags.judge === undefined ? {} : { 'judge.url': '' };
  }
  if (judgeModel === undefined) {
    throw usageError('--judge needs --judge-model NAME, the model’s name on that server');
  }
  return {
    'judge.url': judge,
    'judge.model': judgeModel,
    ...(judgeServer === undefined ? {} : { 'judge.server': judgeServer }),
    ...(judgeKeyEnv === undefined ? {} : { 'judge.keyEnv': judgeKeyEnv }),
    ...(judgeMaxTokens === undefined ? {} : { 'judge.maxTokens': judgeMaxTokens }),
  };
}
