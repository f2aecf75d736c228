/**
 * Which action a reply ends in (DeepAgent §1.4, steps 1 and 2).
 *
 * `reference` looks at the end of everything ever written, so an empty reply repeats the previous action, and
 * it removes line breaks from a body, even within the strings of a program. Repaired, a reply is literal and
 * a body keeps its lines.
 */
import type { ActionKind } from '../../topics/index.ts';
import { strip, stripEnd } from '../text/characters.ts';
import type { EpisodeMode } from './episode.ts';
import { CALL, SEARCH, stops } from './tags.ts';

/** An action as written; the body of a fold is empty, that of a mark without its opening null. */
export interface WrittenAction {
  readonly kind: ActionKind;
  readonly body: string | null;
}

/** The action at the end of `reply`, in a text that ends in `output`; null = none: the thought is over. */
export function parseAction(
  reply: string,
  output: string,
  mode: EpisodeMode,
): WrittenAction | null {
  const text = stripEnd(mode === 'reference' ? output : reply);
  const [, kind] = stops.find(([mark]) => text.endsWith(mark)) ?? [];
  if (kind === undefined) return null;
  if (kind === 'fold') return { kind, body: '' };
  return { kind, body: actionBody(reply, kind === 'search' ? SEARCH : CALL, mode) };
}

/**
 * The text between the last closing of a tag and the nearest opening before it; null if there is no
 * such pair.
 */
export function actionBody(reply: string, tag: string, mode: EpisodeMode): string | null {
  const close = reply.lastIndexOf(`</${tag}>`);
  if (close < 0) return null;
  const mark = `<${tag}>`;
  const open = close < mark.length ? -1 : reply.lastIndexOf(mark, close - mark.length);
  if (open < 0) return null;
  const body = reply.slice(open + mark.length, close);
  return strip(mode === 'reference' ? body.replaceAll('\n', '') : body);
}
