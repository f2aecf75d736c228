/**
 * The chat template in a policy's folder, in the form that the native dialect needs. Anything that the
 * template cannot do is found here, before the first rollout.
 */

import { MillraceError, messageOf } from '../../../base/index.ts';
import {
  type ChatMessage,
  type ChatOptions,
  type ChatSegment,
  type ChatTokenizer,
  chatDifference,
  chatSegments,
  checkChatTools,
  growChat,
} from '../../../model/chat/index.ts';

import type { ChatTurn, NativeChat } from './chat.ts';
import { type NativeForm, nativeForms, piecesOf } from './forms/forms.ts';
import { argumentsFor, functionOf, type ToolSpec } from './toolCalls.ts';

/** What a chat is built from. */
export interface NativeChatOptions {
  readonly tokenizer: ChatTokenizer;
  readonly tools: readonly ToolSpec[];
  /** The system prompt; '' = none. */
  readonly system: string;
  /** For messages. */
  readonly folder: string;
}

/** Texts that no template contains. */
const PROBE = 'qvxzkj';

/**
 * The chat, and the form in which its template writes calls. Fails with `CHAT_TEMPLATE` if the template shows
 * no tools or loses results, with `DIALECT` if it writes calls in an unknown form.
 */
export function nativeChat(options: NativeChatOptions): { chat: NativeChat; form: NativeForm } {
  const { tools } = options;
  const tokenizer = withEnds(options.tokenizer);
  const schemas = tools.map(functionOf);
  const form = tools.length === 0 ? 'object' : checkedTools(tokenizer, schemas);
  const given: ChatOptions = tools.length === 0 ? {} : { tools: schemas };
  const opened = { ...given, addGenerationPrompt: true };
  const before: ChatMessage[] =
    options.system === '' ? [] : [{ role: 'system', content: options.system }];
  const asked = (question: string): ChatMessage[] => [
    ...before,
    { role: 'user', content: question },
  ];
  const render = (messages: readonly ChatMessage[], how: ChatOptions): string =>
    tokenizer.applyChatTemplate(messages, how);

  const probe = asked(`${PROBE}q`);
  const opening = render(probe, opened).slice(render(probe, given).length);
  const thinks = render(
    [...probe, { role: 'assistant', content: 'a', reasoning_content: `${PROBE}t` }],
    given,
  ).includes(`${PROBE}t`);

  const argumentsOf = (input: string, tool: string): unknown => {
    const spec = tools.find(({ name }) => name === tool);
    const args = spec === undefined ? { input } : argumentsFor(input, spec);
    return form === 'text' ? JSON.stringify(args) : args;
  };
  const messagesOf = ({ thinking, content, calls, outputs }: ChatTurn): ChatMessage[] => {
    const ids = outputs.map((_, i) => `call${String(i).padStart(5, '0')}`);
    const thought =
      thinking === null || thinks
        ? { reasoning_content: thinking }
        : { content: `<think>\n${thinking}\n</think>${content === '' ? '' : `\n\n${content}`}` };
    const made = calls.map(({ tool, input }, i) => ({
      id: ids[i] ?? 'call00000',
      type: 'function' as const,
      function: { name: tool, arguments: argumentsOf(input, tool) },
    }));
    const name = calls[0]?.tool ?? 'tool';
    return [
      {
        role: 'assistant',
        content,
        ...(thought.reasoning_content === null ? {} : thought),
        ...(made.length === 0 ? {} : { tool_calls: made }),
      },
      ...outputs.map((output, i) => ({
        role: 'tool',
        name: calls[i]?.tool ?? name,
        tool_call_id: ids[i]!,
        content: output,
      })),
    ];
  };
  const conversation: NativeChat['conversation'] = (question, turns, open) => {
    const messages = [...asked(question), ...turns.flatMap(messagesOf)];
    const how = { ...given, addGenerationPrompt: open || turns.length === 0 };
    return chatSegments(tokenizer, messages, how, opening);
  };
  const results: NativeChat['results'] = (outputs) => {
    const tool = tools[0]?.name ?? '';
    const turn: ChatTurn = { thinking: null, content: '', calls: [{ tool, input: 'x' }], outputs };
    const [called, ...answers] = messagesOf(turn);
    return growChat(tokenizer, [...probe, called!], answers, { ...given, turnEnded: true });
  };
  const plain = { tokenizer, opening, results, conversation };
  const chat: NativeChat = {
    ...plain,
    notes: tools.length === 0 ? [] : notesOf(plain, tokenizer, given, probe, messagesOf, tools[0]!),
    prompt: (question) => tokenizer.encodeChat(asked(question), opened),
  };
  return { chat, form: tools.length === 0 ? 'hermes' : formOf(chat, options) };
}

