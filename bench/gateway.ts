/**
 * What the gateway costs between agents and a model: `npm run bench:gateway`.
 *
 * The policy is a script that answers at once, or after the time that a server takes; everything else is as
 * in a run: protocol, chat template, tokenizer of a real model, call tree and records. The agents are another
 * process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sleepClock, systemClock } from '../base/index.ts';
import { residentBytes } from '../base/system/platform.ts';
import { gatewayServer, policyChat, Sessions } from '../gateway/index.ts';
import type { PolicyChat } from '../gateway/sessions/policyChat.ts';
import { Session } from '../gateway/sessions/session.ts';
import type { Generation, PolicyEngine } from '../model/engine.ts';
import { loadChatTokenizer } from '../model/hf/index.ts';
import { hermesTemplate } from '../test/support/chatTemplates.ts';
import { scriptedPolicy } from '../testing/scriptedPolicy.ts';
import type { Talk } from './gateway/clients.ts';
import { benchmark, count } from './options.ts';
import { realModel } from './real/realModel.ts';
import { print, type Row } from './table.ts';

const { json, model, sessions, calls, idle } = benchmark(
  'npm run bench:gateway',
  'Processor time of a model call in the gateway, its throughput beside a model that takes a second, and the memory of idle sessions.',
)
  .option('--model <FOLDER>', 'whose tokenizer is used; without it, npm run real-model makes one')
  .option('--sessions <N>', 'at the same time', count, 64)
  .option('--calls <N>', 'model calls of a session', count, 8)
  .option('--idle <N>', 'idle sessions', count, 1000)
  .parse()
  .opts<{ json: boolean; model?: string; sessions: number; calls: number; idle: number }>();

/** A model's time for one call. */
const MODEL_MS = 1000;
const clock = sleepClock(systemClock);

function withTools(from: string, folder: string): void {
  copyFileSync(join(from, 'tokenizer.json'), join(folder, 'tokenizer.json'));
  const config = { eos_token: '<|im_end|>', chat_template: hermesTemplate({}) };
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
}

/** Calls the tool at every call but the last. */
function modelOf(chat: PolicyChat, ms: number): () => PolicyEngine {
  const { tokenizer } = chat;
  const query =
    'who built the seven bridges of the town that the river runs through, and when was it';
  const turn = (text: string): Generation => {
    const tokens = Int32Array.from(tokenizer.encode(`${text}<|im_end|>`));
    const logProbs = new Float32Array(tokens.length).fill(-0.5);
    return { tokens, logProbs, finish: 'stop', topLogProbs: [], version: 0 };
  };
  const call = turn(
    `<tool_call>\n{"name": "search", "arguments": {"query": "${query}"}}\n</tool_call>`,
  );
  const last = turn(`Nobody knows ${query}.`);
  return () => {
    let asked = 0;
    const generate = async (): Promise<Generation> => {
      if (ms > 0) await pause(ms);
      return ++asked === calls ? last : call;
    };
    return { ...scriptedPolicy({ tokenizer, script: () => '', contextMax: 32_768 }), generate };
  };
}

interface Served {
  readonly url: string;
  keys(count: number): readonly string[];
  close(): Promise<void>;
}

async function served(chat: PolicyChat, ms: number): Promise<Served> {
  const open = new Sessions('policy');
  const failed = (error: unknown): void => {
    throw error;
  };
  const server = await gatewayServer({ sessions: open, clock, failed });
  const engineOf = modelOf(chat, ms);
  const { signal } = new AbortController();
  return {
    url: server.url,
    keys: (many) =>
      Array.from({ length: many }, (_, i) => {
        const id = `q${i}/explore-0/0`;
        const of = { id, questionId: `q${i}`, chat, engine: engineOf(), draws: [i], clock, signal };
        const limits = { calls: calls + 1, answerTokens: 1024 };
        const commit = async (): Promise<void> => undefined;
        return open.open(new Session({ ...of, sampling: { temperature: 1 }, limits, commit }));
      }),
    close: () => server.close(),
  };
}

async function talked(clients: ChildProcess, talk: Talk): Promise<number> {
  clients.send(talk);
  const [{ ms }] = (await once(clients, 'message')) as [{ ms: number }];
  return ms;
}

function collected(): number {
  globalThis.gc?.();
  return residentBytes(process.pid) ?? process.memoryUsage.rss();
}

async function rows(chat: PolicyChat, clients: ChildProcess): Promise<Row[]> {
  const all = sessions * calls;
  const atOnce = await served(chat, 0);
  const talk = { url: atOnce.url, calls };
  // The first ones compile it.
  await talked(clients, { ...talk, keys: atOnce.keys(sessions) });
  const before = process.cpuUsage();
  await talked(clients, { ...talk, keys: atOnce.keys(sessions) });
  const { user, system } = process.cpuUsage(before);
  const cpuMs = (user + system) / 1000 / all;

  const bytes = collected();
  await talked(clients, { ...talk, keys: atOnce.keys(idle), calls: 1 });
  const idleBytes = collected() - bytes;
  await atOnce.close();

  const slow = await served(chat, MODEL_MS);
  const ms = await talked(clients, { url: slow.url, keys: slow.keys(sessions), calls });
  await slow.close();
  const perSecond = (1000 * all) / ms;
  const limit = (1000 * sessions) / MODEL_MS;
  return [
    {
      ...{ what: `processor time of a call, ${sessions} sessions`, against: '2 ms', unit: 'ms' },
      ...{ ratio: cpuMs / 2, goal: 1, atMost: true, ours: cpuMs, theirs: 2 },
      note: `${calls} calls a session, a tool result of 150 words before each`,
    },
    {
      what: `calls, ${sessions} sessions`,
      against: `the model, ${MODEL_MS / 1000} s a call`,
      ...{ ratio: perSecond / limit, goal: 0.95, unit: 'calls/s', ours: perSecond, theirs: limit },
    },
    {
      ...{ what: `resident memory of ${idle} idle sessions`, against: '100 MB', unit: 'MB' },
      ...{ ratio: idleBytes / 1e8, goal: 1, atMost: true, ours: idleBytes / 1e6, theirs: 100 },
      note: 'one call each',
    },
  ];
}

const folder = mkdtempSync(join(tmpdir(), 'bench-gateway-'));
const clients = fork(new URL('./gateway/clients.ts', import.meta.url));
try {
  withTools(resolve(model ?? realModel()), folder);
  const chat = policyChat(await loadChatTokenizer(folder), folder);
  print('gateway', await rows(chat, clients), json);
} finally {
  clients.kill();
  rmSync(folder, { recursive: true, force: true });
}
