/**
 * `millrace mcp`: runs, search and Python as a server of the Model Context Protocol (stdio), for coding
 * agents.
 *
 * Read-only: it uses the commands that read runs (`topics`, `tap`, `report`, `doctor`, `diff`), never with an
 * option that runs code, writes or waits forever. Results are bounded.
 */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { outsideText } from '../../base/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import { pythonTool } from '../../operators/tools/python/index.ts';
import { readCorpus, searchTool } from '../../operators/tools/search/index.ts';
import { exitCodes } from '../failure.ts';
import type { Io } from '../io.ts';
import { listRuns } from '../runs.ts';
import { version } from '../version.ts';
import { captured } from './captured.ts';

/** Runs one of our command lines on the given `Io`. */
type RunLine = (args: readonly string[], io: Io) => Promise<number>;

export interface McpOptions {
  readonly runs: string;
  readonly corpus?: string;
  readonly python?: boolean;
}

export async function mcpCommand(options: McpOptions, io: Io, run: RunLine): Promise<number> {
  const tools: Tool[] = [];
  if (options.corpus !== undefined) {
    tools.push(searchTool({ documents: await readCorpus(options.corpus), top: 10 }));
  }
  if (options.python === true) tools.push(pythonTool({ timeoutMs: 10_000, outputMax: 20_000 }));
  const ended = new Promise<void>((resolve) => {
    io.onInterrupt(resolve);
    process.stdin.once('end', resolve);
    process.stdin.once('close', resolve);
  });
  const serving = serveStdio(() => serverOf(options, tools, io, run), {
    onerror: (error) => io.err(outsideText(error.message)),
  });
  if (io.terminal)
    io.err('this is an MCP server, meant to be started by a client; press Ctrl-C to end it');
  await ended;
  await serving.close();
  for (const tool of tools) await tool.close();
  return exitCodes.done;
}

/** Names of runs and topics, excluding any that the command line could take for an option. */
const named = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9][\w-]*$/);
const runName = named.describe('name of a run, as the tool runs lists it');
const topicName = named.describe('name of a topic, as the tool topics lists it');

function serverOf({ runs }: McpOptions, tools: readonly Tool[], io: Io, run: RunLine): McpServer {
  const server = new McpServer({ name: 'millrace', version });
  const at = ['--runs', runs];
  /** A reading command as a tool. */
  const line = async (args: readonly string[], signal: AbortSignal) => {
    const { text, ok } = await captured(io, signal, (quiet) => run(args, quiet));
    return { content: [{ type: 'text' as const, text }], isError: !ok };
  };
  const reads = { readOnlyHint: true, openWorldHint: false };

  server.registerTool(
    'runs',
    {
      description: 'All runs, newest first, with their job, status, seed and time of start.',
      annotations: reads,
    },
    async () => {
      const found = await listRuns(runs);
      const rows = found.map(({ name, record }) => {
        const { job, status, reason, seed, starts } = record;
        return { name, job: job.name, status, reason, seed, startedMs: starts.at(-1)?.startedMs };
      });
      rows.sort((a, b) => (b.startedMs ?? 0) - (a.startedMs ?? 0));
      return { content: [{ type: 'text', text: JSON.stringify(rows, null, 1) }] };
    },
  );
  server.registerTool(
    'topics',
    {
      description: 'The topics of a run: records, bytes, and how far behind each reader is.',
      inputSchema: z.object({ run: runName }),
      annotations: reads,
    },
    async (given, { mcpReq }) => line(['topics', given.run, '--json', ...at], mcpReq.signal),
  );
  server.registerTool(
    'tap',
    {
      description:
        'Records of a topic of a run as JSON Lines (questions, rollouts, tool-calls, scored, selected, batches, weights, metrics, …): the last ones, those from an offset, or those with a key (usually the id of a question).',
      inputSchema: z.object({
        run: runName,
        topic: topicName,
        count: z.number().int().min(1).max(200).default(10).describe('maximum number of records'),
        from: z
          .number()
          .int()
          .nonnegative()
          .optional()
          .describe('first offset; omit it for the last records'),
        key: z.string().max(1_000).optional().describe('only records with this key'),
        fields: z.array(z.string().max(200)).max(50).optional().describe('only these fields'),
      }),
      annotations: reads,
    },
    async ({ run: name, topic, count, from, key, fields }, { mcpReq }) => {
      const where =
        from !== undefined
          ? ['--from', String(from)]
          : key === undefined
            ? ['--from', `-${count}`]
            : [];
      const keyed = key === undefined ? [] : [`--key=${key}`];
      const only = fields === undefined ? [] : ['--fields', fields.join(',')];
      return line(
        [
          'tap',
          `${name}.${topic}`,
          '-o',
          'ndjson',
          '-n',
          String(count),
          ...where,
          ...keyed,
          ...only,
          ...at,
        ],
        mcpReq.signal,
      );
    },
  );
  server.registerTool(
    'report',
    {
      description:
        'The results of a run: accuracy and tool calls before and after each round, rewards, curves.',
      inputSchema: z.object({ run: runName }),
      annotations: reads,
    },
    async (given, { mcpReq }) =>
      line(['report', given.run, '--json', '--no-page', ...at], mcpReq.signal),
  );
  server.registerTool(
    'doctor',
    {
      description: 'Whether the records and weights of a run are intact and consistent.',
      inputSchema: z.object({ run: runName }),
      annotations: reads,
    },
    async (given, { mcpReq }) => line(['doctor', given.run, '--json', ...at], mcpReq.signal),
  );
  server.registerTool(
    'diff',
    {
      description: 'Compares two runs: settings that differ, and the first records that do.',
      inputSchema: z.object({ a: runName, b: runName }),
      annotations: reads,
    },
    async ({ a, b }, { mcpReq }) => line(['diff', a, b, '--json', ...at], mcpReq.signal),
  );
  for (const tool of tools) {
    server.registerTool(
      tool.name,
      {
        description: tool.about,
        inputSchema: z.object({ input: z.string().max(100_000) }),
        annotations: reads,
      },
      async ({ input }, { mcpReq }) => {
        const { output, ok } = await tool.run(input, mcpReq.signal);
        return { content: [{ type: 'text', text: output }], isError: !ok };
      },
    );
  }
  return server;
}
