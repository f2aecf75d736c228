/** The text in the fence of a model's reply: models put JSON between lines of three backticks. */
import { strip } from '../text/characters.ts';

/** The first `json` fence of a reply; without one all of it; trimmed. */
export function fencedJson(reply: string): string {
  return strip(blockAfter(reply, '```json') ?? reply);
}

/** The first `json` fence, or else the first bare one; without either the whole text; trimmed. */
export function fencedAny(reply: string): string {
  return strip(blockAfter(reply, '```json') ?? blockAfter(reply, '```') ?? reply);
}

/** Whether there is a `json` fence at all. */
export function hasJsonFence(reply: string): boolean {
  return blockAfter(reply, '```json') !== null;
}

function blockAfter(reply: string, mark: string): string | null {
  const open = reply.indexOf(mark);
  if (open < 0) return null;
  const close = reply.indexOf('```', open + mark.length);
  return close < 0 ? null : reply.slice(open + mark.length, close);
}
