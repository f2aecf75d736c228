/**
 * One episode: runs the effects of the step function (nextState.ts) over an engine and the job's tools, and keeps what came of it.
 *
 * Holds true:
 * - the context grows by the policy's own tokens and by what is put between them, never by text that is tokenised a second time; a
 *   fold begins a new one;
 * - whatever is asked of the world (a search, a call, the auxiliary model) goes through `tools` and is a record of its own;
 * - text from outside is fenced, makes no tag token and is never learnt;
 * - every draw is keyed by (seed, question, phase, stage, rollout, round): a draw is tied to its place in the context, and a round is
 *   a context of its own;
 * - it never rejects but when the signal aborts: what goes wrong ends the episode with its reason.
 */
import { canonicalJson } from '../../base/canonicalJson.ts';
import type { DrawKey } from '../../base/draws.ts';
import { hasCode, messageOf } from '../../base/errors.ts';
import type { Generation } from '../../model/engine.ts';
import { samplingIn } from '../../model/sampling.ts';
import type { Action, Finish, Fold, Question, Rollout, ToolCall } from '../../streams/records.ts';
import { endTokens } from '../dialect/dialect.ts';
import { appendGeneration, appendResult, type Branch, partsOf, root } from '../rollout/branch.ts';
import type { RolloutOptions } from '../rollout/options.ts';
import { precedence } from '../rollout/precedence.ts';
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
  keptReply,
  nextState,
  type Step,
} from './nextState.ts';
import { pythonJson } from './pythonJson.ts';
import { CALL, type Observed, SEARCH, stops } from './tags.ts';
import { tokenSpan } from './tokenSpan.ts';
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

interface Growing {
  readonly question: Question;
  readonly index: number;
  readonly samples: number;
  readonly signal: AbortSignal;
  readonly rollout: RolloutOptions;
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
  const { branch } = episode;
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
      prompt: episode.firstPrompt,
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
  readonly branch: Branch;
  readonly actions: Action[] = [];
  readonly folds: Fold[] = [];
  readonly toolCalls: ToolCall[] = [];
  readonly limits: string[] = [];
  firstPrompt: Int32Array = new Int32Array(0);
  readonly #growing: Growing;
  readonly #limits: EpisodeLimits;
  readonly #key: readonly DrawKey[];
  /** What is listed and was found: what the policy may call. */
  readonly #available = new Map<string, ToolDoc>();
  #first: FirstMessage = { text: '', anchor: '', at: 0 };
  /** The context of this round, and where in the response it begins. */
  #prompt: Int32Array = new Int32Array(0);
  #roundStart = 0;
  /** Where the policy's turn began. */
  #turnStart = 0;
  #cutOff = false;

