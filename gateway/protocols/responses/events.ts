/** A response as a stream of events, each item in one piece. */
import { event } from '../protocol.ts';
import type { Fields } from '../reading.ts';

/** `response` is whole; `output` are its items. */
export function responseEvents(response: Fields, output: readonly Fields[]): string {
  const said: string[] = [];
  const say = (type: string, fields: Fields): void => {
    said.push(event({ type, sequence_number: said.length, ...fields }, type));
  };
  const begun = { ...response, ...BEGUN };
  say('response.created', { response: begun });
  say('response.in_progress', { response: begun });
  for (const [output_index, item] of output.entries()) {
    say('response.output_item.added', { output_index, item: { ...item, ...EMPTY[kindOf(item)] } });
    SAY[kindOf(item)](item, (type, fields) =>
      say(`response.${type}`, { item_id: item.id, output_index, ...fields }),
    );
    say('response.output_item.done', { output_index, item });
  }
  say(`response.${String(response.status)}`, { response });
  return said.join('');
}

const BEGUN = { status: 'in_progress', output: [], usage: null, incomplete_details: null };

type Kind = 'reasoning' | 'message' | 'function_call';

function kindOf(item: Fields): Kind {
  return item.type as Kind;
}

/** What an item lacks when it begins. */
const EMPTY: Readonly<Record<Kind, Fields>> = {
  reasoning: { summary: [] },
  message: { status: 'in_progress', content: [] },
  function_call: { status: 'in_progress', arguments: '' },
};

type Say = (type: string, fields: Fields) => void;

const SAY: Readonly<Record<Kind, (item: Fields, say: Say) => void>> = {
  reasoning({ summary }, say) {
    for (const [summary_index, part] of (summary as readonly Fields[]).entries()) {
      const empty = { ...part, text: '' };
      say('reasoning_summary_part.added', { summary_index, part: empty });
      say('reasoning_summary_text.delta', { summary_index, delta: part.text });
      say('reasoning_summary_text.done', { summary_index, text: part.text });
      say('reasoning_summary_part.done', { summary_index, part });
    }
  },
  message({ content }, say) {
    for (const [content_index, part] of (content as readonly Fields[]).entries()) {
      const { text } = part;
      say('content_part.added', { content_index, part: { ...part, text: '' } });
      say('output_text.delta', { content_index, delta: text, logprobs: [] });
      say('output_text.done', { content_index, text, logprobs: [] });
      say('content_part.done', { content_index, part });
    }
  },
  function_call({ arguments: text, name }, say) {
    say('function_call_arguments.delta', { delta: text });
    say('function_call_arguments.done', { arguments: text, name });
  },
};
