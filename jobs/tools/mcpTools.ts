/**
 * The tools of MCP servers that a job's settings name (`tools.mcp.NAME`).
 *
 * Their descriptions are in every prompt, so a run keeps them (`mcp.json` in its folder) and continues with
 * them, whatever its servers say later; then, and in a replay, no server is started before a tool is called.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { keyIn } from '../../base/http/index.ts';
import { keepSecret, MillraceError, replaceFile } from '../../base/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import {
  type McpPlace,
  type McpServer,
  type McpToolSpec,
  mcpServer,
  mcpTool,
  mcpToolSpec,
  specsOf,
} from '../../operators/tools/mcp/index.ts';
import type { JobContext } from '../defineJob.ts';
import { keptJson } from '../keptJson.ts';
import { positiveInt } from '../policySettings.ts';

/** In a run's folder: how the tools of MCP servers are described to its policy. */
export const MCP_FILE = 'mcp.json';

const list = z.preprocess(
  (given) => (typeof given === 'string' ? given.split(',').map((name) => name.trim()) : given),
  z.array(z.string().min(1)),
);

const whole = z.strictObject({
  command: z
    .string()
    .default('')
    .describe('command that starts the server, with arguments separated by spaces'),
  args: z.array(z.string()).default([]).describe('further arguments, taken literally'),
  url: z
    .string()
    .superRefine((address, context) => {
      const found = keyIn(address);
      if (found === null) return;
      const message = `the url contains ${found}, which would be stored with the run: put it into an environment variable and name that in token`;
      context.addIssue({ code: 'custom', message });
    })
    .default('')
    .describe('URL of the server (streamable HTTP), instead of a command'),
  token: z.string().default('').describe('environment variable that holds the token for `url`'),
  env: list.default([]).describe('environment variables to pass to the server'),
  tools: list.nullable().default(null).describe('tools to offer; null = all'),
  prefix: z.string().default('').describe('prefix for the names of its tools'),
  timeoutMs: positiveInt.default(60_000).describe('time limit per call'),
  charactersMax: positiveInt.default(4_000).describe('maximum characters per result'),
  concurrency: positiveInt.default(8).describe('concurrent calls'),
});

/** A command line or an address is short for an object with more about a server. */
const short = (given: unknown): unknown =>
  typeof given !== 'string'
    ? given
    : /^https?:\/\//.test(given)
      ? { url: given }
      : { command: given };
const server = z.preprocess(short, whole);

/** MCP servers by their names in the settings. */
export const mcpSettings = z
  .record(z.string(), server)
  .default({})
  .describe(
    'MCP servers whose tools the policy may call: tools.mcp.NAME=COMMAND, tools.mcp.NAME=URL, or an object (docs/mcp.md)',
  );

export type McpServers = z.infer<typeof mcpSettings>;

const place = whole.pick({
  ...{ command: true, args: true, url: true, token: true, env: true, timeoutMs: true },
});

/** MCP servers whose tools belong to an agent, which offers them to the policy itself. */
export const agentMcpSettings = z
  .record(z.string(), z.preprocess(short, place))
  .default({})
  .describe(
    'MCP servers that the agent reaches through the gateway, which records their results for resume and forks: agent.mcp.NAME=COMMAND, agent.mcp.NAME=URL, or an object (docs/agents.md)',
  );

/** These servers, which start when they are first called. Throws code `USAGE` for invalid settings. */
export function mcpServers(
  servers: z.infer<typeof agentMcpSettings>,
  { own }: Pick<JobContext<unknown>, 'own'>,
  environment: NodeJS.ProcessEnv = process.env,
): ReadonlyMap<string, McpServer> {
  const open = Object.entries(servers).map(([name, settings]) => {
    const at = placeOf(`agent.mcp.${name}`, name, settings, environment);
    return [name, own(mcpServer({ name, place: at, timeoutMs: settings.timeoutMs }))] as const;
  });
  return new Map(open);
}

/** Throws code `USAGE` for invalid settings, and `MCP` if a server that must be asked does not answer. */
export async function mcpTools(
  servers: McpServers,
  { folder, own, print, replay }: Pick<JobContext<unknown>, 'folder' | 'own' | 'print' | 'replay'>,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<readonly Tool[]> {
  const entries = Object.entries(servers);
  if (entries.length === 0) return [];
  const open = new Map<string, McpServer>();
  for (const [name, settings] of entries) {
    const at = placeOf(`tools.mcp.${name}`, name, settings, environment);
    open.set(name, own(mcpServer({ name, place: at, timeoutMs: settings.timeoutMs })));
  }
  const path = join(folder, MCP_FILE);
  const known = await keptJson(path, z.array(mcpToolSpec), 'the tools of this run');
  if (known === null && replay !== undefined) throw unknown(folder);
  const specs = known ?? (await asked(servers, open, { folder, print }));
  return specs.map((spec) => {
    const [live, settings] = [open.get(spec.server), servers[spec.server]];
    if (live === undefined || settings === undefined) throw gone(folder, spec.server);
    const { charactersMax, concurrency } = settings;
    return mcpTool(live, spec, { charactersMax, concurrencyMax: concurrency });
  });
}

async function asked(
  servers: McpServers,
  open: ReadonlyMap<string, McpServer>,
  { folder, print }: { readonly folder: string; readonly print: (line: string) => void },
): Promise<readonly McpToolSpec[]> {
  const specs: McpToolSpec[] = [];
  for (const [name, live] of open) {
    const found = specsOf(name, await live.tools(), servers[name]!);
    print(`tools of the MCP server ${name}: ${found.map((spec) => spec.name).join(', ')}`);
    specs.push(...found);
  }
  await mkdir(folder, { recursive: true });
  await replaceFile(join(folder, MCP_FILE), `${JSON.stringify(specs, null, 1)}\n`);
  return specs;
}

/** A replay starts and asks no server. */
function unknown(folder: string): MillraceError {
  return new MillraceError(
    'INPUT_CHANGED',
    `${join(folder, MCP_FILE)}, which records the tools of this run, is missing, and a replay contacts no tool server. Restore it`,
  );
}

function gone(folder: string, server: string): MillraceError {
  return new MillraceError(
    'INPUT_CHANGED',
    `the run uses tools of the MCP server ${server} (${join(folder, MCP_FILE)}), which is no longer in the settings: set tools.mcp.${server} again, or start another run (--run NAME)`,
  );
}

/** `setting` is for messages. */
function placeOf(
  setting: string,
  name: string,
  { command, args, url, token, env }: z.infer<typeof place>,
  environment: NodeJS.ProcessEnv,
): McpPlace {
  const usage = (what: string): MillraceError => new MillraceError('USAGE', `${setting}: ${what}`);
  const secret = (variable: string): string => {
    const value = environment[variable];
    if (value === undefined)
      throw usage(
        `the environment variable ${variable} is not set; set it in the shell that starts the run`,
      );
    keepSecret(value);
    return value;
  };
  if (!/^[\w-]+$/.test(name)) throw usage('invalid name: use letters, digits, _ and -');
  if ((command === '') === (url === ''))
    throw usage('give either a command that starts the server or the url of one');
  if (url !== '') {
    if (!URL.canParse(url)) throw usage(`${url} is not a valid URL`);
    return { kind: 'http', url, token: token === '' ? null : secret(token) };
  }
  if (/['"]/.test(command))
    throw usage('quotes are not supported in command; put each argument into args');
  const [program, ...more] = command.trim().split(/\s+/);
  return {
    kind: 'process',
    command: program!,
    args: [...more, ...args],
    env: Object.fromEntries(env.map((variable) => [variable, secret(variable)])),
  };
}
