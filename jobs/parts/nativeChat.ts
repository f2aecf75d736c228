/**
 * The chat template in a policy's folder, as the native dialect needs it. Everything that the template cannot
 * do is found out here, before the first rollout.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import {
  type ChatMessage,
  type ChatOptions,
  chatDifference,
  checkChatTools,
  growChat,
  type LoadedTokenizer,
  partsOf,
} from '../../model/hf/index.ts';
import {
  argumentsFor,
  type ChatSegment,
  type ChatTurn,
  functionOf,
  type NativeChat,
  type NativeForm,
  nativeForms,
  piecesOf,
  type ToolSpec,
} from '../../operators/dialect/native/index.ts';

/** What a chat is made of. */
export interface NativeChatOptions {
  readonly tokenizer: LoadedTokenizer;
  readonly tools: readonly ToolSpec[];
  /** The system prompt; '' = none. */
  readonly system: string;
  /** For messages. */
  readonly folder: string;
}

/** Texts that no template has. */
const PROBE = 'qvxzkj';

/**
 * The chat, and the form in which its template writes calls. Fails with `CHAT_TEMPLATE` where the template
 * shows no tools or loses results, with `DIALECT` where it writes calls in a form that is not known.
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
    return segmentsOf(tokenizer, messages, how, opening);
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

/** A template that refuses the messages of calls says so in its own words; what to do is added. */
function checkedTools(
  tokenizer: LoadedTokenizer,
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

/** Every token that ends a turn in well-known templates counts, named in the folder or not. */
function withEnds(tokenizer: LoadedTokenizer): LoadedTokenizer {
  const known = ['<|im_end|>', '<|eot_id|>', '<|eom_id|>', '<end_of_turn>', '<|end|>'];
  const found = known.flatMap((text) => {
    if (!(tokenizer.markers ?? []).includes(text)) return [];
    return [tokenizer.id(text)];
  });
  return { ...tokenizer, endTokens: [...new Set([...tokenizer.endTokens, ...found])] };
}

/** The form in which the template writes a call: the one by which it is found in what was written. */
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
    `the chat template in ${folder} writes a call as ${JSON.stringify(body.slice(0, 120))}, which is neither JSON in <tool_call>, as ` +
      'in Hermes and Qwen, nor the form of Llama 3. Use dialect tags, or write your own dialect (docs/dialects.md)',
    { context: { folder } },
  );
}

const isOwn = ({ author }: ChatSegment): boolean => author === 'policy';

/**
 * What differs where a turn with thinking, a call and a result grows, from what the template makes of it in
 * the end.
 */
function notesOf(
  { results, conversation }: Pick<NativeChat, 'results' | 'conversation'>,
  tokenizer: LoadedTokenizer,
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
  // Behind the last turn the template may end the line; nobody is given that.
  const ended = tokenizer.decode(rest).trim() === '' ? [...grown, ...rest] : grown;
  const found = chatDifference(tokenizer, ended, messages, given);
  const calls = first.filter(isOwn).flatMap((segment) => [...segment.tokens]);
  const lost = tokenizer.decode(calls).includes('first I look')
    ? []
    : [
        'the chat template drops what a turn thinks or says besides its call: rollouts keep it as the policy wrote it, but training examples lose it',
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

/** A whole rendering cut where the policy's turns begin and end. */
function segmentsOf(
  tokenizer: LoadedTokenizer,
  messages: readonly ChatMessage[],
  options: ChatOptions,
  opening: string,
): ChatSegment[] {
  const runs = tokenizer.chatRuns(messages, options);
  const text = runs.map((run) => run.text).join('');
  const spans: { readonly start: number; readonly end: number; readonly message: number }[] = [];
  let at = 0;
  for (const { text: said, origin } of runs) {
    if (origin !== null) spans.push({ start: at, end: at + said.length, message: origin.message });
    at += said.length;
  }
  const ends = tokenizer.endTokens.map((id) => tokenizer.decode([id])).filter((end) => end !== '');
  const cuts: { readonly start: number; readonly end: number }[] = [];
  for (const [number, { role }] of messages.entries()) {
    if (role !== 'assistant') continue;
    const own = spans.filter(({ message }) => message === number);
    const from = cuts.at(-1)?.end ?? 0;
    const first = own[0]?.start ?? text.length;
    const start = openingBefore(text, opening, from, first);
    const next = spans.find(({ message }) => message > number)?.start ?? text.length;
    const last = own.findLast(({ end }) => end <= next)?.end ?? start;
    cuts.push({ start, end: endBehind(text, ends, Math.max(last, start), next) });
  }
  return segmented(tokenizer, runs, cuts, options.addGenerationPrompt === true);
}

/** Behind the longest beginning of `opening` that stands before a turn. */
function openingBefore(text: string, opening: string, from: number, to: number): number {
  for (let length = opening.length; length > 0; length--) {
    const at = text.slice(from, to).lastIndexOf(opening.slice(0, length));
    if (at >= 0) return from + at + length;
  }
  return to;
}

/** Behind the first token that ends a turn. */
function endBehind(text: string, ends: readonly string[], from: number, to: number): number {
  const found = ends
    .map((end) => ({ at: text.indexOf(end, from), length: end.length }))
    .filter(({ at }) => at >= 0 && at <= to)
    .sort((a, b) => a.at - b.at)[0];
  if (found !== undefined) return found.at + found.length;
  throw new MillraceError(
    'CHAT_TEMPLATE',
    `the chat template does not end the policy's turn with one of ${ends.map((end) => JSON.stringify(end)).join(', ')}: ` +
      'set eos_token_id in generation_config.json to the token that does',
  );
}

function segmented(
  tokenizer: LoadedTokenizer,
  runs: ReturnType<LoadedTokenizer['chatRuns']>,
  cuts: readonly { readonly start: number; readonly end: number }[],
  open: boolean,
): ChatSegment[] {
  const within = (start: number, end: number): Int32Array => {
    let at = 0;
    const kept = runs.flatMap(({ text, origin }) => {
      const part = text.slice(Math.max(0, start - at), Math.max(0, end - at));
      at += text.length;
      return part === '' ? [] : [{ text: part, origin }];
    });
    return tokenizer.encodeParts(partsOf(kept));
  };
  const length = runs.reduce((sum, { text }) => sum + text.length, 0);
  const [first] = cuts;
  const segments: ChatSegment[] = [{ author: 'prompt', tokens: within(0, first?.start ?? length) }];
  for (const [i, { start, end }] of cuts.entries()) {
    segments.push({ author: 'policy', tokens: within(start, end) });
    const next = cuts[i + 1]?.start ?? length;
    // What stands behind the last turn is nobody's, unless a result does.
    const tokens = within(end, next);
    const isLast = i === cuts.length - 1;
    const answered = runsBehind(runs, end).some(({ origin }) => origin !== null);
    if (tokens.length > 0 && (!isLast || open || answered)) {
      segments.push({ author: 'tool', tokens });
    }
  }
  return segments;
}

function runsBehind(
  runs: ReturnType<LoadedTokenizer['chatRuns']>,
  position: number,
): ReturnType<LoadedTokenizer['chatRuns']> {
  let at = 0;
  return runs.filter(({ text }) => {
    at += text.length;
    return at > position;
  });
}
