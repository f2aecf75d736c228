/**
 * Finds the files of a policy given on the command line: a safetensors file, a folder, or a run (its newest
 * version or a given one).
 *
 * A policy needs a tokenizer. A file's is in the same folder; a run's is in the run, in the folder that the
 * run's first policy came from, or in `base` beside the run's job file.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { lastValueFrom, toArray } from 'rxjs';
import { MillraceError } from '../../base/index.ts';
import { besideWeights, bringsDialect } from '../../jobs/parts/index.ts';
import { toolNames } from '../../jobs/tools/index.ts';
import { checkpointsIn, localPath, mustBeWhole } from '../../model/checkpoints/index.ts';
import { checkpointsOf } from '../../sinks/weights/index.ts';
import { topics, type Weights } from '../../topics/index.ts';
import { usageError } from '../failure.ts';
import type { Io } from '../io.ts';
import { versionsIn } from '../rewind/steps.ts';
import { findRun, type Run, withLog } from '../runs.ts';
import { tokenizerFolders } from '../runTokenizer.ts';

export interface PolicyFiles {
  /** Its name for people. */
  readonly name: string;
  /** A safetensors file, or a Hugging Face folder; absolute. */
  readonly weights: string;
  /** Folder with `tokenizer.json`; absolute. */
  readonly tokenizer: string;
  /** Documents that it was trained to search; null if there are none with it. */
  readonly corpus: string | null;
  /** The folder that may say how to prompt it: its training run's, or its own. */
  readonly promptIn: string;
  /** Limits and tools of its training, if known. */
  readonly asked: AskedAs;
}

/** Settings for the evaluation that come from a run. */
export interface AskedAs {
  readonly responseMax?: number;
  readonly callLimit?: number;
  /** The Python tool's setting. */
  readonly python?: object;
  /** Where the files of questions are, and the model that sees the images among them. */
  readonly files?: object;
  readonly vision?: object;
  readonly tools?: readonly string[];
  readonly searchTop?: number;
  /** Its environment, and how it acts there. */
  readonly environment?: object;
  /** Its agent, and room for the agent's requests. */
  readonly agent?: object;
  readonly episodePrompt?: number;
  /** For a run of deep-agent: settings of its episodes. */
  readonly episodes?: Readonly<Record<string, unknown>>;
}

export interface PolicyPlace {
  /** Folder of runs, as given. */
  readonly runs: string;
  /** Folder of the tokenizer, if it is not found automatically. */
  readonly tokenizer?: string;
  /** The agent to evaluate, instead of the run's. */
  readonly agent?: string;
}

const POLICY_FILE = 'policy.safetensors';

/** Fails with code `POLICY` (or `NO_RUN`) if there is no policy; the message says what to do. */
export async function policyFiles(given: string, place: PolicyPlace, io: Io): Promise<PolicyFiles> {
  const path = resolve(io.cwd, given);
  if (!existsSync(join(io.cwd, place.runs, given, 'run.json'))) {
    const entry = await stat(path).catch(() => null);
    if (entry?.isFile() === true) return ofFile(path, given, place, io);
    if (entry?.isDirectory() === true && !existsSync(join(path, 'run.json'))) {
      return ofFolder(path, given, place, io);
    }
    if (entry?.isDirectory() === true) {
      const run = path.slice(dirname(path).length + 1);
      return policyFiles(run, { ...place, runs: dirname(path) }, io);
    }
    if (/[/\\]|\.safetensors$/.test(given)) throw noPolicy(`${path} does not exist`);
  }
  return ofRun(given, place, io);
}

function ofFile(path: string, name: string, place: PolicyPlace, io: Io): PolicyFiles {
  if (!path.endsWith('.safetensors')) {
    throw noPolicy(`${path} is not a policy; give a .safetensors file, a folder or a run`);
  }
  const folder = dirname(path);
  const tokenizer = tokenizerIn([folder], place, io);
  return {
    ...{ name, weights: path, tokenizer, corpus: null },
    promptIn: besideWeights(folder),
    asked: {},
  };
}

