/**
 * What an episode asks of its environment: a search for tools, a call, condensing a text, the memories of a
 * fold. Each goes through the job's tools and is a record of its own; the answer is fenced before the policy
 * reads it.
 */

import type { ToolDoc } from '../../base/functions/index.ts';
import { canonicalJson } from '../../base/text/index.ts';
import { type Action, type Question, rolloutId, type ToolCall } from '../../topics/index.ts';
import { type BranchWorld, beginWorld, hasWorld, steppedBy } from '../rollout/branchWorld.ts';
import { codePoints } from '../text/characters.ts';
import type { Called } from '../tools/callTool.ts';
import { episodeRules } from './episodeRules.ts';
import {
  CONDENSE,
  type CondenseRequest,
  callError,
  REMEMBER,
  type Remembering,
  type RememberRequest,
  type ToolHit,
} from './episodeTools.ts';
import { historySteps } from './history.ts';
import { lenientJson } from './lenientJson.ts';
import { pythonJson } from './pythonJson.ts';
import { CALL, SEARCH } from './tags.ts';
import type { Thinking } from './thought.ts';
import { ownDocs } from './tools/ownDocs.ts';
import { readCall } from './tools/readCall.ts';

export interface WorldOptions {
  /** The existing functions, by name. */
  readonly docs: ReadonlyMap<string, ToolDoc>;
  /** The functions that a question lists; null = they have to be found. */
  readonly listed: (question: Question) => readonly ToolDoc[] | null;
  /** Of longer search results the auxiliary model picks a part; longer answers of calls it condenses. */
  readonly searchCharacters: number;
  readonly callCharacters: number;
}

/** The outcome of an action: what the policy reads, whether it succeeded, and what else is known. */
export type Outcome = Pick<Action, 'response' | 'ok'> & Partial<Action>;

/** Steps of the thought that the auxiliary model sees when it condenses. */
const STEPS_SEEN = 10;

/** `output` = everything written so far. */
export class EpisodeWorld {
  readonly toolCalls: ToolCall[] = [];
  readonly #thinking: Thinking & { readonly options: WorldOptions };
  readonly #rolloutId: string;
  /** What the policy may call: functions listed or found. */
  readonly #available = new Map<string, ToolDoc>();
  /** The functions that the question itself brings. */
  readonly #own: ReadonlyMap<string, ToolDoc>;
  /** Number of the next call. */
  #turn = 0;
  /** Its environment; null = it has none, or none yet. */
  state: BranchWorld | null = null;

  constructor(thinking: Thinking & { readonly options: WorldOptions }) {
    this.#thinking = thinking;
    this.#own = new Map(ownDocs(thinking.question).map((doc) => [doc.name, doc]));
    this.#rolloutId = rolloutId(thinking.question, thinking.index);
  }

