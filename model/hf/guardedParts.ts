/**
 * Splits a rendered chat into what the template (and the job) wrote and what came from outside.
 *
 * The chat is rendered twice: as it is, and with marks in place of what users and tools said. Between the marks of the
 * second rendering stands the template's own text. Put together again the parts must be the first rendering; a
 * template that rewrites what it is given is refused, since nobody could say whose words its output is.
 */
import { MillraceError } from '../../base/errors.ts';
import type { TextPart } from './bpeTokenizer.ts';
import type { ChatMessage } from './chatTemplate.ts';

const OUTSIDE: ReadonlySet<string> = new Set(['user', 'tool']);
/** Private characters that no text needs, around the number of a message. */
const MARK = /\u{F8F00}(\d+)\u{F8F01}/u;

/** `render` must be the same function of the messages both times. Throws `CHAT_TEMPLATE`. */
export function guardedParts(
  path: string,
  messages: readonly ChatMessage[],
  render: (messages: readonly ChatMessage[]) => string,
): readonly TextPart[] {
  const text = render(messages);
  const marked = messages.map((message, i) =>
    isOutside(message) ? { ...message, content: `\u{F8F00}${i}\u{F8F01}` } : message,
  );
  const pieces = render(marked).split(MARK);
  for (const cut of [(content: string) => content, (content: string) => content.trim()]) {
    const parts = pieces.map((piece, i) =>
      i % 2 === 0
        ? { text: piece, tags: true }
        : { text: cut(messages[Number(piece)]?.content ?? ''), tags: false },
    );
    if (parts.map((part) => part.text).join('') === text) return parts;
  }
  throw new MillraceError(
    'CHAT_TEMPLATE',
    `${path}: the chat template rewrites messages of users and tools, so that its tags cannot be told from theirs: ` +
      'if you trust every message, encode what applyChatTemplate returns yourself',
    { context: { file: path } },
  );
}

function isOutside({ role, content }: ChatMessage): boolean {
  return OUTSIDE.has(role) && content !== null && content !== '';
}