function ofFolder(path: string, name: string, place: PolicyPlace, io: Io): PolicyFiles {
  const own = join(path, POLICY_FILE);
  const isCheckpoint = existsSync(join(path, 'config.json'));
  if (!existsSync(own) && !isCheckpoint) {
    throw noPolicy(`${path} contains neither ${POLICY_FILE} nor a Hugging Face checkpoint`);
  }
  const tokenizer = tokenizerIn([path], place, io);
  const weights = existsSync(own) ? own : path;
  return { name, weights, tokenizer, corpus: null, promptIn: path, asked: {} };
}

async function ofRun(given: string, place: PolicyPlace, io: Io): Promise<PolicyFiles> {
  const at = given.lastIndexOf('@');
  const [name, version] = at < 0 ? [given, null] : [given.slice(0, at), given.slice(at + 1)];
  const run = await findRun(io, place.runs, name);
  const weights = await chosen(run, await manifests(run), version);
  const { settings } = run.record;
  const named = settings.corpus;
  const documents = typeof named === 'string' && named !== '' ? [resolve(io.cwd, named)] : [];
  const corpus = [join(run.folder, 'corpus.jsonl'), ...documents].find(existsSync);
  return {
    name: `${name}@${weights.version}`,
    weights: await wholePath(run, weights),
    tokenizer: tokenizerIn(await tokenizerFolders(run, io), place, io),
    corpus: corpus ?? null,
    promptIn: run.folder,
    asked: askedBy(run, place, io),
  };
}