  constructor(growing: Growing) {
    const { question, index, rollout, options } = growing;
    const { id, phase, stage } = question;
    this.#growing = growing;
    this.id = `${id}/${phase}-${stage}/${index}`;
    this.#key = [rollout.seed, id, phase, stage, index];
    this.branch = root(index);
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
    this.firstPrompt = dialect.message(this.#first.text);
    this.#prompt = this.firstPrompt;
    let step = nextState(
      firstState,
      { type: 'begun', size: this.#size(this.#first.text) },
      this.#limits,
    );
    let observed: { readonly kind: Observed; readonly text: string } | null = null;
    while (step.effect.do !== 'finish') {
      const { state, effect } = step;
      if (effect.do === 'generate') {
        this.#inject(effect.inject, observed);
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
    return this.#ended(step.state, this.#cutOff);
  }

  #ended({ limits, final }: EpisodeState, cutOff: boolean): Finish {
    this.limits.push(...limits, ...(cutOff ? ['response'] : []));
    const { dialect } = this.#growing.options;
    const last = partsOf(this.branch, dialect).at(-1);
    if (last?.author === 'policy' && last.text.includes('\\boxed{')) return 'answer';
    if (cutOff) return 'length';
    return final || limits.length > 0 ? 'callLimit' : 'stop';
  }

  /** The length of the context: as it is, or in the reference the words of a text. */
  #size(text: string): number {
    const { measure, mode } = this.#limits;
    return mode === 'reference' ? measure(text) : this.#contextTokens();
  }

  #contextTokens(): number {
    return this.#prompt.length + this.branch.tokens.length - this.#roundStart;
  }

  /** Puts what stands between two turns of the policy into the context. */
  #inject(text: string, observed: { readonly kind: Observed; readonly text: string } | null): void {
    if (text === '') return;
    const { dialect } = this.#growing.options;
    const tokens =
      observed === null ? dialect.own(text) : dialect.observed(observed.kind, observed.text);
    const name = observed === null ? 'notice' : observed.kind === 'search' ? SEARCH : CALL;
    appendResult(this.branch, tokens, name, this.#roundStart + this.#growing.rollout.responseMax);
    this.#turnStart = this.branch.tokens.length;
  }

  /** Asks for a reply; null = there is no room for one. */
  async #reply(
    state: EpisodeState,
    { final }: Extract<EpisodeEffect, { readonly do: 'generate' }>,
  ): Promise<Step | null> {
    this.#turnStart = this.branch.tokens.length;
    const stopText = await this.#generate(final);
    if (stopText === undefined) return null;
    const text = this.#turnText(stopText);
    const { mode } = this.#limits;
    const size = mode === 'reference' ? this.#size(text) : this.#contextTokens() - state.size;
    const step = nextState(state, { type: 'reply', text, size }, this.#limits);
    if (step.state.last !== null) this.#act(step.state.last);
    return step;
  }

  /** The stop text that ended it, '' for none; undefined = there was no room. */
  async #generate(final: boolean): Promise<string | undefined> {
    const { question, signal, rollout, options } = this.#growing;
    const { engine } = rollout;
    const { dialect, mode } = options;
    const { branch } = this;
    for (;;) {
      const length = branch.tokens.length - this.#roundStart;
      const room = Math.min(
        rollout.responseMax - length,
        engine.contextMax - this.#prompt.length - length,
      );
      if (room < 1 && length === 0) {
        throw new Error(
          `a prompt of ${this.#prompt.length} tokens leaves no room in a context of ${engine.contextMax}`,
        );
      }
      if (room < 1) return undefined;
      const sampling = samplingIn(rollout);
      const penalty = final && mode === 'reference' ? 0.1 : 0;
      const stopTexts =
        final || dialect.stopTexts.length === 0
          ? {}
          : {
              stopTexts: dialect.stopTexts,
              stopTextsFrom: this.#prompt.length + this.#turnStart - this.#roundStart,
            };
      const made = await engine.generate(
        {
          tokens: Int32Array.from([...this.#prompt, ...branch.tokens.slice(this.#roundStart)]),
          maxTokens: room,
          ...sampling,
          repetitionPenalty: sampling.repetitionPenalty + penalty,
          stopTokens: final ? endTokens(dialect.tokenizer) : dialect.stopTokens,
          ...stopTexts,
          draws: this.folds.length === 0 ? this.#key : [...this.#key, this.folds.length],
          topLogProbs: 0,
          priority: precedence(question),
        },
        signal,
      );
      appendGeneration(
        branch,
        mode === 'reference' ? withoutClosedThought(made, dialect) : made,
        null,
      );
      if (made.finish === 'stop') return made.stopText ?? '';
      // What an engine cuts short goes on.
      const isShort = made.tokens.length > 0 && made.tokens.length < room;
      if (!isShort) {
        this.#cutOff = true;
        return '';
      }
    }
  }

  #turnTokens(): number[] {
    return this.branch.tokens.slice(this.#turnStart);
  }

  /** What the policy wrote in this turn, up to where it was stopped. */
  #turnText(stopText: string): string {
    const { tokenizer } = this.#growing.options.dialect;
    const ends = endTokens(tokenizer);
    const text = tokenizer.decode(this.#turnTokens().filter((token) => !ends.includes(token)));
    const at = stopText === '' ? -1 : text.lastIndexOf(stopText);
    return at < 0 ? text : text.slice(0, at + stopText.length);
  }

  /** An action is known by now; what comes of it is filled in when it is carried out. */
  #act({ kind, body, refused }: NonNullable<EpisodeState['last']>): void {
    const { tokenizer } = this.#growing.options.dialect;
    const [close] = stops.find(([, one]) => one === kind)!;
    const open = kind === 'fold' ? null : `<${kind === 'search' ? SEARCH : CALL}>`;
    const span = tokenSpan(this.#turnTokens(), tokenizer, close, open);
    // A mark of an earlier turn that the release acts on again has no tokens of its own.
    if (span === null) return;
    this.actions.push({
      kind,
      start: this.#turnStart + span.first,
      end: this.#turnStart + span.last + 1,
      name: null,
      input: body,
      response: '',
      ok: false,
      offered: false,
      fault: refused ?? '',
      turn: -1,
    });
    if (refused === null) this.#name(kind === 'fold' ? 'fold' : kind === 'search' ? SEARCH : CALL);
  }

  #name(tool: string): void {
    const last = this.branch.segments.pop();
    if (last !== undefined) this.branch.segments.push({ ...last, tool });
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
    this.branch.calls += 1;
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
    this.branch.calls += 1;
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
    const at = this.branch.tokens.length;
    const dropped = this.#contextTokens();
    this.folds.push({ at, prompt, dropped, ...memories, madeUp });
    this.#came({ ok: true, turn });
    this.#prompt = prompt;
    this.#roundStart = at;
    this.#turnStart = at;
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

/** The release takes a closed thought out of what it goes on from: the tokens that lie wholly within it. */
function withoutClosedThought(made: Generation, { tokenizer }: DeepDialect): Generation {
  const tokens = [...made.tokens];
  const text = tokenizer.decode(tokens);
  if (keptReply(text, 'reference') === text) return made;
  const span = tokenSpan(tokens, tokenizer, '</think>\n', null);
  if (span === null) return made;
  const kept = tokens.map((_, i) => i < span.first || i > span.last);
  const of = (values: ArrayLike<number>): number[] => Array.from(values).filter((_, i) => kept[i]);
  const { spans: _, ...rest } = made;
  return {
    ...rest,
    tokens: Int32Array.from(of(made.tokens)),
    logProbs: Float32Array.from(of(made.logProbs)),
  };
}
