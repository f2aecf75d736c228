/**
 * How a policy acts in an environment: its tools, and what a call of one sends. They are the environment's
 * own, as it lists them (an environment of tools), or one tool that takes its action; or functions whose
 * calls are written as commands.
 *
 * They are in every prompt, so a run keeps them as they were when it began.
 */
import { z } from 'zod';
import type { ToolParameters } from '../../../base/functions/index.ts';
import { Exchange, type HttpRequest, NoReply } from '../../../base/http/index.ts';
import { MillraceError, messageOf, outsideText, type SleepClock } from '../../../base/index.ts';
import { jsonIn } from '../../../base/text/index.ts';
import { promptSpec } from '../mcp/specs.ts';
import { type CommandForm, commandForms, commandsOf, commandText } from './commands.ts';
import type { EnvironmentPlace } from './session.ts';

/** How calls become actions: as the environment says, or as commands. */
export const actionForms = ['auto', ...commandForms] as const;
export type ActionForm = (typeof actionForms)[number];

/** A tool of an environment. */
export const environmentAction = z.object({
  name: z.string(),
  about: z.string(),
  parameters: z.custom<ToolParameters>((value) => typeof value === 'object' && value !== null),
  sends: z.discriminatedUnion('kind', [
    /** The arguments are the action. */
    z.object({ kind: z.literal('action') }),
    /** A call of the environment's own tool with this name. */
    z.object({ kind: z.literal('tool'), tool: z.string() }),
    /** A command, in this field of the action. */
    z.object({ kind: z.literal('command'), form: z.enum(commandForms), field: z.string() }),
  ]),
});
export type EnvironmentAction = z.infer<typeof environmentAction>;

/** What is sent for a call. */
export function actionOf(
  { name, sends }: EnvironmentAction,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  switch (sends.kind) {
    case 'action':
      return given;
    case 'tool':
      return { type: 'call_tool', tool_name: sends.tool, arguments: given };
    case 'command':
      return { [sends.field]: commandText(sends.form, name, given) };
    default:
      throw new Error(`unknown action '${(sends satisfies never as { kind: string }).kind}'`);
  }
}

export interface ActionsOptions extends EnvironmentPlace {
  readonly form: ActionForm;
  /** Name of the tool that takes an action. */
  readonly tool: string;
  readonly clock: SleepClock;
  readonly timeoutMs: number;
}

/** Limit of a description. */
const REPLY_BYTES_MAX = 4_000_000;
/** How long to wait for a server that has only just begun to listen. */
const TRIES = 4;
const PAUSE_MS = 1_000;

/** MCP’s request for the list of tools. */
const LIST = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}';

const schemas = z.object({
  action: z.looseObject({
    description: z.string().optional(),
    properties: z.record(z.string(), z.looseObject({})).default({}),
    required: z.array(z.string()).optional(),
  }),
});
const listed = z.object({
  result: z.object({
    tools: z.array(
      z.looseObject({
        name: z.string(),
        description: z.string().nullish(),
        inputSchema: z.looseObject({}).optional(),
        input_schema: z.looseObject({}).optional(),
      }),
    ),
  }),
});

/** Asks an environment for its actions. Fails with code `ENVIRONMENT`. */
export async function environmentActions(
  options: ActionsOptions,
  signal: AbortSignal,
): Promise<readonly EnvironmentAction[]> {
  const exchange = new Exchange({ ...options, replyBytesMax: REPLY_BYTES_MAX });
  try {
    const schema = schemas.safeParse(await asked(exchange, '/schema', null, options, signal));
    if (!schema.success)
      throw refused(options, 'answers /schema with something that is not an OpenEnv schema');
    const { action } = schema.data;
    const { metadata: _, ...properties } = action.properties;
    if (options.form !== 'auto') return commands(options, options.form, properties);
    if (!takesTools(properties)) {
      const { description = 'Acts in the environment.', required, ...rest } = action;
      const own = { ...rest, properties, ...(required === undefined ? {} : { required }) };
      const tool = { name: options.tool, description, inputSchema: untitled(own) };
      const spec = promptSpec(options.tool, tool, (what) => refused(options, what));
      return [{ ...spec, sends: { kind: 'action' } }];
    }
    const tools = listed.safeParse(await asked(exchange, '/mcp', LIST, options, signal));
    if (!tools.success || tools.data.result.tools.length === 0)
      throw refused(options, 'expects tool calls but lists no tools');
    return tools.data.result.tools.map((tool) => {
      const inputSchema = untitled(tool.inputSchema ?? tool.input_schema ?? {});
      const { name, description } = tool;
      const told = { name, description: description ?? name, inputSchema };
      const spec = promptSpec(name, told, (what) => refused(options, what));
      return { ...spec, sends: { kind: 'tool', tool: name } };
    });
  } finally {
    exchange.close();
  }
}

/** The known functions of an environment whose action is one text. */
function commands(
  options: ActionsOptions,
  form: CommandForm,
  properties: ToolParameters['properties'],
): readonly EnvironmentAction[] {
  const texts = Object.entries(properties).flatMap(([name, { type }]) =>
    type === 'string' ? [name] : [],
  );
  const [field] = texts;
  if (field === undefined || texts.length > 1) {
    const has =
      texts.length === 0 ? 'none' : `these: ${texts.map((one) => outsideText(one, 40)).join(', ')}`;
    throw refused(
      options,
      `must have exactly one text field in its action, for the command (environment.form=${form}), but has ${has}`,
    );
  }
  return commandsOf(form).map(({ description: about, ...doc }) => ({
    ...{ ...doc, about },
    sends: { kind: 'command', form, field },
  }));
}

/** Environments of tools take `{"type": "call_tool", …}`. */
function takesTools(properties: Readonly<Record<string, unknown>>): boolean {
  const kind = (properties.type as { readonly const?: unknown } | undefined)?.const;
  return kind === 'call_tool' || kind === 'list_tools' || Object.keys(properties).length === 0;
}

/** Pydantic repeats each name as a title. */
function untitled(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { title: _, description: __, properties = {}, ...rest } = schema;
  const named = Object.entries(properties as Readonly<Record<string, object>>).map(
    ([name, { title: ___, ...inner }]: [string, { readonly title?: unknown }]) => [name, inner],
  );
  return { ...rest, properties: Object.fromEntries(named) as object };
}

/** The JSON reply of a path of the server. */
async function asked(
  exchange: Exchange,
  path: string,
  body: string | null,
  options: ActionsOptions,
  signal: AbortSignal,
): Promise<unknown> {
  const { url, key, clock } = options;
  const request: HttpRequest = {
    url: url + path,
    headers: {
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    },
    body: body ?? undefined,
  };
  for (let tries = 1; ; tries++) {
    try {
      const reply = await exchange.ask(request, signal);
      if (reply.ok) return jsonIn(reply.text());
      throw refused(
        options,
        `answers ${path} with HTTP ${reply.status}: ${outsideText(reply.text())}`,
      );
    } catch (error) {
      if (!(error instanceof NoReply)) throw error;
      if (tries >= TRIES) throw refused(options, `does not answer: ${messageOf(error)}`);
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}

function refused({ url }: EnvironmentPlace, what: string): MillraceError<'ENVIRONMENT'> {
  return new MillraceError(
    'ENVIRONMENT',
    `the environment at ${url} ${what}. environment.url takes the address of an OpenEnv server (docs/environments.md)`,
    { context: { url } },
  );
}
