/**
 * What an episode asks of its environment, as tools of a job: a search for tools, a call of one, condensing a
 * text, and a fold. Each request and its answer is a record of `tool-calls` like any other call, so a replay
 * answers them from the record, and a resumed run recognises them.
 *
 * All are texts in, texts out, and the same input gives the same output: draws of the auxiliary model are
 * keyed by the request's own name.
 */

import { type DrawKey, messageOf, Semaphore } from '../../base/index.ts';
import { questionIdOf } from '../../topics/index.ts';
import type { Retriever } from '../tools/retrieval/retriever.ts';
import { isUnanswered, type Tool, type ToolResult } from '../tools/tool.ts';
import {
  condensePrompt,
  intentPrompt,
  memoryPrompt,
  repairPrompt,
  selectPrompt,
} from './auxiliaryPrompts.ts';
import type { EpisodeMode } from './episode.ts';
import { fencedJson, hasJsonFence } from './fencedText.ts';
import { lenientJson } from './lenientJson.ts';
import { type MemoryKind, memoryIn, memoryKinds } from './memories.ts';
import { CALL, SEARCH } from './tags.ts';
import { dedupeHits } from './tools/dedupeHits.ts';

/** The tool that condenses long texts. */
export const CONDENSE = 'condense';
/** The tool that writes memories. */
export const REMEMBER = 'remember';

/**
 * Asks the auxiliary model; null if it gave up. `purpose` says what for, `draws` name the request's draws.
 */
export type AskAuxiliary = (
  request: {
    readonly purpose: string;
    readonly prompt: string;
    readonly draws: readonly DrawKey[];
  },
  signal: AbortSignal,
) => Promise<string | null>;

/** What an episode's tools are built from. */
export interface EpisodeToolsOptions {
  readonly mode: EpisodeMode;
  readonly seed: number;
  /** The callable functions by name; each takes its arguments as JSON. */
  readonly library: ReadonlyMap<string, Tool>;
  /** The functions that a question brings itself, by its id; they take precedence over the library's. */
  readonly own?: (questionId: string) => ReadonlyMap<string, Tool> | undefined;
  /**
   * Finds functions by what they do: passages whose ids are names. Null = they are listed, and need not be
   * found.
   */
  readonly retriever: Pick<Retriever, 'retrieve'> | null;
  /** Limit of functions per search. */
  readonly top: number;
  readonly auxiliary: AskAuxiliary;
  /** Limit of concurrent requests to the auxiliary model. */
  readonly auxiliaryMax: number;
  /** Longest memory. */
  readonly memoryCharacters: number;
}

/** A function that a search found. */
export interface ToolHit {
  readonly name: string;
  readonly score: number;
}

/** The input of `condense`. */
export interface CondenseRequest {
  /** `<rollout>#<turn>`: names its draws. */
  readonly id: string;
  readonly kind: 'search' | 'call';
  readonly asked: string;
  readonly steps: string;
  readonly text: string;
}

/** The input of `remember`. */
export interface RememberRequest {
  readonly id: string;
  readonly question: string;
  readonly steps: string;
  readonly calls: string;
  readonly tools: string;
}

/** The output of `remember`: the auxiliary model's replies, null if it gave up. */
export type Remembering = Readonly<Record<MemoryKind, string | null>>;

/** The four tools. */
export function episodeTools(options: EpisodeToolsOptions): readonly Tool[] {
  const places = new Semaphore(options.auxiliaryMax);
  const auxiliary: AskAuxiliary = (request, signal) =>
    places.run(() => options.auxiliary(request, signal), signal);
  const asking = { ...options, auxiliary };
  const base = { concurrencyMax: options.auxiliaryMax, pure: false, close: async () => undefined };
  return [
    {
      ...base,
      name: SEARCH,
      about: 'Finds functions by what they do.',
      concurrencyMax: 16,
      pure: true,
      run: (query, signal) => search(query, options, signal),
    },
    callTool(options),
    {
      ...base,
      name: CONDENSE,
      about: 'Keeps of a long text what is of use.',
      run: (input, signal) => condense(JSON.parse(input) as CondenseRequest, asking, signal),
    },
    {
      ...base,
      name: REMEMBER,
      about: 'Writes the three memories of a fold.',
      run: (input, signal) => remember(JSON.parse(input) as RememberRequest, asking, signal),
    },
  ];
}

