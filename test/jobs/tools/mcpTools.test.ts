/** The setting `mcp`: how servers are named, what a run keeps of them, and what is wrong with a name. */

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { checkSettings, parseSetting } from '../../../cli/settings.ts';
import { systemPrompt } from '../../../jobs/dialects/dialectOf.ts';
import {
  agentMcpSettings,
  type McpServers,
  mcpServers,
  mcpSettings,
  mcpTools,
} from '../../../jobs/tools/mcpTools.ts';
import { temporaryFolder } from '../../support/folder.ts';

const everything = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);
const server = `${process.execPath} ${everything} stdio`;
const never = new AbortController().signal;

const ended: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

function settings(...given: string[]): McpServers {
  const schema = z.object({ mcp: mcpSettings });
  return (checkSettings(schema, given.map(parseSetting)) as { mcp: McpServers }).mcp;
}

function context() {
  const folder = temporaryFolder();
  ended.push(() => folder.remove());
  const said: string[] = [];
  const own = <T extends { close(): Promise<void> }>(resource: T): T => {
    ended.push(() => resource.close());
    return resource;
  };
  return { folder: folder.path, own, said, print: (line: string) => said.push(line) };
}

describe('a server by its command', () => {
  test('gives tools to the policy, and is not asked again when the run is resumed', async () => {
    const given = context();
    const whole = settings(`mcp.ref={"command":"${server}","tools":"echo,get-sum","prefix":"r-"}`);
    const tools = await mcpTools(whole, given);
    expect(given.said).toEqual(['tools of the MCP server ref: r-echo, r-get-sum']);
    const prompt = systemPrompt('tags', tools);
    expect(prompt).toContain('- <r-echo>…</r-echo>: Echoes back the input string');
    expect(prompt).toMatch(
      /<\/r-get-sum>: .*numbers\. Its input is one JSON object with "a" \(number\): .*; "b" \(number\): /,
    );
    expect(await tools[0]!.run('hello', never)).toEqual({ output: 'Echo: hello', ok: true });
    // a server that is not there: nothing is started before a call
    const absent = settings('mcp.ref={"command":"no-such-command","prefix":"r-"}');
    const again = await mcpTools(absent, given);
    expect(systemPrompt('tags', again)).toBe(prompt);
    await expect(again[0]!.run('hello', never)).rejects.toMatchObject({ code: 'TOOL_DOWN' });
    await expect(mcpTools(settings('mcp.other=npx x'), given)).rejects.toMatchObject({
      code: 'INPUT_CHANGED',
      message: expect.stringContaining('set tools.mcp.ref again'),
    });
    await writeFile(join(given.folder, 'mcp.json'), '[{"server":');
    await expect(mcpTools(whole, given)).rejects.toMatchObject({ code: 'DAMAGED' });
  });

  test('is never started by a replay, even if its tools were not recorded', async () => {
    const given = context();
    const trace = join(given.folder, 'started');
    const spy = settings(`mcp.ref={"command":"touch","args":[${JSON.stringify(trace)}]}`);
    const replay = {} as NonNullable<Parameters<typeof mcpTools>[1]['replay']>;
    await expect(mcpTools(spy, { ...given, replay })).rejects.toMatchObject({
      code: 'INPUT_CHANGED',
      message: expect.stringContaining('a replay contacts no tool server'),
    });
    expect(existsSync(trace)).toBe(false);
  });

  test('gets only the environment variables that are named, and their values are secrets', async () => {
    const given = context();
    const whole = settings(
      `mcp.ref={"command":"${server}","tools":"get-env","env":"MINE","charactersMax":20000}`,
    );
    const environment = { MINE: 'a-secret-of-mine', OTHER: 'not for servers' };
    const [env] = await mcpTools(whole, given, environment);
    const { output } = await env!.run('{}', never);
    expect(output).toContain('"MINE"');
    expect(output).not.toContain('not for servers');
    expect(await readFile(join(given.folder, 'mcp.json'), 'utf8')).not.toContain('a-secret');
  });
});

test.each([
  ['mcp.a=', 'tools.mcp.a: give either a command that starts the server or the url of one'],
  [
    'mcp.a={"command":"x","url":"http://h/"}',
    'tools.mcp.a: give either a command that starts the server',
  ],
  ['mcp.a=x "y z"', 'tools.mcp.a: quotes are not supported in command'],
  ['mcp.a=http://user:pa55@host/mcp', 'the url contains a password'],
  ['mcp.a=http://host/mcp?api_key=word', 'the url contains a key (api_key)'],
  ['mcp.a b=x', 'tools.mcp.a b: invalid name: use letters, digits, _ and -'],
  ['mcp.a=http://', 'tools.mcp.a: http:// is not a valid URL'],
  [
    'mcp.a={"command":"x","env":"ABSENT"}',
    'tools.mcp.a: the environment variable ABSENT is not set',
  ],
])('an MCP server set by %s is refused', async (given, message) => {
  const made = async () => mcpTools(settings(given), context(), {});
  await expect(made()).rejects.toThrow(message);
});

test('fields of an MCP server are checked with the other settings', () => {
  expect(() => settings('mcp.a={"comand":"x"}')).toThrow(/comand/);
});

describe('an agent’s server', () => {
  const agentServers = (...given: string[]) => {
    const schema = z.object({ mcp: agentMcpSettings });
    const { mcp } = checkSettings(schema, given.map(parseSetting)) as z.infer<typeof schema>;
    return mcpServers(mcp, context(), {});
  };

  test('is reached by its name, and starts when it is asked', async () => {
    const servers = agentServers(`mcp.ref=${server}`, 'mcp.gone=no-such-command');
    expect([...servers.keys()]).toEqual(['ref', 'gone']);
    const names = (await servers.get('ref')!.tools()).map(({ name }) => name);
    expect(names).toContain('echo');
    await expect(servers.get('gone')!.tools()).rejects.toMatchObject({ code: 'MCP' });
  });

  test.each([
    ['mcp.a b=x', 'agent.mcp.a b: invalid name: use letters, digits, _ and -'],
    ['mcp.a={"url":"http://h/","token":"NONE"}', 'agent.mcp.a: the environment variable NONE'],
    ['mcp.a={"prefix":"x"}', 'prefix'],
  ])('%s is refused', (given, message) => {
    expect(() => agentServers(given)).toThrow(message);
  });
});
