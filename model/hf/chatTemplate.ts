/**
 * The chat template of a tokenizer: a Jinja text that turns messages into the one text that the policy was trained on.
 *
 * Rendering is pure: the same messages give the same text. Templates that ask for today's date get it from `now` alone;
 * without it `strftime_now` is not defined, and they fall back to what they say themselves.
 */
import { Environment, Interpreter, Template } from '@huggingface/jinja';
import { MillraceError } from '../../base/errors.ts';

/** A message as chat templates read it; `role` is `system`, `user`, `assistant` or `tool` in most of them. */
export interface ChatMessage {
  readonly role: string;
  /** Null where a message holds tool calls alone. */
  readonly content: string | null;
  /** Whatever else the template reads: `tool_calls`, `name`, `reasoning_content`. */
  readonly [field: string]: unknown;
}

/** What the template gets besides the messages. `now` is the date that it may ask for (UTC). */
export interface ChatOptions {
  /** End with what opens the policy's next message. */
  readonly addGenerationPrompt?: boolean;
  /** Tools as the template shows them: JSON schemas of functions. */
  readonly tools?: readonly unknown[];
  /** Other variables of the template (`enable_thinking`, say). */
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly now?: Date;
}

export interface ChatTemplate {
  /** Throws `CHAT_TEMPLATE` where the template refuses the messages or cannot be run. */
  render(messages: readonly ChatMessage[], options?: ChatOptions): string;
}

function refuse(path: string, what: string, cause: unknown): MillraceError<'CHAT_TEMPLATE'> {
  return new MillraceError('CHAT_TEMPLATE', `${path}: ${what}`, {
    context: { file: path },
    cause,
  });
}

/**
 * A template from its source; `tokens` are the named special tokens (`bos_token`, `eos_token`, …) and `path` is for
 * messages. Throws `CHAT_TEMPLATE` when it does not parse.
 */
export function chatTemplate(
  path: string,
  source: string,
  tokens: Readonly<Record<string, string>>,
): ChatTemplate {
  const template = parse(path, source);
  return {
    render(messages, { addGenerationPrompt = false, tools, variables = {}, now } = {}) {
      const environment = new Environment();
      const values = {
        ...constants,
        ...(now === undefined ? {} : { strftime_now: (format: string) => date(format, now) }),
        ...tokens,
        documents: null,
        ...variables,
        messages,
        tools: tools ?? null,
        add_generation_prompt: addGenerationPrompt,
      };
      for (const [name, value] of Object.entries(values)) environment.set(name, value);
      try {
        return String(new Interpreter(environment).run(template.parsed).value);
      } catch (cause) {
        const roles = messages.map(({ role }) => role).join(', ');
        throw refuse(
          path,
          `the chat template does not take these messages (${roles}): ${(cause as Error).message}`,
          cause,
        );
      }
    },
  };
}

function parse(path: string, source: string): Template {
  // marks what the policy wrote, for training masks; it renders as what is inside
  const plain = source
    .replace(/(\{%[-+]?\s*)generation(\s*[-+]?%\})/g, '$1if true$2')
    .replace(/(\{%[-+]?\s*)endgeneration(\s*[-+]?%\})/g, '$1endif$2');
  try {
    return new Template(plain);
  } catch (cause) {
    throw refuse(path, `the chat template does not parse: ${(cause as Error).message}`, cause);
  }
}

/** What transformers gives every template. */
const constants: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  range: (start: number, stop?: number, step = 1) => {
    const [first, end] = typeof stop === 'number' ? [start, stop] : [0, start];
    const length = Math.max(0, Math.ceil((end - first) / step));
    return Array.from({ length }, (_, i) => first + i * step);
  },
  raise_exception: (message: string) => {
    throw new Error(message);
  },
};

const MONTHS =
  'January February March April May June July August September October November December'.split(
    ' ',
  );
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** The parts of Python's strftime that templates use, in UTC. */
function date(format: string, now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const month = MONTHS[now.getUTCMonth()]!;
  const day = DAYS[now.getUTCDay()]!;
  const parts: Readonly<Record<string, string>> = {
    Y: String(now.getUTCFullYear()),
    m: two(now.getUTCMonth() + 1),
    d: two(now.getUTCDate()),
    H: two(now.getUTCHours()),
    M: two(now.getUTCMinutes()),
    S: two(now.getUTCSeconds()),
    B: month,
    b: month.slice(0, 3),
    A: day,
    a: day.slice(0, 3),
    '%': '%',
  };
  return format.replace(/%(.)/g, (_, letter: string) => {
    const part = parts[letter];
    if (part === undefined) throw new Error(`strftime_now: %${letter} is not known`);
    return part;
  });
}