/** Texts may collapse to one in an index, so fetch more than needed. */
const FETCHED = 10;

async function search(
  query: string,
  { retriever, top }: EpisodeToolsOptions,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (retriever === null)
    return { output: 'The tools are listed; none can be searched for.', ok: false };
  const [hits = []] = await retriever.retrieve([query], FETCHED * top, signal);
  const kept = dedupeHits(hits, ({ id }) => id, top);
  const found: ToolHit[] = kept.map(({ id, score }) => ({ name: id, score }));
  return { output: JSON.stringify(found), ok: true };
}

/** Calls one function of the library, within its own limit of concurrent calls. */
function callTool({ library, own }: EpisodeToolsOptions): Tool {
  const ending = [...library.values()].filter(({ end }) => end !== undefined);
  const places = new Map<string, Semaphore>();
  const placesOf = ({ name, concurrencyMax }: Tool): Semaphore => {
    const known = places.get(name) ?? new Semaphore(concurrencyMax);
    places.set(name, known);
    return known;
  };
  return {
    name: CALL,
    about: 'Calls one function of the library.',
    concurrencyMax: 64,
    pure: false,
    async run(input, signal, situation) {
      const { name, arguments: given } = JSON.parse(input) as { name: string; arguments: unknown };
      const mine = own?.(questionIdOf(situation?.rolloutId ?? ''));
      const tool = mine?.get(name) ?? library.get(name);
      if (tool === undefined) return failed(`there is no tool named ${JSON.stringify(name)}`);
      try {
        const run = () => tool.run(JSON.stringify(given), signal, situation);
        return await placesOf(tool).run(run, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (isUnanswered(error)) throw error;
        return failed(messageOf(error));
      }
    },
    end: (rolloutId) => {
      for (const tool of ending) tool.end?.(rolloutId);
    },
    close: async () => {
      await Promise.all([...library.values()].map((tool) => tool.close()));
    },
  };
}

/** What the policy reads about a failed call. */
export function callError(why: string): string {
  return `Error calling tool: ${why}`;
}

function failed(why: string): ToolResult {
  return { output: callError(why), ok: false };
}

async function condense(
  { id, kind, asked, steps, text }: CondenseRequest,
  { auxiliary, seed, mode }: EpisodeToolsOptions,
  signal: AbortSignal,
): Promise<ToolResult> {
  const ask = (purpose: string, prompt: string): Promise<string | null> =>
    auxiliary({ purpose, prompt, draws: [seed, id, purpose] }, signal);
  const intent = (await ask(`${kind} intent`, intentPrompt(kind, asked, steps))) ?? '';
  if (kind === 'call') {
    const short = await ask('condense', condensePrompt(asked, intent, text));
    return short === null ? { output: text, ok: false } : { output: short, ok: true };
  }
  const reply = (await ask('select', selectPrompt(asked, intent, text))) ?? '';
  // Without a fence the whole list is shown; the caller checks its names against what was found.
  if (!hasJsonFence(reply)) return { output: text, ok: false };
  const chosen = fencedJson(reply);
  if (mode === 'repaired' && !Array.isArray(lenientJson(chosen)))
    return { output: text, ok: false };
  return { output: chosen, ok: true };
}

async function remember(
  { id, ...remembered }: RememberRequest,
  { auxiliary, seed, mode, memoryCharacters: charactersMax }: EpisodeToolsOptions,
  signal: AbortSignal,
): Promise<ToolResult> {
  const one = async (kind: MemoryKind): Promise<string | null> => {
    const prompt = memoryPrompt(kind, remembered);
    const ask = (text: string, attempt: number): Promise<string | null> =>
      auxiliary({ purpose: kind, prompt: text, draws: [seed, id, kind, attempt] }, signal);
    const reply = await ask(prompt, 0);
    if (mode === 'reference' || reply === null) return reply;
    try {
      memoryIn(reply, kind, { mode, charactersMax });
      return reply;
    } catch (error) {
      return (await ask(repairPrompt(prompt, messageOf(error)), 1)) ?? reply;
    }
  };
  const replies = await Promise.all(memoryKinds.map(one));
  const made: Record<string, string | null> = {};
  for (const [i, kind] of memoryKinds.entries()) made[kind] = replies[i] ?? null;
  return { output: JSON.stringify(made), ok: replies.every((reply) => reply !== null) };
}
