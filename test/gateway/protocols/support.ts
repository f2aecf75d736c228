/** What tests of protocols share. */
import { GatewayRefusal } from '../../../gateway/conversation.ts';

export interface ReadEvent {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The events of a stream's text; `done` = it ends with `[DONE]`. */
export function eventsIn(text: string): { events: ReadEvent[]; done: boolean } {
  const blocks = text.split('\n\n');
  if (blocks.pop() !== '') throw new Error('the last event has no end');
  const events: ReadEvent[] = [];
  let done = false;
  for (const block of blocks) {
    const lines = block.split('\n').filter((line) => !line.startsWith(':'));
    if (lines.length === 0) continue;
    if (done) throw new Error(`after the end: ${block}`);
    const field = (name: string): string =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? '';
    if (field('data') === '[DONE]') done = true;
    else events.push({ name: field('event'), data: JSON.parse(field('data')) });
  }
  return { events, done };
}

export function refusedBy(what: () => unknown): GatewayRefusal {
  try {
    what();
  } catch (error) {
    if (error instanceof GatewayRefusal) return error;
    throw error;
  }
  throw new Error('was not refused');
}
