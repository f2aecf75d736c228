/**
 * One episode: runs the effects of the step function (nextState.ts) over the policy's thought (thought.ts) and the job's tools, and
 * keeps what came of it.
 *
 * Holds true:
 * - whatever is asked of the world (a search, a call, the auxiliary model) goes through `tools` and is a record of its own;
 * - text from outside is fenced, makes no tag token and is never learnt;
 * - it never rejects but when the signal aborts: what goes wrong ends the episode with its reason.
 */

import { hasCode, messageOf } from '../../base/index.ts';
import { canonicalJson } from '../../base/text/index.ts';
import {
  type Action,
  type Finish,
  type Fold,
  type Question,
  type Rollout,
  rolloutId,
  type ToolCall,
} from '../../topics/index.ts';
import { partsOf } from '../rollout/branch.ts';
import { codePoints } from '../text/characters.ts';
import type { Called } from '../tools/callTool.ts';
import type { DeepDialect } from './deepDialect.ts';
import type { EpisodeMode } from './episode.ts';
import {
  CONDENSE,
  type CondenseRequest,
  callError,
  REMEMBER,
  type Remembering,
  type RememberRequest,
  type ToolHit,
} from './episodeTools.ts';
import { type FirstMessage, foldPrompt } from './foldPrompt.ts';
import { historySteps } from './history.ts';
import { lenientJson } from './lenientJson.ts';
import { loggedMemory } from './loggedMemories.ts';
import { type Memories, type MemoryKind, memoryIn, memoryKinds } from './memories.ts';
import {
  type EpisodeEffect,
  type EpisodeLimits,
  type EpisodeState,
  firstState,
  nextState,
  type Step,
} from './nextState.ts';
import { pythonJson } from './pythonJson.ts';
import { CALL, SEARCH } from './tags.ts';
import { type Answer, type Thinking, Thought } from './thought.ts';
import { readCall } from './tools/readCall.ts';
import type { ToolDoc } from './tools/toolDoc.ts';

/** What bounds and feeds an episode. */
export interface EpisodeOptions {
  readonly dialect: DeepDialect;
  readonly mode: EpisodeMode;
  /** The functions that there are, by name. */
  readonly docs: ReadonlyMap<string, ToolDoc>;
  /** The functions that a question lists; null = they have to be found. */
  readonly listed: (question: Question) => readonly ToolDoc[] | null;
  /** Most actions of an episode. */
  readonly actionLimit: number;
  /** Most folds. */
  readonly foldLimit: number;
  /** Longest context before the answer is due: tokens, or in the reference words. */
  readonly contextLimit: number;
  /** Longer results of a search are picked from by the auxiliary model, longer answers of a call condensed. */
  readonly searchCharacters: number;
  readonly callCharacters: number;
  readonly memoryCharacters: number;
}

interface Growing extends Thinking {
  readonly samples: number;
  readonly options: EpisodeOptions;
}

/** An episode as it is recorded. */
export interface Grown {
  readonly rollout: Rollout;
  readonly toolCalls: readonly ToolCall[];
}

/** Steps of the thought that the auxiliary model sees when it condenses. */
const STEPS_SEEN = 10;

/** See above. */
export async function growEpisode(growing: Growing): Promise<Grown> {
  const startedMs = growing.rollout.clock.now();
  const { question, index, signal } = growing;
  const episode = new Growth(growing);
  const { branch } = episode.thought;
  try {
    branch.finish = await episode.run();
  } catch (error) {
    if (signal.aborted || hasCode(error, 'TOOL_BROKEN')) throw error;
    branch.finish = 'failed';
    branch.reason = messageOf(error);
  }
  const { options, rollout } = growing;
  const { seed, clock } = rollout;
  return {
    rollout: {
      id: episode.id,
      question,
      index,
      groupSize: growing.samples,
      seed,
      prompt: episode.thought.firstPrompt,
      tokens: Int32Array.from(branch.tokens),
      logProbs: Float32Array.from(branch.logProbs),
      segments: branch.segments,
      text: options.dialect.read(partsOf(branch, options.dialect)),
      toolCalls: branch.calls,
      parent: null,
      version: branch.segments[0]?.version ?? rollout.gate.version,
      status: branch.finish === 'failed' ? 'failed' : 'done',
      finish: branch.finish,
      reason: branch.reason,
      startedMs,
      endedMs: clock.now(),
      episode: {
        mode: options.mode,
        actions: episode.actions,
        folds: episode.folds,
        limits: episode.limits,
      },
    },
    toolCalls: episode.toolCalls,
  };
}

class Growth {
  readonly id: string;
  readonly thought: Thought;
  readonly actions: Action[] = [];
  readonly folds: Fold[] = [];
  readonly toolCalls: ToolCall[] = [];
  readonly limits: string[] = [];
  readonly #growing: Growing;
  readonly #limits: EpisodeLimits;
  /** What is listed and was found: what the policy may call. */
  readonly #available = new Map<string, ToolDoc>();
  #first: FirstMessage = { text: '', anchor: '', at: 0 };