/** Fails with code `USAGE` for a run in a dialect of its own that an evaluation does not know. */
function askedBy({ name, record }: Run, place: PolicyPlace, io: Io): AskedAs {
  const { settings, job } = record;
  const episodes = episodesIn(settings, io);
  const places = { ...toolPlaces(settings, io), ...environmentIn(settings) };
  if (episodes !== null) {
    return { ...number(settings, 'responseMax'), ...places, tools: [], episodes };
  }
  const agent = agentIn(settings, place);
  if (agent !== null) return { ...number(settings, 'responseMax'), ...agent, tools: [] };
  if (bringsDialect(settings)) {
    throw usageError(
      `${name} is a run of ${job.name}, whose policy this command cannot ask. See its own evaluation with: millrace report ${name}. To evaluate more questions, start a run with policy=runs/${name}, heldOutFile and heldOut (docs/deepagent.md)`,
    );
  }
  const limits = { ...number(settings, 'responseMax'), ...number(settings, 'callLimit') };
  // Only ready jobs have it; other jobs make prompts of their own.
  if (typeof settings.promptMax !== 'number') return { ...limits, ...places };
  const use = toolsIn(settings).use;
  return {
    ...limits,
    ...places,
    ...number(settings, 'searchTop'),
    ...(isToolNames(use) ? { tools: use } : {}),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function toolsIn({ tools }: Fields): Fields {
  return isFields(tools) ? tools : {};
}

/** Where programs run, where files are, and which model sees images. */
function toolPlaces(settings: Fields, io: Io): AskedAs {
  const { python, files, vision } = toolsIn(settings);
  const folder = isFields(files) && typeof files.folder === 'string' ? files.folder : '';
  return {
    ...(isFields(python) ? { python } : {}),
    ...(folder === '' ? {} : { files: { ...(files as Fields), folder: resolve(io.cwd, folder) } }),
    ...(isFields(vision) ? { vision } : {}),
  };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How deep-agent's episodes went; null for another job, and for one whose functions are in its code. */
function episodesIn(
  settings: Readonly<Record<string, unknown>>,
  io: Io,
): Readonly<Record<string, unknown>> | null {
  const { episodes, episode, library, retriever, auxiliary, simulator } = settings;
  const { promptMax, episodePrompt = promptMax } = settings;
  // An evaluation records whether it used episodes.
  if (episodes === false) return null;
  if (typeof episode !== 'object' || typeof library !== 'string') return null;
  const place = (path: unknown): string =>
    typeof path === 'string' && path !== '' ? resolve(io.cwd, path) : '';
  const files = { library: place(library), retriever: place(retriever) };
  const { episodeTools = toolsIn(settings).use } = settings;
  return {
    ...{ episodes: true, episode, ...files, auxiliary, simulator, episodePrompt },
    ...(isToolNames(episodeTools) ? { episodeTools } : {}),
  };
}

function number(settings: Readonly<Record<string, unknown>>, key: keyof AskedAs): AskedAs {
  const value = settings[key];
  return typeof value === 'number' ? { [key]: value } : {};
}

/** The agent of the run or of the command; null if there is none. */
function agentIn(
  { agent, promptMax }: Fields,
  place: PolicyPlace,
): Pick<AskedAs, 'agent' | 'episodePrompt'> | null {
  if (!isFields(agent) || typeof promptMax !== 'number') return null;
  const { command, url } = agent;
  if (place.agent === undefined && command === '' && url === '') return null;
  return { agent: { ...agent, serve: false, port: 0 }, episodePrompt: promptMax };
}

/** The environment of a run that has one. */
function environmentIn({
  environment,
}: Readonly<Record<string, unknown>>): Pick<AskedAs, 'environment'> {
  if (typeof environment !== 'object' || environment === null) return {};
  return (environment as { readonly url?: unknown }).url === '' ? {} : { environment };
}

/** Whether an evaluation has all of these tools. */
function isToolNames(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.every((name) => toolNames.includes(name));
}

function manifests(run: Run): Promise<Weights[]> {
  return withLog(run, async (log) => {
    const stored$ = log.tap(topics.weights, { from: { kind: 'earliest' }, follow: false });
    return (await lastValueFrom(stored$.pipe(toArray()))).map(({ value }) => value);
  });
}

/** The newest version, or the requested one, among those whose weights still exist. */
async function chosen(run: Run, all: readonly Weights[], version: string | null): Promise<Weights> {
  const known = await versionsIn(run.folder, all);
  const kept = known.flatMap(({ manifest, hasWeights }) => (hasWeights ? [manifest] : []));
  const found =
    version === null ? kept.at(-1) : kept.find((weights) => String(weights.version) === version);
  if (found !== undefined) return found;
  if (all.length === 0) throw noPolicy(`run ${run.name} has no weights yet`);
  const versions = kept.map((weights) => weights.version).join(', ');
  throw noPolicy(
    `run ${run.name} no longer has ${version === null ? 'any weights' : `weights of version ${version}`}; available versions: ${versions === '' ? 'none' : versions} (the newest and those that ended a round are kept)`,
  );
}

/** Where a version is, after checking that it is what the run saved. */
async function wholePath(run: Run, manifest: Weights): Promise<string> {
  const store = checkpointsIn(run.folder);
  const { weights } = checkpointsOf(manifest);
  const { name } = run;
  const advice = `evaluate another version (${name}@N); millrace doctor ${name} says which are intact`;
  await mustBeWhole(store, weights, { run: name, advice });
  return localPath(store.resolve(weights));
}

/** The first of these folders with a tokenizer, or the given one. */
function tokenizerIn(folders: readonly string[], { tokenizer }: PolicyPlace, io: Io): string {
  const places = tokenizer === undefined ? folders : [resolve(io.cwd, tokenizer)];
  const found = places.find((folder) => existsSync(join(folder, 'tokenizer.json')));
  if (found !== undefined) return found;
  throw noPolicy(
    `no tokenizer.json in ${places.filter(isAbsolute).join(', ')}; give its folder with --tokenizer FOLDER`,
  );
}

function noPolicy(message: string): MillraceError<'POLICY'> {
  return new MillraceError('POLICY', message);
}
