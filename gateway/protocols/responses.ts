/**
 * OpenAI's Responses.
 *
 * The session remembers what was answered: items by id (`item_reference`), and conversations by the id of
 * their last response (`previous_response_id`). All ids derive from the answer's id, so an answer that is
 * repeated after a crash is remembered under the same ids.
 */
import type { FunctionTool, ModelCall, ModelReply, ModelSession } from '../conversation.ts';
import { refuseFormat } from './chat.ts';
import { type Asked, event, type Protocol, SILENT_LINE } from './protocol.ts';
import {
  countAt,
  type Fields,
  fieldsAt,
  flagAt,
  invalid,
  listAt,
  nameAt,
  quoted,
  textAt,
  unsupported,
} from './reading.ts';
import { openAiError, openAiFailed } from './refusals.ts';
import { responseEvents } from './responses/events.ts';
import { itemsAt, messagesFrom, type OutputItem, outputOf } from './responses/items.ts';
import { memoryOf, type ResponsesMemory } from './responses/memory.ts';
import { chosen, distinct, functionTool, openAiChoice, parallelAt } from './tools.ts';

export const responses: Protocol = {
  name: 'responses',
  path: 'responses',
  read,
  failed: openAiFailed,
  failedEvents(refusal) {
    const error = openAiError(refusal);
    // Clients look for an error at the top level, or for its fields.
    return event({ ...error, type: 'error', sequence_number: 0, error }, 'error');
  },
  keepAlive: SILENT_LINE,
};

function read(body: unknown, memory: ModelSession['memory']): Asked {
  const fields = fieldsAt(body, '');
  const model = nameAt(fields.model, 'model');
  refuseForms(fields);
  const remembered = memoryOf(memory);
  const earlier = earlierItems(fields.previous_response_id, remembered);
  const items = [...earlier, ...itemsAt(fields.input, remembered)];
  if (items.length === 0) throw invalid('input', 'is empty');
  const { instructions } = fields;
  const system = instructions == null ? '' : textAt(instructions, 'instructions');
  const tools = distinct(toolsAt(fields.tools));
  const call: ModelCall = {
    protocol: 'responses',
    model,
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...messagesFrom(items),
    ],
    tools,
    toolChoice: chosen(
      openAiChoice(fields.tool_choice, (choice) => choice.name),
      tools,
    ),
    maxTokens: countAt(fields.max_output_tokens, 'max_output_tokens'),
    stop: [],
    ...parallelAt(fields),
  };
  const { include } = fields;
  const sealed = Array.isArray(include) && include.includes('reasoning.encrypted_content');
  const respond = (reply: ModelReply): { response: Fields; output: readonly Fields[] } => {
    const output = outputOf(reply, sealed);
    remembered.remember(`resp_${reply.id}`, items, output);
    return {
      response: responseOf(reply, call, fields, output),
      output: output.map(({ said }) => said),
    };
  };
  return {
    call,
    stream: flagAt(fields.stream, 'stream'),
    answer: (reply) => respond(reply).response,
    events(reply) {
      const { response, output } = respond(reply);
      return responseEvents(response, output);
    },
  };
}

function earlierItems(id: unknown, remembered: ResponsesMemory) {
  if (id === undefined || id === null) return [];
  const found = remembered.conversation(nameAt(id, 'previous_response_id'));
  if (found !== undefined) return found;
  throw invalid(
    'previous_response_id',
    `is ${quoted(id)}, which this session does not have: send all items`,
  );
}

/** Fields that ask for another form of answer, or for one kept elsewhere. */
function refuseForms(fields: Fields): void {
  const { background, conversation, prompt, text, top_logprobs } = fields;
  if (background === true) throw unsupported('background', 'answers in the background');
  if (conversation != null) {
    throw unsupported(
      'conversation',
      'stored conversations',
      'send previous_response_id or all items',
    );
  }
  if (prompt != null) throw unsupported('prompt', 'stored prompts', 'send instructions');
  if (typeof top_logprobs === 'number' && top_logprobs > 0) {
    throw unsupported('top_logprobs', 'log-probabilities');
  }
  const format = text == null ? null : fieldsAt(text, 'text').format;
  if (format != null) refuseFormat(format, 'text.format');
}

function toolsAt(value: unknown): FunctionTool[] {
  if (value === undefined || value === null) return [];
  return listAt(value, 'tools').map((one, i) => {
    const at = `tools[${i}]`;
    const tool = fieldsAt(one, at);
    if (tool.type !== 'function') {
      throw unsupported(at, `a tool of type ${quoted(tool.type)}`, 'offer functions');
    }
    return functionTool(tool, at, 'parameters');
  });
}

/** The response, with the fields of the request that it repeats. */
function responseOf(
  reply: ModelReply,
  call: ModelCall,
  fields: Fields,
  output: readonly OutputItem[],
): Fields {
  const cut = reply.finish === 'length';
  const { promptTokens, completionTokens } = reply;
  const { toolChoice } = call;
  return {
    id: `resp_${reply.id}`,
    object: 'response',
    created_at: Math.floor(reply.createdMs / 1000),
    status: cut ? 'incomplete' : 'completed',
    background: false,
    error: null,
    incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
    instructions: fields.instructions ?? null,
    max_output_tokens: call.maxTokens,
    metadata: {},
    model: call.model,
    output: output.map(({ said }) => said),
    parallel_tool_calls: call.parallel !== false,
    previous_response_id: fields.previous_response_id ?? null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: typeof toolChoice === 'object' ? { type: 'function', ...toolChoice } : toolChoice,
    tools: call.tools.map((tool) => ({ type: 'function', ...tool, strict: false })),
    top_p: null,
    truncation: 'disabled',
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: completionTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: promptTokens + completionTokens,
    },
  };
}
