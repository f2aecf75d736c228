/**
 * The policy's one continued thought as tokens: the context that it continues from, turn by turn, and the
 * action marks that it writes.
 *
 * Guarantees:
 * - the context grows by the policy's own tokens and by what is put between them, never by text that is
 *   tokenised a second time; a fold begins a new one;
 * - every draw is keyed by (seed, question, phase, round, rollout, round): a draw is tied to its place in the
 *   context, and a round is a context of its own.
 */
import type { DrawKey } from '../../base/index.ts';
import { type Generation, samplingIn } from '../../model/index.ts';
import type { Action, Question } from '../../topics/index.ts';
import { endTokens } from '../dialect/dialect.ts';
import { appendGeneration, appendResult, type Branch, root } from '../rollout/branch.ts';
import type { RolloutOptions } from '../rollout/options.ts';
import { precedence } from '../rollout/precedence.ts';
import type { DeepDialect } from './deepDialect.ts';
import type { EpisodeMode } from './episode.ts';
import { keptReply } from './nextState.ts';
import { CALL, type Observed, SEARCH, stops } from './tags.ts';
import { tokenSpan } from './tokenSpan.ts';

/** Whose thought it is, and what continues it. */
export interface Thinking {
  readonly question: Question;
  readonly index: number;
  readonly signal: AbortSignal;
  readonly rollout: RolloutOptions;
  readonly options: { readonly dialect: DeepDialect; readonly mode: EpisodeMode };
}

/** The environment's answer, to be inserted after the call. */
export interface Answer {
  readonly kind: Observed;
  readonly text: string;
}

/** See above; `begin` comes first. */
export class Thought {
  readonly branch: Branch;
  firstPrompt: Int32Array = new Int32Array(0);
  /** The last reply was cut off for lack of room. */
  cutOff = false;
  readonly #thinking: Thinking;
  readonly #key: readonly DrawKey[];
  #round = -1;
  /** The prompt of this round, and where in the response it begins. */
  #prompt: Int32Array = new Int32Array(0);
  #roundStart = 0;
  /** Where the policy's turn began. */
  #turnStart = 0;

  constructor(thinking: Thinking) {
    const { question, index, rollout } = thinking;
    const { id, phase, round } = question;
    this.#thinking = thinking;
    this.#key = [rollout.seed, id, phase, round, index];
    this.branch = root(index);
  }

  /** Begins a new context after what was written so far; returns its offset in the response. */
  begin(prompt: Int32Array): number {
    this.#round += 1;
    if (this.#round === 0) this.firstPrompt = prompt;
    this.#prompt = prompt;
    this.#roundStart = this.branch.tokens.length;
    this.#turnStart = this.#roundStart;
    return this.#roundStart;
  }

  /** Tokens of the current context. */
  get contextTokens(): number {
    return this.#prompt.length + this.branch.tokens.length - this.#roundStart;
  }

  /** Inserts the tokens between two turns of the policy. */
  inject(text: string, observed: Answer | null): void {
    if (text === '') return;
    const { dialect } = this.#thinking.options;
    const tokens =
      observed === null ? dialect.own(text) : dialect.observed(observed.kind, observed.text);
    const name = observed === null ? 'notice' : observed.kind === 'search' ? SEARCH : CALL;
    appendResult(this.branch, tokens, name, this.#roundStart + this.#thinking.rollout.responseMax);
    this.#turnStart = this.branch.tokens.length;
  }

  /** The policy's next turn, up to where it was stopped; null = there is no room for one. */
  async reply(final: boolean): Promise<string | null> {
    this.#turnStart = this.branch.tokens.length;
    const stopText = await this.#generate(final);
    return stopText === undefined ? null : this.#turnText(stopText);
  }

  /**
   * Where in the response the mark of an action in this turn is, with `end` after it; null if it has no
   * tokens.
   */
  spanOf(kind: Action['kind']): Pick<Action, 'start' | 'end'> | null {
    const [close] = stops.find(([, one]) => one === kind)!;
    const open = kind === 'fold' ? null : `<${kind === 'search' ? SEARCH : CALL}>`;
    const { tokenizer } = this.#thinking.options.dialect;
    const span = tokenSpan(this.#turnTokens(), tokenizer, close, open);
    if (span === null) return null;
    return { start: this.#turnStart + span.first, end: this.#turnStart + span.last + 1 };
  }

  /** Records which tool the last segment calls. */
  name(tool: string): void {
    const last = this.branch.segments.pop();
    if (last !== undefined) this.branch.segments.push({ ...last, tool });
  }

  /** The stop text that ended it, '' for none; undefined = there was no room. */
  async #generate(final: boolean): Promise<string | undefined> {
    const { question, signal, rollout, options } = this.#thinking;
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
          draws: this.#round === 0 ? this.#key : [...this.#key, this.#round],
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
      // Continues what an engine cut short.
      const isShort = made.tokens.length > 0 && made.tokens.length < room;
      if (!isShort) {
        this.cutOff = true;
        return '';
      }
    }
  }

  #turnTokens(): number[] {
    return this.branch.tokens.slice(this.#turnStart);
  }

  /** What the policy wrote in this turn, up to where it was stopped. */
  #turnText(stopText: string): string {
    const { tokenizer } = this.#thinking.options.dialect;
    const ends = endTokens(tokenizer);
    const text = tokenizer.decode(this.#turnTokens().filter((token) => !ends.includes(token)));
    const at = stopText === '' ? -1 : text.lastIndexOf(stopText);
    return at < 0 ? text : text.slice(0, at + stopText.length);
  }
}

/** The release removes a closed thought from its context: the tokens completely within it. */
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
