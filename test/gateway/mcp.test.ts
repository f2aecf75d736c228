import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { keepSecret, sleepClock, systemClock } from '../../base/index.ts';
import { growSessions } from '../../gateway/growSessions.ts';
import { commandAgent, functionAgent, gatewayServer, Sessions } from '../../gateway/index.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import { SessionTools } from '../../gateway/sessions/sessionTools.ts';
import { arpo } from '../../operators/sampling/arpo.ts';
import type { Branching } from '../../operators/sampling/index.ts';
import { type McpPlace, mcpServer } from '../../operators/tools/mcp/index.ts';
import { type ScriptLine, scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import type { McpCallRecord, ModelCallRecord, Rollout } from '../../topics/index.ts';
import { calling, hermesChat } from '../support/chatSession.ts';
import { temporaryFolder } from '../support/folder.ts';
import { question } from '../support/records.ts';
import { rolloutOptions } from '../support/rolloutOptions.ts';

const clock = sleepClock(systemClock);
const support = (name: string): string =>
  fileURLToPath(new URL(`../support/${name}`, import.meta.url));
const folder = temporaryFolder();
afterAll(() => folder.remove());
const file = join(folder.path, 'counted.txt');
const place: McpPlace = {
  kind: 'process',
  command: process.execPath,
  args: [support('countingMcp.mjs'), file],
  env: {},
};
const sums = mcpServer({ name: 'sums', place, timeoutMs: 60_000 });
afterAll(() => sums.close());
let chat: PolicyChat;
beforeAll(async () => {
  chat = await hermesChat(folder.path);
});

/** What the server ran since the last test began. */
const counted = (): string[] => readFileSync(file, 'utf8').split('\n').filter(Boolean);
beforeEach(() => writeFileSync(file, ''));
const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0)) await each.close();
});

/** Adds twice, with numbers that are drawn, then says the sum. */
const adding = ({ context, draws }: ScriptLine): string => {
  const sums = [...context.matchAll(/<tool_response>\n(\d+)/g)].map(([, sum]) => sum);
  if (sums.length === 2) return `It is ${sums[1]}.<|im_end|>`;
  return calling('add', `{"a": ${sums[0] ?? 1}, "b": ${10 + draws.integer(1, 1_000_000)}}`);
};

interface Made {
  readonly rollouts: readonly Rollout[];
  readonly calls: readonly ModelCallRecord[];
  readonly tools: readonly McpCallRecord[];
  readonly notes: readonly string[];
}

interface Past {
  readonly calls?: readonly ModelCallRecord[];
  readonly tools?: readonly McpCallRecord[];
}

/** A group of the agent's runs; `past` = as a log would give it. */
async function made(
  past: Past = {},
  {
    n = 1,
    seed = 7,
    more = '0',
    branching = null as Branching | null,
    agent = commandAgent({
      command: `node ${support('mcpAgent.mjs')}`,
      ...{ timeoutMs: 60_000, clock, env: { MORE: more } },
    }),
  } = {},
): Promise<Made> {
  const { calls: pastCalls = [], tools: pastTools = [] } = past;
  const sessions = new Sessions('policy');
  const failed = (error: unknown): void => {
    throw error;
  };
  const server = await gatewayServer({ sessions, clock, failed });
  closing.push(server, agent);
  const [calls, tools, notes]: [ModelCallRecord[], McpCallRecord[], string[]] = [[], [], []];
  const grow = growSessions({
    ...{ agent, sessions, chat, clock, address: server.url, atOnce: 4 },
    limits: { calls: 9, answerTokens: 200 },
    commit: async (record) => void calls.push(record),
    past: async () => pastCalls,
    mcp: {
      servers: new Map([['sums', sums]]),
      commit: async (record) => void tools.push(record),
      past: async () => pastTools,
    },
    report: (line) => void notes.push(line),
  });
  const options = rolloutOptions(adding, {
    ...{ engine: scriptedPolicy({ tokenizer: chat.tokenizer, script: adding }), seed },
    ...{ responseMax: 4000, samples: () => n },
    ...(branching === null ? {} : { branching }),
  });
  const { rollouts } = await grow(question(), options, new AbortController().signal);
  return { rollouts, calls, tools, notes };
}

const said = ({ rollouts }: Made): string[] =>
  rollouts.map(({ text }) => /It is (\d+)/.exec(text)?.[1] ?? text);

