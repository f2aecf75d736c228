/**
 * One episode: runs the effects of the step function (nextState.ts) over the policy's thought (thought.ts)
 * and the world (episodeWorld.ts), and keeps the outcome.
 *
 * Guarantees:
 * - every request to the world goes through `tools` and is a record of its own;
 * - text from outside is fenced, makes no tag token and is never learnt;
 * - it never rejects except when the signal aborts: what goes wrong ends the episode with its reason.
 */
import { hasCode, messageOf } from '../../base/index.ts';
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
import { questionIn, worldEnd } from '../rollout/branchWorld.ts';
import type { DeepDialect } from './deepDialect.ts';
import type { EpisodeMode } from './episode.ts';
import { episodeRules } from './episodeRules.ts';
import type { Remembering } from './episodeTools.ts';
import { EpisodeWorld, type Outcome, type WorldOptions } from './episodeWorld.ts';
import { type FirstMessage, foldPrompt } from './foldPrompt.ts';
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
import type { PromptForm } from './prompts.ts';
import { CALL, SEARCH } from './tags.ts';
import { type Answer, type Thinking, Thought } from './thought.ts';

/** The limits and inputs of an episode. */
export interface EpisodeOptions extends WorldOptions {
  readonly dialect: DeepDialect;
  /** How to ask a question; left out = as the dialect asks all of them. */
  readonly formOf?: (question: Question) => PromptForm;
  readonly mode: EpisodeMode;
  /** Limit of actions per episode. */
  readonly actionLimit: number;
  /** Limit of folds. */
  readonly foldLimit: number;
  /** Longest context before the answer is due: in tokens, or in the reference in words. */
  readonly contextLimit: number;
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
  } finally {
    growing.rollout.tools.end?.(rolloutId(question, index));
  }
  const { options, rollout } = growing;
  const { seed, clock } = rollout;
  return {
    rollout: {
      id: rolloutId(question, index),
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
      world: worldEnd(episode.world.state),
    },
    toolCalls: episode.world.toolCalls,
  };
}

class Growth {
  readonly thought: Thought;
  readonly world: EpisodeWorld;
  readonly actions: Action[] = [];
  readonly folds: Fold[] = [];
  readonly limits: string[] = [];
  readonly #growing: Growing;
  readonly #limits: EpisodeLimits;
  readonly #form: PromptForm;
  #first: FirstMessage = { text: '', anchor: '', at: 0 };

  constructor(growing: Growing) {
    const { mode, dialect, actionLimit: actions, foldLimit: folds, contextLimit } = growing.options;
    const { formOf = () => dialect.form } = growing.options;
    const form = formOf(growing.question);
    this.#form = form;
    this.#growing = growing;
    this.thought = new Thought(growing);
    this.world = new EpisodeWorld(growing);
    const tokensOf = (text: string): number =>
      dialect.tokenizer.encode(text, { tags: false }).length;
    this.#limits = {
      mode,
      actions,
      folds,
      context: contextLimit,
      measure: (text) => episodeRules[mode].length(text, () => tokensOf(text)),
      environment: form !== 'open' && form !== 'closed',
    };
  }

  async run(): Promise<Finish> {
    const { question, options } = this.#growing;
    const { dialect } = options;
    const shown = await this.world.begin();
    const asked = dialect.fence(questionIn(question.question, shown));
    this.#first = dialect.first(asked, this.world.list(), this.#form);
    const { text } = this.#first;
    this.thought.begin(dialect.message(text));
    if (this.world.state?.done) return 'stop';
    let step = nextState(firstState, { type: 'begun', size: this.#size(text) }, this.#limits);
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
        const { response: seen, ok } = await this.#observe(effect, state);
        observed = { kind: effect.do, text: seen };
        const ended = this.world.state?.done === true;
        const event = { type: 'observed', kind: effect.do, text: seen, ok, ended } as const;
        step = nextState(state, event, this.#limits);
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

  /** By how much this text makes the context longer than `before`. */
  #size(text: string, before = 0): number {
    const { mode } = this.#limits;
    return episodeRules[mode].length(text, () => this.thought.contextTokens - before);
  }

  /** Asks for a reply; null = there is no room for one. */
  async #reply(
    state: EpisodeState,
    { final }: Extract<EpisodeEffect, { readonly do: 'generate' }>,
  ): Promise<Step | null> {
    const text = await this.thought.reply(final);
    if (text === null) return null;
    const size = this.#size(text, state.size);
    const step = nextState(state, { type: 'reply', text, size }, this.#limits);
    if (step.state.last !== null) this.#act(step.state.last);
    return step;
  }

  /** An action, known by now; its outcome is filled in once it is carried out. */
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

  /** The outcome of the last action. */
  #came(outcome: Partial<Action>): void {
    const last = this.actions.pop();
    if (last !== undefined) this.actions.push({ ...last, ...outcome });
  }

  async #observe(
    effect: Extract<EpisodeEffect, { readonly do: 'search' | 'call' }>,
    { output }: EpisodeState,
  ): Promise<Outcome> {
    this.thought.branch.calls += 1;
    const outcome =
      effect.do === 'search'
        ? await this.world.search(effect.query, output)
        : await this.world.call(effect.body, output);
    this.#came(outcome);
    return outcome;
  }

  async #fold(state: EpisodeState): Promise<Step> {
    const { dialect, mode } = this.#growing.options;
    const calls = this.actions.filter(({ kind }) => kind === 'call');
    const { replies, turn } = await this.world.remember(calls, state.output);
    const { memories, madeUp } = this.#memories(replies);
    const message = foldPrompt(this.#first, memories, mode);
    const prompt = dialect.message(message);
    const dropped = this.thought.contextTokens;
    const at = this.thought.begin(prompt);
    this.folds.push({ at, prompt, dropped, ...memories, madeUp });
    this.#came({ ok: true, turn });
    return nextState(state, { type: 'folded', size: this.#size(message) }, this.#limits);
  }

  /**
   * The memories as they will be in the context; those that the model gave in the wrong form are made from
   * the calls.
   */
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
}