  constructor(growing: Growing) {
    const { question, index, options } = growing;
    this.#growing = growing;
    this.id = rolloutId(question, index);
    this.thought = new Thought(growing);
    const { mode, dialect, actionLimit: actions, foldLimit: folds, contextLimit } = options;
    this.#limits = {
      mode,
      actions,
      folds,
      context: contextLimit,
      measure: (text) =>
        mode === 'reference'
          ? text.split(/\s+/u).filter((word) => word !== '').length
          : dialect.tokenizer.encode(text, { tags: false }).length,
      environment: dialect.form === 'embodied' || dialect.form === 'shopping',
    };
  }

  async run(): Promise<Finish> {
    const { question, options } = this.#growing;
    const { dialect } = options;
    const listed = options.listed(question) ?? [];
    for (const doc of listed) this.#available.set(doc.name, doc);
    this.#first = dialect.first(
      dialect.fence(question.question),
      listed.map((doc) => this.#fenced(doc)),
    );
    this.thought.begin(dialect.message(this.#first.text));
    let step = nextState(
      firstState,
      { type: 'begun', size: this.#size(this.#first.text) },
      this.#limits,
    );
    let observed: Answer | null = null;
    while (step.effect.do !== 'finish') {
      const { state, effect } = step;
      if (effect.do === 'generate') {
        this.thought.inject(effect.inject, observed);
        observed = null;
        const next = await this.#reply(state, effect);
        if (next === null) return this.#ended(state, true);
        step = next;
      } else if (effect.do === 'fold') step = await this.#fold(state);
      else {
        const seen =
          effect.do === 'search'
            ? await this.#search(effect.query, state)
            : await this.#call(effect.body, state);
        observed = { kind: effect.do, text: seen.text };
        step = nextState(state, { type: 'observed', kind: effect.do, ...seen }, this.#limits);
      }
    }
    return this.#ended(step.state, this.thought.cutOff);
  }

  #ended({ limits, final }: EpisodeState, cutOff: boolean): Finish {
    this.limits.push(...limits, ...(cutOff ? ['response'] : []));
    const { dialect } = this.#growing.options;
    const last = partsOf(this.thought.branch, dialect).at(-1);
    if (last?.author === 'policy' && last.text.includes('\\boxed{')) return 'answer';
    if (cutOff) return 'length';
    return final || limits.length > 0 ? 'callLimit' : 'stop';
  }

  /** The length of the context: as it is, or in the reference the words of a text. */
  #size(text: string): number {
    const { measure, mode } = this.#limits;
    return mode === 'reference' ? measure(text) : this.thought.contextTokens;
  }

  /** Asks for a reply; null = there is no room for one. */
  async #reply(
    state: EpisodeState,
    { final }: Extract<EpisodeEffect, { readonly do: 'generate' }>,
  ): Promise<Step | null> {
    const text = await this.thought.reply(final);
    if (text === null) return null;
    const { mode } = this.#limits;
    const size = mode === 'reference' ? this.#size(text) : this.thought.contextTokens - state.size;
    const step = nextState(state, { type: 'reply', text, size }, this.#limits);
    if (step.state.last !== null) this.#act(step.state.last);
    return step;
  }

  /** An action is known by now; what comes of it is filled in when it is carried out. */
  #act({ kind, body, refused }: NonNullable<EpisodeState['last']>): void {
    const span = this.thought.spanOf(kind);
    // A mark of an earlier turn that the release acts on again has no tokens of its own.
    if (span === null) return;
    this.actions.push({
      kind,
      ...span,
      name: null,
      input: body,
      response: '',
      ok: false,
      offered: false,
      fault: refused ?? '',
      turn: -1,
    });
    if (refused === null)
      this.thought.name(kind === 'fold' ? 'fold' : kind === 'search' ? SEARCH : CALL);
  }

  /** What came of the last action. */
  #came(result: Partial<Action>): void {
    const last = this.actions.pop();
    if (last !== undefined) this.actions.push({ ...last, ...result });
  }

  /** Asks the world, and keeps the record. */
  async #ask(
    tool: string,
    input: string,
    state: EpisodeState,
  ): Promise<Called & { readonly turn: number }> {
    const { question, signal, rollout } = this.#growing;
    const turn = this.toolCalls.length;
    const origin = { rolloutId: this.id, turn, trajectory: () => state.output };
    const called = await rollout.tools.call(tool, input, signal, origin);
    const { output, ok, attempts, cached, ms } = called;
    this.toolCalls.push({
      rolloutId: this.id,
      turn,
      questionId: question.id,
      tool,
      input,
      output,
      ok,
      attempts,
      cached,
      ms,
    });
    return { ...called, turn };
  }

  async #search(query: string, state: EpisodeState): Promise<{ text: string; ok: boolean }> {
    const { options, question } = this.#growing;
    const { docs, dialect, mode } = options;
    this.thought.branch.calls += 1;
    if (options.listed(question) !== null) {
      if (mode === 'reference') throw new Error('a search for tools where they are listed');
      const text = 'The tools are listed above; none can be searched for.';
      this.#came({ response: text, fault: 'listed' });
      return { text, ok: false };
    }
    const { output, ok, turn } = await this.#ask(SEARCH, query, state);
    const hits = ok ? ((lenientJson(output) as readonly ToolHit[] | undefined) ?? []) : [];
    const found = hits.flatMap(({ name }) => docs.get(name) ?? []);
    for (const doc of found) this.#available.set(doc.name, doc);
    const all = pythonJson(
      found.map((doc) => this.#fenced(doc)),
      2,
    );
    const failed = !ok && mode === 'repaired';
    const text = failed ? dialect.fence(output) : await this.#selected(query, found, all, state);
    this.#came({ response: text, ok, turn });
    return { text, ok };
  }

  /** The hits as they are shown: all of them, or of a long list those that the auxiliary model picks. */
  async #selected(
    query: string,
    found: readonly ToolDoc[],
    all: string,
    state: EpisodeState,
  ): Promise<string> {
    const { mode, searchCharacters, dialect } = this.#growing.options;
    if (codePoints(all) <= searchCharacters) return all;
    const picked = await this.#condensed('search', query, all, state);
    if (mode === 'reference') return dialect.fence(picked);
    const names = (lenientJson(picked) as readonly { readonly name?: unknown }[] | undefined) ?? [];
    const chosen = found.filter(({ name }) => names.some((one) => one?.name === name));
    return pythonJson(
      (chosen.length === 0 ? found : chosen).map((doc) => this.#fenced(doc)),
      2,
    );
  }

  async #call(body: string, state: EpisodeState): Promise<{ text: string; ok: boolean }> {
    const { options } = this.#growing;
    const { dialect, docs, mode, callCharacters } = options;
    this.thought.branch.calls += 1;
    const read = readCall(body, (name) => docs.get(name), mode);
    const input = read.name === null ? body : JSON.stringify(read.arguments);
    const offered = read.name !== null && this.#available.has(read.name);
    const known = { name: read.name, input, offered };
    if (read.fault !== null) {
      const text = dialect.fence(callError(read.fault));
      this.#came({ ...known, response: text, fault: read.fault });
      return { text, ok: false };
    }
    const asked = canonicalJson({ name: read.name, arguments: read.arguments });
    const { output, ok, turn } = await this.#ask(CALL, asked, state);
    const long = codePoints(output) > callCharacters;
    const text = dialect.fence(long ? await this.#condensed('call', asked, output, state) : output);
    this.#came({ ...known, response: text, ok, turn });
    return { text, ok };
  }

  async #condensed(
    kind: 'search' | 'call',
    asked: string,
    text: string,
    state: EpisodeState,
  ): Promise<string> {
    const request: CondenseRequest = {
      id: `${this.id}#${this.toolCalls.length}`,
      kind,
      asked,
      steps: historySteps(state.output, STEPS_SEEN),
      text,
    };
    const { output } = await this.#ask(CONDENSE, JSON.stringify(request), state);
    return output;
  }

  async #fold(state: EpisodeState): Promise<Step> {
    const { options, question } = this.#growing;
    const { dialect, mode } = options;
    const calls = this.actions.filter(({ kind }) => kind === 'call');
    const request: RememberRequest = {
      id: `${this.id}#${this.toolCalls.length}`,
      question: question.question,
      steps: historySteps(state.output),
      calls: pythonJson(
        calls.map(({ name, input, response }) => ({
          tool_call: { name, arguments: lenientJson(input) ?? input },
          tool_response: response,
        })),
      ),
      tools: mode === 'reference' ? '' : pythonJson([...this.#available.values()]),
    };
    const { output, turn } = await this.#ask(REMEMBER, JSON.stringify(request), state);
    const { memories, madeUp } = this.#memories(lenientJson(output) as Remembering | undefined);
    const message = foldPrompt(this.#first, memories, mode);
    const prompt = dialect.message(message);
    const dropped = this.thought.contextTokens;
    const at = this.thought.begin(prompt);
    this.folds.push({ at, prompt, dropped, ...memories, madeUp });
    this.#came({ ok: true, turn });
    const size = mode === 'reference' ? this.#size(message) : prompt.length;
    return nextState(state, { type: 'folded', size }, this.#limits);
  }

  /** The memories as they will stand in the context; those that the model did not give in their form are made from the calls. */
  #memories(replies: Remembering | undefined): {
    readonly memories: Memories;
    readonly madeUp: string[];
  } {
    const { options, question } = this.#growing;
    const { mode, dialect, memoryCharacters: charactersMax } = options;
    const madeUp: string[] = [];
    const one = (kind: MemoryKind): string => {
      try {
        return dialect.fence(memoryIn(replies?.[kind] ?? null, kind, { mode, charactersMax }));
      } catch {
        madeUp.push(kind);
        return dialect.fence(loggedMemory(kind, question.question, this.actions));
      }
    };
    const [episodic, working, tool] = memoryKinds.map(one) as [string, string, string];
    return { memories: { episodic, working, tool }, madeUp };
  }

  /** A description is from outside, like all that a library says. */
  #fenced(doc: ToolDoc): ToolDoc {
    return JSON.parse(this.#growing.options.dialect.fence(JSON.stringify(doc))) as ToolDoc;
  }
}