describe('MCP tools that an agent reaches through the gateway', () => {
  test('run, and are recorded by session and order before the agent hears them', async () => {
    const first = await made({}, { n: 2 });
    expect(first.rollouts.map(({ status }) => status)).toEqual(['done', 'done']);
    expect(first.tools).toHaveLength(4);
    expect(counted()).toHaveLength(4);
    for (const { id } of first.rollouts) {
      const own = first.tools.filter(({ sessionId }) => sessionId === id);
      expect(own).toMatchObject([
        { number: 0, after: 0, server: 'sums', tool: 'add', ranFor: id },
        { number: 1, after: 1, server: 'sums', tool: 'add', ranFor: id },
      ]);
      const { result } = JSON.parse(own[1]!.output);
      expect(said(first)).toContain(result.content[0].text);
    }
  });

  test('give results without the secrets of this process, to the agent as to the record', async () => {
    keepSecret('mcp-secret-1234567');
    const content = [{ type: 'text' as const, text: 'the key is mcp-secret-1234567' }];
    const leaking = { ...sums, call: async () => ({ content }) };
    const records: McpCallRecord[] = [];
    const tools = new SessionTools({
      ...{ id: 's', questionId: 'q', clock, past: [], report: () => undefined },
      servers: new Map([['sums', leaking]]),
      commit: async (record) => void records.push(record),
      standing: () => ({ call: -1, recorded: -1, live: true }),
      signal: new AbortController().signal,
    });
    const heard = await tools.call('sums', 'add', {});
    expect(heard).toEqual(JSON.parse(records[0]!.output));
    expect(records[0]!.output).toContain('the key is ');
    expect(records[0]!.output).not.toContain('mcp-secret-1234567');
  });

  test('are answered from the record when a session is run again', async () => {
    const first = await made();
    writeFileSync(file, '');
    const again = await made(first, { seed: 8 });
    expect(said(again)).toEqual(said(first));
    expect([counted(), again.calls, again.tools, again.notes]).toEqual([[], [], [], []]);
  });

  test('run where a crash cut the record off', async () => {
    const first = await made();
    const [, last] = counted();
    writeFileSync(file, '');
    const again = await made({ ...first, tools: first.tools.slice(0, 1) });
    expect(said(again)).toEqual(said(first));
    expect(counted()).toEqual([last]);
    expect(again.tools).toMatchObject([{ number: 1, after: 1 }]);
    expect(again.notes).toEqual([]);
  });

  test('are answered from the record up to the call that a fork begins at', async () => {
    const first = await made();
    const [before] = counted();
    writeFileSync(file, '');
    // As `millrace fork --call 2` does, under the id of another session.
    const other = <T extends { sessionId: string }>(one: T): T => ({ ...one, sessionId: 'other' });
    const past = {
      calls: first.calls.slice(0, 1).map(other),
      tools: first.tools.filter(({ after }) => after < 1).map(other),
    };
    const forked = await made(past, { seed: 8 });
    expect(said(forked)).not.toEqual(said(first));
    expect(counted()).toHaveLength(1);
    expect(counted()).not.toContain(before);
    const { id } = forked.rollouts[0]!;
    expect(forked.tools).toMatchObject([
      { sessionId: id, number: 0, after: 0, output: first.tools[0]!.output },
      { sessionId: id, number: 1, after: 1, ranFor: id },
    ]);
  });

  test('run once for the forks of ARPO', async () => {
    const branching = arpo({
      initialRollouts: 1,
      beamSize: 3,
      branchProbability: 1,
      entropyWeight: 0,
    });
    const group = await made({}, { n: 3, branching });
    const roots = group.rollouts.filter(({ parent }) => parent === null);
    expect(roots).toHaveLength(1);
    const ran = group.tools.filter(({ sessionId, ranFor }) => sessionId === ranFor);
    expect(counted()).toHaveLength(ran.length);
    expect(ran.length).toBeLessThan(group.tools.length);
    expect(new Set(counted()).size).toBe(counted().length);
  });

  test('run from the first call on that is another, which is named', async () => {
    const first = await made();
    writeFileSync(file, '');
    const again = await made(first, { more: '1' });
    expect(counted()).toHaveLength(2);
    const { b } = JSON.parse(first.tools[0]!.input);
    expect(again.notes).toEqual([
      `session ${again.rollouts[0]!.id}: the call of sums.add differs from the record (call 0): arguments.b is ${b + 1}, was ${b}; this call and all later ones run`,
    ]);
    expect(again.tools.map(({ number }) => number)).toEqual([2, 3]);
  });

  test('are refused by name where there is no such server, and to whoever has no session', async () => {
    const answers: { status: number; text: string }[] = [];
    const post = async (url: string): Promise<void> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      const headers = { 'content-type': 'application/json', accept: 'application/json' };
      const reply = await fetch(url, { method: 'POST', headers, body });
      answers.push({ status: reply.status, text: await reply.text() });
    };
    await made(
      {},
      {
        agent: functionAgent(async ({ baseUrl, key }) => {
          await post(`${baseUrl}/mcp/other`);
          await post(`${baseUrl.replace(key, 'mr-none')}/mcp/sums`);
          return '1';
        }),
      },
    );
    expect(answers[0]).toMatchObject({
      status: 404,
      text: expect.stringContaining('there is no MCP server with this name; available: sums'),
    });
    expect(answers[1]).toMatchObject({
      status: 404,
      text: expect.stringContaining('no session has this key'),
    });
  });
});
