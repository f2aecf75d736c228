/**
 * The step function of one continued thought as a reducer (DeepAgent §1.4): an event goes in, one effect
 * comes out, and the caller performs the effect and reports its outcome. Pure, so a script of replies covers
 * the whole loop.
 *
 * `reference` keeps what the release does: of a limit of 50 actions 49 are carried out; a context that is too
 * long is reported as if the actions were used up, and cannot be folded; too short a body costs an action and
 * is not answered; a search counts as made after a fold that took its result away. Repaired, limits are
 * inclusive and reported by name, a fold may free a full context, an empty body is reported, a call that
 * failed may be tried again, and a fold forgets which searches were made.
 */
import type { ActionKind } from '../../topics/index.ts';
import { codePoints } from '../text/characters.ts';
import { actionKey } from './actionKey.ts';
import type { EpisodeMode } from './episode.ts';
import { type NoticeKind, noticeText } from './notices.ts';
import { parseAction } from './parseAction.ts';
import { type Observed, renderObservation } from './tags.ts';

/** The limits of an episode. */
export interface EpisodeLimits {
  readonly mode: EpisodeMode;
  /** Limit of actions; all kinds count, including those not carried out. */
  readonly actions: number;
  /** Longest context, in the units of `measure`. */
  readonly context: number;
  /** Limit of folds. */
  readonly folds: number;
  /** Length of an inserted text: in tokens, or in the reference in words. */
  readonly measure: (text: string) => number;
  /** The episode acts in an environment: it ends without a final answer, and may repeat an action. */
  readonly environment: boolean;
}

/** The state of an episode. */
export interface EpisodeState {
  /** Everything ever written, by the policy or the harness; folds do not shorten it. */
  readonly output: string;
  readonly actions: number;
  /** Current length of the context. */
  readonly size: number;
  readonly folds: number;
  /** Keys of the searches and calls made. */
  readonly queries: ReadonlySet<string>;
  readonly calls: ReadonlySet<string>;
  /** The action at the end of the last reply; null = none. */
  readonly last: LastAction | null;
  /** The last request was for the final answer. */
  readonly final: boolean;
  /** It ended of its own accord; false if a limit ended an episode in an environment. */
  readonly finished: boolean;
  /** Limits that were reached. */
  readonly limits: readonly ('actions' | 'context' | 'folds')[];
}

/** An action, and why it is not carried out, if so. */
export interface LastAction {
  readonly kind: ActionKind;
  readonly body: string;
  readonly refused: NoticeKind | 'unanswered' | null;
}

/** What happened: the beginning; a reply; the result of a search or call; a fold. */
export type EpisodeEvent =
  | { readonly type: 'begun'; readonly size: number }
  | { readonly type: 'reply'; readonly text: string; readonly size: number }
  | {
      readonly type: 'observed';
      readonly kind: Exclude<Observed, 'notice'>;
      readonly text: string;
      readonly ok: boolean;
      /** The environment has ended the episode. */
      readonly ended?: boolean;
    }
  | { readonly type: 'folded'; readonly size: number };

/**
 * What to do next. `inject` goes into the context before the requested reply; `final` = a last answer, which
 * nothing stops.
 */
export type EpisodeEffect =
  | { readonly do: 'generate'; readonly inject: string; readonly final: boolean }
  | { readonly do: 'search'; readonly query: string }
  | { readonly do: 'call'; readonly body: string }
  | { readonly do: 'fold' }
  | { readonly do: 'finish' };

/** A state, and what to do in it. */
export interface Step {
  readonly state: EpisodeState;
  readonly effect: EpisodeEffect;
}

/** Before anything has happened. */
export const firstState: EpisodeState = {
  output: '',
  actions: 0,
  size: 0,
  folds: 0,
  queries: new Set(),
  calls: new Set(),
  last: null,
  final: false,
  finished: false,
  limits: [],
};

/** See above. */
export function nextState(state: EpisodeState, event: EpisodeEvent, limits: EpisodeLimits): Step {
  switch (event.type) {
    case 'begun':
      return generate({ ...state, size: event.size });
    case 'reply':
      return replied(state, event.text, event.size, limits);
    case 'observed':
      return observed(state, event, limits);
    case 'folded': {
      const queries = limits.mode === 'reference' ? state.queries : new Set<string>();
      return generate({ ...state, size: event.size, folds: state.folds + 1, queries });
    }
  }
}

/** After a reply that ends a thought, the release removes this from what it keeps and continues from. */
const CLOSED_THOUGHT = '</think>\n';