  /** Begins its environment, if the question has one, and returns what it shows. */
  async begin(): Promise<string> {
    const { question, signal, rollout } = this.#thinking;
    if (!hasWorld(question)) return '';
    const { call, world } = await beginWorld(rollout.tools, question, this.#rolloutId, signal);
    this.toolCalls.push(call);
    this.state = world;
    return call.output;
  }

  /** The tools that the question lists, as the policy reads them. */
  list(): readonly ToolDoc[] {
    const { question, options } = this.#thinking;
    const listed = options.listed(question) ?? [];
    this.#offer(listed);
    return this.#fenced(listed);
  }

  async search(query: string, output: string): Promise<Outcome> {
    const { options, question } = this.#thinking;
    const { dialect, listed, mode } = options;
    const rules = episodeRules[mode];
    if (listed(question) !== null) {
      return { response: rules.searchOfListed(), ok: false, fault: 'listed' };
    }
    const { output: answer, ok, turn } = await this.#ask(SEARCH, query, output);
    if (!ok && rules.showsFailedSearch) return { response: dialect.fence(answer), ok, turn };
    const hits = ok ? ((lenientJson(answer) as readonly ToolHit[] | undefined) ?? []) : [];
    const found = hits.flatMap(({ name }) => this.#doc(name) ?? []);
    this.#offer(found);
    return { response: await this.#selected(query, found, output), ok, turn };
  }

  /** The hits as shown: all of them, or for a long list those that the auxiliary model picks. */
  async #selected(query: string, found: readonly ToolDoc[], output: string): Promise<string> {
    const { mode, searchCharacters, dialect } = this.#thinking.options;
    const all = pythonJson(this.#fenced(found), 2);
    if (codePoints(all) <= searchCharacters) return all;
    const pick = await this.#condensed('search', query, all, output);
    const picked = episodeRules[mode].picked(pick, found);
    return picked === null ? dialect.fence(pick) : pythonJson(this.#fenced(picked), 2);
  }

  async call(body: string, output: string): Promise<Outcome> {
    const { dialect, mode, callCharacters } = this.#thinking.options;
    const { name, arguments: given, fault } = readCall(body, (one) => this.#doc(one), mode);
    const input = name === null ? body : JSON.stringify(given);
    const known = { name, input, offered: name !== null && this.#available.has(name) };
    if (fault !== null) {
      return { ...known, response: dialect.fence(callError(fault)), ok: false, fault };
    }
    const asked = canonicalJson({ name, arguments: given });
    const { output: answer, ok, turn } = await this.#ask(CALL, asked, output);
    const isLong = codePoints(answer) > callCharacters;
    const shown = isLong ? await this.#condensed('call', asked, answer, output) : answer;
    return { ...known, response: dialect.fence(shown), ok, turn };
  }

  /** The auxiliary model's memories of the thought and of the calls in it. */
  async remember(
    calls: readonly Action[],
    output: string,
  ): Promise<{ readonly replies: Remembering | undefined; readonly turn: number }> {
    const { question, options } = this.#thinking;
    const request: RememberRequest = {
      id: this.#requestId,
      question: question.question,
      steps: historySteps(output),
      calls: pythonJson(
        calls.map(({ name, input, response }) => ({
          tool_call: { name, arguments: lenientJson(input) ?? input },
          tool_response: response,
        })),
      ),
      tools: episodeRules[options.mode].toolsRemembered([...this.#available.values()]),
    };
    const { output: answer, turn } = await this.#ask(REMEMBER, JSON.stringify(request), output);
    return { replies: lenientJson(answer) as Remembering | undefined, turn };
  }

  async #condensed(
    kind: CondenseRequest['kind'],
    asked: string,
    text: string,
    output: string,
  ): Promise<string> {
    const steps = historySteps(output, STEPS_SEEN);
    const request: CondenseRequest = { id: this.#requestId, kind, asked, steps, text };
    return (await this.#ask(CONDENSE, JSON.stringify(request), output)).output;
  }

  /** Names the draws of a request. */
  get #requestId(): string {
    return `${this.#rolloutId}#${this.#turn}`;
  }

  /** Calls a tool and keeps the record. */
  async #ask(
    tool: string,
    input: string,
    trajectory: string,
  ): Promise<Called & { readonly turn: number }> {
    const { question, signal, rollout } = this.#thinking;
    const place = { rolloutId: this.#rolloutId, turn: this.#turn++ };
    const { files } = question.task ?? {};
    const origin = { ...place, trajectory: () => trajectory, ...(files ? { files } : {}) };
    const called = await rollout.tools.call(tool, input, signal, origin);
    const call: ToolCall = { ...place, questionId: question.id, tool, input, ...called };
    this.toolCalls.push(call);
    if (this.state !== null) this.state = steppedBy(this.state, call);
    return { ...called, turn: place.turn };
  }

  /** A function by its name; the question's own take precedence over the library's. */
  #doc(name: string): ToolDoc | undefined {
    return this.#own.get(name) ?? this.#thinking.options.docs.get(name);
  }

  #offer(docs: readonly ToolDoc[]): void {
    for (const doc of docs) this.#available.set(doc.name, doc);
  }

  /** A description is text from outside, like everything in a library. */
  #fenced(docs: readonly ToolDoc[]): ToolDoc[] {
    const { dialect } = this.#thinking.options;
    return docs.map((doc) => JSON.parse(dialect.fence(JSON.stringify(doc))) as ToolDoc);
  }
}