/** A template that refuses messages with calls says so in its own words; this adds advice. */
function checkedTools(
  tokenizer: ChatTokenizer,
  schemas: readonly ReturnType<typeof functionOf>[],
): ReturnType<typeof checkChatTools> {
  try {
    return checkChatTools(tokenizer, schemas);
  } catch (cause) {
    const message = messageOf(cause);
    if (message.includes('dialect tags')) throw cause;
    throw new MillraceError(
      'CHAT_TEMPLATE',
      `${message}: it does not support tool calls; use a template that does, or dialect tags`,
      { cause },
    );
  }
}

/** Every token that ends a turn in well-known templates counts, whether or not the folder names it. */
function withEnds(tokenizer: ChatTokenizer): ChatTokenizer {
  const known = ['<|im_end|>', '<|eot_id|>', '<|eom_id|>', '<end_of_turn>', '<|end|>'];
  const found = known.flatMap((text) => {
    if (!(tokenizer.markers ?? []).includes(text)) return [];
    return [tokenizer.id(text)];
  });
  return { ...tokenizer, endTokens: [...new Set([...tokenizer.endTokens, ...found])] };
}

/** The form in which the template writes a call: the one by which it is found in the text. */
function formOf(chat: NativeChat, { tools, folder }: NativeChatOptions): NativeForm {
  const tool = tools[0]!;
  const input = Object.keys(tool.parameters.properties).length === 1 ? `${PROBE}i` : '{}';
  const turn: ChatTurn = {
    thinking: null,
    content: '',
    outputs: [],
    calls: [{ tool: tool.name, input }],
  };
  const own = chat.conversation(`${PROBE}q`, [turn], false).filter(isOwn)[0];
  const ends = chat.tokenizer.endTokens ?? [];
  const text = chat.tokenizer.decode([...(own?.tokens ?? [])].filter((id) => !ends.includes(id)));
  const written = text.slice(Math.max(0, text.lastIndexOf('</think>') + '</think>'.length));
  const body = text.includes('</think>') ? written : text;
  const found = nativeForms.find((form) => {
    const calls = piecesOf(body, form, tools).flatMap(({ call }) => (call === null ? [] : [call]));
    return calls.length === 1 && calls[0]!.tool === tool.name;
  });
  if (found !== undefined) return found;
  throw new MillraceError(
    'DIALECT',
    `the chat template in ${folder} writes a call as ${JSON.stringify(body.slice(0, 120))}, which is not one of the forms ${nativeForms.join(', ')}. ` +
      'Use dialect tags, or add a form (docs/dialects.md)',
    { context: { folder } },
  );
}

const isOwn = ({ author }: ChatSegment): boolean => author === 'policy';

/**
 * How a turn with thinking, a call and a result, grown call by call, differs from the template's final
 * rendering.
 */
function notesOf(
  { results, conversation }: Pick<NativeChat, 'results' | 'conversation'>,
  tokenizer: ChatTokenizer,
  given: ChatOptions,
  asked: readonly ChatMessage[],
  messagesOf: (turn: ChatTurn) => ChatMessage[],
  tool: ToolSpec,
): readonly string[] {
  const question = `${PROBE}q`;
  const calling: ChatTurn = {
    thinking: 'first I look',
    content: '',
    calls: [{ tool: tool.name, input: '{}' }],
    outputs: [],
  };
  const ending: ChatTurn = { thinking: 'so it is', content: 'done', calls: [], outputs: [] };
  const first = conversation(question, [calling], false);
  const output = 'found';
  const answered = { ...calling, outputs: [output] };
  const last = conversation(question, [answered, ending], false).filter(isOwn).at(-1);
  const grown = [
    ...first.flatMap(({ tokens }) => [...tokens]),
    ...results([output]),
    ...(last?.tokens ?? []),
  ];
  const messages = [...asked, ...messagesOf(answered), ...messagesOf(ending)];
  const whole = tokenizer.encodeChat(messages, given);
  const more = whole.length - grown.length;
  const rest = more > 0 ? [...whole.subarray(grown.length)] : [];
  // After the last turn the template may end the line; that is dropped.
  const ended = tokenizer.decode(rest).trim() === '' ? [...grown, ...rest] : grown;
  const found = chatDifference(tokenizer, ended, messages, given);
  const calls = first.filter(isOwn).flatMap((segment) => [...segment.tokens]);
  const lost = tokenizer.decode(calls).includes('first I look')
    ? []
    : [
        'the chat template drops thinking and text beside a tool call: rollouts keep them as the policy wrote them, but training examples lose them',
      ];
  if (found === null) return lost;
  const { kind, grown: ours, whole: theirs } = found;
  const what =
    kind === 'thinking'
      ? 'drops the thinking of earlier turns'
      : `rewrites earlier turns (${kind}: ${JSON.stringify(ours)} becomes ${JSON.stringify(theirs)})`;
  return [
    ...lost,
    `the chat template ${what}; rollouts keep the policy's own tokens, but training examples get the template's text`,
  ];
}
