/**
 * The chat template of a tokenizer: a Jinja text that turns messages into the one text that the policy was
 * trained on.
 *
 * Rendering is pure: the same messages give the same text. Templates that ask for today's date get it from
 * `now` alone; without it `strftime_now` is not defined, and they fall back to what they say themselves.
 */
import { MillraceError, withinDeadline } from '../../base/index.ts';
import {
  compile,
  convert,
  Dict,
  List,
  NeedsDeadline,
  type Renderer,
  type Run,
  TemplateFailure,
  type Value,
} from '../../jinja/index.ts';

/** A call in an assistant's message, in OpenAI's form. */
export interface ChatToolCall {
  readonly id?: string;
  readonly type?: 'function';
  /** `arguments` as an object (most templates) or as JSON text (some); rendered as given. */
  readonly function: { readonly name: string; readonly arguments: unknown };
}

/** A piece of a message's content: `{ type: 'text', text }`, or another kind that the template knows. */
export interface ChatContentPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * A message as chat templates read it; `role` is `system`, `user`, `assistant` or `tool` in most of them. A
 * frozen message is frozen throughout.
 */
export interface ChatMessage {
  readonly role: string;
  /** Null or left out if a message has only tool calls. */
  readonly content?: string | null | readonly ChatContentPart[];
  readonly tool_calls?: readonly ChatToolCall[];
  /** What the assistant thought, for templates that have a place for it. */
  readonly reasoning_content?: string | null;
  /** Which call a tool answers. */
  readonly tool_call_id?: string;
  /** Name of the tool that answers. */
  readonly name?: string;
  /** Anything else that the template reads. */
  readonly [field: string]: unknown;
}

/** What the template gets besides the messages. `now` is the date that it may ask for (UTC). */
export interface ChatOptions {
  /** End with the opening of the policy's next message. */
  readonly addGenerationPrompt?: boolean;
  /** Tools as the template shows them: JSON schemas of functions. A frozen list is frozen throughout. */
  readonly tools?: readonly unknown[];
  /** Other variables of the template (`enable_thinking`, for example). */
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly now?: Date;
}

export interface ChatTemplate {
  /** Throws `CHAT_TEMPLATE` if the template refuses the messages or cannot be run. */
  render(messages: readonly ChatMessage[], options?: ChatOptions): string;
  /**
   * The same text in stretches, each with the message that it was taken from; null for what the template
   * wrote. What users and tools said is `outside`, in whatever form the template wrote it.
   */
  runs(messages: readonly ChatMessage[], options?: ChatOptions): readonly Run[];
}

/** In characters; those of real models have up to twenty thousand. */
const SOURCE_MAX = 200_000;

/** Roles whose messages are text from outside. */
const OUTSIDE: ReadonlySet<string> = new Set([
  'user',
  'tool',
  'ipython',
  'observation',
  'function',
]);

function refuse(path: string, what: string, cause: unknown): MillraceError<'CHAT_TEMPLATE'> {
  return new MillraceError('CHAT_TEMPLATE', `${path}: ${what}`, {
    context: { file: path },
    cause,
  });
}

function tooLong(): TemplateFailure {
  return new TemplateFailure('it takes too long');
}

/** A failure of the template in words, with its line. */
function described(cause: unknown): string {
  if (!(cause instanceof TemplateFailure)) throw cause;
  return cause.line === null ? cause.message : `line ${cause.line}: ${cause.message}`;
}

/**
 * A template from its source; `tokens` are the named special tokens (`bos_token`, `eos_token`, …) and `path`
 * is for messages. Throws `CHAT_TEMPLATE` when it does not parse.
 */
export function chatTemplate(
  path: string,
  source: string,
  tokens: Readonly<Record<string, string>>,
): ChatTemplate {
  const renderer = compiled(path, source);
  let needsDeadline = false;
  const rendered = (variables: Parameters<Renderer>[0], now: Date | undefined): readonly Run[] => {
    if (!needsDeadline)
      try {
        return renderer(variables, now, false);
      } catch (error) {
        if (!(error instanceof NeedsDeadline)) throw error;
        needsDeadline = true;
      }
    return withinDeadline(() => renderer(variables, now, true), tooLong);
  };
  const runs: ChatTemplate['runs'] = (messages, options = {}) => {
    try {
      return rendered(variablesOf(messages, options, tokens), options.now);
    } catch (cause) {
      const roles = messages.map(({ role }) => role).join(', ');
      throw refuse(
        path,
        `the chat template cannot render these messages (${roles}): ${described(cause)}`,
        cause,
      );
    }
  };
  return {
    runs,
    render: (messages, options) =>
      runs(messages, options)
        .map(({ text }) => text)
        .join(''),
  };
}

function compiled(path: string, source: string): ReturnType<typeof compile> {
  try {
    if (source.length > SOURCE_MAX) throw new TemplateFailure(`it has ${source.length} characters`);
    return withinDeadline(() => compile(source), tooLong);
  } catch (cause) {
    throw refuse(path, `the chat template does not parse: ${described(cause)}`, cause);
  }
}

function variablesOf(
  messages: readonly ChatMessage[],
  { addGenerationPrompt = false, tools, variables = {} }: ChatOptions,
  tokens: Readonly<Record<string, string>>,
): ReadonlyMap<string, Value> {
  const given = { ...tokens, documents: null, ...variables };
  const values = new Map<string, Value>();
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) values.set(name, convert(value));
  values.set('messages', new List(messages.map(saidBy)));
  // a tool server writes its own descriptions: they make no tags
  values.set('tools', toolsValue(tools));
  values.set('add_generation_prompt', addGenerationPrompt);
  return values;
}

const knownTools = new WeakMap<readonly unknown[], Value>();

/** Converts frozen tools only once, so that their JSON is written once. */
function toolsValue(tools: ChatOptions['tools']): Value {
  const made = () => convert(tools ?? null, { message: -1, outside: true });
  if (tools === undefined || !Object.isFrozen(tools)) return made();
  const value = knownTools.get(tools) ?? made();
  knownTools.set(tools, value);
  return value;
}

const knownMessages = new WeakMap<ChatMessage, { readonly at: number; readonly value: Value }>();

/** Converts a frozen message only once for each position. */
function saidBy(message: ChatMessage, at: number): Value {
  const known = knownMessages.get(message);
  if (known?.at === at) return known.value;
  const value = messageValue(message, at);
  if (Object.isFrozen(message)) knownMessages.set(message, { at, value });
  return value;
}

/** A message, with its texts marked by origin; the job sets the role. */
function messageValue(message: ChatMessage, at: number): Value {
  const origin = { message: at, outside: OUTSIDE.has(message.role) };
  const said = convert(message, origin);
  if (!(said instanceof Dict) || typeof message.role !== 'string') return said;
  return new Dict([...said.entries.values(), ['role', message.role]]);
}