/** A reply as it is kept. */
export function keptReply(text: string, mode: EpisodeMode): string {
  return mode === 'reference' ? text.replaceAll(CLOSED_THOUGHT, '') : text;
}

/** The release answers bodies longer than this. */
const UNANSWERED_MAX = 5;

function replied(before: EpisodeState, text: string, size: number, limits: EpisodeLimits): Step {
  const { mode } = limits;
  const output = before.output + keptReply(text, mode);
  const state = { ...before, output, size: before.size + size, last: null };
  if (state.final) return finish(state);
  const written = parseAction(text, output, mode);
  if (written === null) return finish(state);
  const { kind, body } = written;
  const counted = { ...state, actions: state.actions + 1 };
  const act = (refused: LastAction['refused']): EpisodeState => ({
    ...counted,
    last: { kind, body: body ?? '', refused },
  });
  const over = exceeded(counted, kind, limits);
  if (over !== null) return exhausted(act(over.notice), over, limits);
  if (kind === 'fold') {
    if (counted.folds < limits.folds) return { state: act(null), effect: { do: 'fold' } };
    return withNotice(withLimit(act('noFoldsLeft'), 'folds'), 'noFoldsLeft', limits);
  }
  if (mode === 'reference') {
    if (body === null || codePoints(body) <= UNANSWERED_MAX) return generate(act('unanswered'));
  } else if (body === null || body === '') return withNotice(act('empty'), 'empty', limits);
  const key = actionKey(body, mode);
  if (kind === 'search') {
    if (counted.queries.has(key))
      return withNotice(act('repeatedSearch'), 'repeatedSearch', limits);
    const queries = new Set([...counted.queries, key]);
    return { state: { ...act(null), queries }, effect: { do: 'search', query: body } };
  }
  if (!limits.environment && counted.calls.has(key)) {
    return withNotice(act('repeatedCall'), 'repeatedCall', limits);
  }
  const calls = new Set([...counted.calls, key]);
  return { state: { ...act(null), calls }, effect: { do: 'call', body } };
}

interface Exceeded {
  readonly limit: 'actions' | 'context';
  readonly notice: NoticeKind;
}

function exceeded(
  { actions, size, folds }: EpisodeState,
  kind: ActionKind,
  limits: EpisodeLimits,
): Exceeded | null {
  if (limits.mode === 'reference') {
    if (actions >= limits.actions) return { limit: 'actions', notice: 'noActionsLeft' };
    return size < limits.context ? null : { limit: 'context', notice: 'noActionsLeft' };
  }
  if (actions > limits.actions) return { limit: 'actions', notice: 'noActionsLeft' };
  if (size < limits.context || (kind === 'fold' && folds < limits.folds)) return null;
  return { limit: 'context', notice: 'noContextLeft' };
}

function exhausted(before: EpisodeState, { limit, notice }: Exceeded, limits: EpisodeLimits): Step {
  const state = withLimit(before, limit);
  if (limits.environment) return { state, effect: { do: 'finish' } };
  return withNotice({ ...state, final: true }, notice, limits);
}

function withLimit(state: EpisodeState, limit: EpisodeState['limits'][number]): EpisodeState {
  return state.limits.includes(limit) ? state : { ...state, limits: [...state.limits, limit] };
}

function observed(
  state: EpisodeState,
  { kind, text, ok, ended = false }: Extract<EpisodeEvent, { readonly type: 'observed' }>,
  limits: EpisodeLimits,
): Step {
  const inject = renderObservation(kind, text);
  const again = kind === 'call' && !ok && limits.mode === 'repaired' ? state.last : null;
  const calls =
    again === null ? state.calls : without(state.calls, actionKey(again.body, limits.mode));
  const step = injected({ ...state, calls }, inject, limits);
  return ended ? finish(step.state) : step;
}

function without(keys: ReadonlySet<string>, key: string): ReadonlySet<string> {
  return new Set([...keys].filter((one) => one !== key));
}

function withNotice(state: EpisodeState, kind: NoticeKind, limits: EpisodeLimits): Step {
  return injected(state, noticeText(kind), limits);
}

function injected(state: EpisodeState, inject: string, { measure }: EpisodeLimits): Step {
  const size = state.size + measure(inject);
  return generate({ ...state, output: state.output + inject, size }, inject);
}

function generate(state: EpisodeState, inject = ''): Step {
  return { state, effect: { do: 'generate', inject, final: state.final } };
}

function finish(state: EpisodeState): Step {
  return { state: { ...state, finished: true }, effect: { do: 'finish' } };
}
