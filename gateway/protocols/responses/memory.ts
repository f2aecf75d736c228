/**
 * What a session remembers about its Responses: items of answers by id, and conversations by the id of the
 * response they led to.
 *
 * Bounded: an agent that sends everything each time shares what it sent before; above `CHARACTERS_MAX` all
 * conversations but the latest are forgotten.
 */
import type { ModelSession } from '../../conversation.ts';
import type { Item, Known, OutputItem } from './items.ts';

const CHARACTERS_MAX = 4_000_000;
const KEY = 'responses';

export class ResponsesMemory implements Known {
  readonly #items = new Map<string, Item>();
  readonly #turns = new Map<string, string>();
  readonly #conversations = new Map<string, readonly Item[]>();
  #latest: readonly Item[] = [];
  #characters = 0;

  item(id: string): Item | undefined {
    return this.#items.get(id);
  }

  turnOfCall(callId: string): string | undefined {
    return this.#turns.get(callId);
  }

  /** The items up to and including a response's own. */
  conversation(responseId: string): readonly Item[] | undefined {
    return this.#conversations.get(responseId);
  }

  /** Remembers an answer to `input`. */
  remember(responseId: string, input: readonly Item[], output: readonly OutputItem[]): void {
    for (const { id, item } of output) {
      this.#items.set(id, item);
      if (item.kind === 'call' && item.turn !== null) this.#turns.set(item.call.id, item.turn);
    }
    if (this.#conversations.has(responseId)) return;
    let shared = 0;
    while (shared < input.length && isSame(input[shared]!, this.#latest[shared])) shared += 1;
    const added = [...input.slice(shared), ...output.map(({ item }) => item)];
    const all = [...this.#latest.slice(0, shared), ...added];
    this.#characters += charactersOf(added);
    if (this.#characters > CHARACTERS_MAX) {
      this.#conversations.clear();
      this.#characters = charactersOf(all);
    }
    this.#conversations.set(responseId, all);
    this.#latest = all;
  }
}

/** Made on first use. */
export function memoryOf(memory: ModelSession['memory']): ResponsesMemory {
  const found = memory.get(KEY);
  if (found instanceof ResponsesMemory) return found;
  const made = new ResponsesMemory();
  memory.set(KEY, made);
  return made;
}

function isSame(one: Item, other: Item | undefined): boolean {
  if (one === other) return true;
  if (other === undefined || one.kind !== other.kind) return false;
  const texts = textsOf(other);
  return textsOf(one).every((text, i) => text === texts[i]);
}

/** All the texts in an item. */
function textsOf(item: Item): readonly string[] {
  if (item.kind === 'call') {
    const { id, name, arguments: text } = item.call;
    return [id, name, text, item.turn ?? ''];
  }
  if (item.kind !== 'message') return [item.text, item.turn ?? ''];
  const { message } = item;
  return [message.role, message.content, message.role === 'tool' ? message.callId : ''];
}

function charactersOf(items: readonly Item[]): number {
  return items.flatMap(textsOf).reduce((sum, text) => sum + text.length, 0);
}
