/**
 * The marks of one continued thought (DeepAgent §1.2): how a policy searches for tools, calls one and folds
 * its memory, and what is inserted into its thought in return.
 */
import type { ActionKind } from '../../topics/index.ts';

/** The tag of a search for tools. */
export const SEARCH = 'tool_search';
/** The tag of a tool call. */
export const CALL = 'tool_call';
/** Stands alone; nothing closes it. */
export const FOLD = '<fold_thought>';
/** What the harness itself says. */
const NOTICE = 'system_message';

/** What ends a reply, and the action that it means. */
export const stops: readonly (readonly [text: string, kind: ActionKind])[] = [
  [`</${SEARCH}>`, 'search'],
  [`</${CALL}>`, 'call'],
  [FOLD, 'fold'],
];

/** Every tag that text from outside must not open or close, besides `think`, `result` and `answer`. */
export const deepTags: readonly string[] = [
  SEARCH,
  `${SEARCH}_result`,
  CALL,
  `${CALL}_result`,
  NOTICE,
  'fold_thought',
];

/** What is inserted into the thought. */
export type Observed = 'search' | 'call' | 'notice';

const blocks: Readonly<Record<Observed, string>> = {
  search: `${SEARCH}_result`,
  call: `${CALL}_result`,
  notice: NOTICE,
};

/** A text in its block: two line breaks before and after it, none within. */
export function renderObservation(kind: Observed, text: string): string {
  const [open, close] = frameOf(kind);
  return `${open}${text}${close}`;
}

/** What comes before and after an observation. */
export function frameOf(kind: Observed): readonly [open: string, close: string] {
  return [`\n\n<${blocks[kind]}>`, `</${blocks[kind]}>\n\n`];
}
