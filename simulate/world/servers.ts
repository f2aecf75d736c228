/**
 * Simulated inference servers behind the real client (model/remote): an SGLang whose weights are replaced, or
 * a vLLM that has each version as an adapter. They outlive the processes that ask them, and answer as such
 * servers do: with the label of what they have, or that they know no such adapter. One that was started again
 * has the weights of its start, or older ones than it was given last.
 *
 * What a version says follows from it, the context and the seed, never from timing.
 */
import { type HttpReply, type HttpRequest, NoReply } from '../../base/http/index.ts';
import type { Draws } from '../../base/index.ts';
import type { Generation } from '../../model/index.ts';
import { type ScriptedPolicy, type ScriptLine, scriptedPolicy } from '../../testing/index.ts';
import type { Disk } from './disk.ts';
import type { Life } from './life.ts';
import type { VirtualClock } from './virtualClock.ts';
import { words } from './words.ts';

/** What happens to requests at a moment. */
export interface Weather {
  /** Share of replies that never come, and of those that come late. */
  readonly lost: number;
  readonly late: number;
  /** No server answers. */
  readonly away: boolean;
}

/** As vLLM and SGLang call the weights that they were started with; here version 0. */
const AT_START = 'default';
export const CONTEXT_MAX = 4096;
/** Name under which the first policy is served. */
export const BASE_MODEL = 'base';

const versionOf = (label: string): number => Number(/^policy-v(\d+)/.exec(label)?.[1] ?? 0);

/** One server: its state, and its answers, which take no time. */
export class SimulatedServer {
  readonly #disk: Disk;
  readonly #policies = new Map<number, ScriptedPolicy>();
  /** The labels that it was given, oldest first. */
  readonly #given: string[] = [AT_START];
  readonly adapters = new Set<string>();
  label = AT_START;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Restarts it: with the weights of its start, or those of several versions ago. */
  restart(behind: number | null = null): void {
    const before = this.#given.at(-1 - (behind ?? this.#given.length)) ?? AT_START;
    this.label = before;
    // Somebody else, or nobody, loads adapters.
    for (const name of [...this.adapters].slice(behind === null ? 0 : -behind))
      this.adapters.delete(name);
  }

  takes(label: string, path: string): void {
    this.#disk.read({ version: versionOf(label), uri: path, digest: null });
    this.label = label;
    if (this.#given.at(-1) !== label) this.#given.push(label);
  }

  lends(name: string, path: string): void {
    this.#disk.read({ version: versionOf(name), uri: path, digest: null });
    this.adapters.add(name);
  }

  /** The output of this version. */
  async says(version: number, asked: Asked): Promise<Generation> {
    let policy = this.#policies.get(version);
    if (policy === undefined) {
      policy = scriptedPolicy({
        ...{ tokenizer: words, script: said, contextMax: CONTEXT_MAX },
        topLogProbs: ({ draws: chance }) => [
          Math.log(0.5 + 0.4 * chance.uniform(7)),
          Math.log(0.1),
        ],
      });
      await policy.load({ version, uri: '', digest: null });
      this.#policies.set(version, policy);
    }
    const { tokens, maxTokens, stopTokens, tops, seed } = asked;
    return policy.generate({
      ...{ tokens: Int32Array.from(tokens), maxTokens, stopTokens: [...stopTokens] },
      ...{ temperature: 1, topLogProbs: tops ? maxTokens : 0, draws: ['server', version, seed] },
    });
  }
}

interface Asked {
  readonly tokens: readonly number[];
  readonly maxTokens: number;
  readonly stopTokens: readonly number[];
  readonly tops: boolean;
  readonly seed: number;
}

interface Answer {
  readonly status?: number;
  readonly body: unknown;
  /** Tokens generated. */
  readonly tokens?: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** The answers of both kinds' routes. */
async function answerOf(server: SimulatedServer, path: string, body: Fields): Promise<Answer> {
  switch (path) {
    case '/v1/models': {
      const data = [BASE_MODEL, ...server.adapters].map((id) => ({
        ...{ id, max_model_len: CONTEXT_MAX },
      }));
      return { body: { data } };
    }
    case '/weight_info':
      return { body: { weight_version: server.label } };
    case '/update_weights_from_disk':
      server.takes(String(body.weight_version), String(body.model_path));
      return { body: { success: true } };
    case '/v1/load_lora_adapter': {
      const name = String(body.lora_name);
      if (server.adapters.has(name)) return refusal('the adapter has already been loaded');
      server.lends(name, String(body.lora_path));
      return { body: {} };
    }
    case '/v1/unload_lora_adapter':
      server.adapters.delete(String(body.lora_name));
      return { body: {} };
    case '/generate':
      return generated(server, body);
    case '/v1/completions':
      return completed(server, body);
    default:
      return { body: {} };
  }
}

function refusal(message: string, status = 400): Answer {
  return { status, body: { error: { message } } };
}

async function generated(server: SimulatedServer, body: Fields): Promise<Answer> {
  const how = body.sampling_params as Fields;
  const made = await server.says(versionOf(server.label), {
    tokens: body.input_ids as number[],
    maxTokens: Number(how.max_new_tokens),
    stopTokens: how.stop_token_ids as number[],
    tops: Number(body.top_logprobs_num) > 0,
    seed: Number(how.sampling_seed),
  });
  const top = made.topLogProbs.map((all) => all.map((each, i) => [each, -1 - i, null]));
  return {
    tokens: made.tokens.length,
    body: {
      meta_info: {
        output_token_logprobs: [...made.tokens].map((token, i) => [made.logProbs[i], token, null]),
        ...(top.length === 0 ? {} : { output_top_logprobs: top }),
        weight_version: server.label,
      },
    },
  };
}

async function completed(server: SimulatedServer, body: Fields): Promise<Answer> {
  const model = String(body.model);
  if (model !== BASE_MODEL && !server.adapters.has(model)) {
    return refusal(`the model ${model} does not exist`, 404);
  }
  const made = await server.says(versionOf(model), {
    tokens: body.prompt as number[],
    maxTokens: Number(body.max_tokens),
    stopTokens: body.stop_token_ids as number[],
    tops: Number(body.logprobs) > 0,
    seed: Number(body.seed),
  });
  const top = made.topLogProbs.map((all) => Object.fromEntries(all.map((each, i) => [i, each])));
  return {
    tokens: made.tokens.length,
    body: {
      choices: [
        {
          ...{ token_ids: [...made.tokens], finish_reason: 'stop' },
          logprobs: { token_logprobs: [...made.logProbs], top_logprobs: top },
        },
      ],
    },
  };
}

export interface ExchangeOptions {
  readonly life: Life;
  /** In the world's time: a server carries out a request even if nobody waits for it any more. */
  readonly clock: VirtualClock;
  readonly servers: readonly SimulatedServer[];
  readonly draws: Draws;
  /** Of one token. */
  readonly tokenMs: number;
  readonly timeoutMs: number;
  readonly weather: () => Weather;
}

/** Addresses of that many servers. */
export function addresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `http://server-${i}.simulated`);
}

/** Sends requests to the servers, instead of over HTTP. */
export function exchangeWith(options: ExchangeOptions) {
  const { life, clock, servers, tokenMs, timeoutMs, weather } = options;
  let asked = 0;
  const waits = async (ms: number, signal: AbortSignal): Promise<void> => {
    await life.clock.sleep(Math.min(ms, timeoutMs), signal);
    if (ms >= timeoutMs) throw new NoReply(`no answer within ${timeoutMs} ms`, true);
  };
  return {
    async ask({ url, body = '{}' }: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
      signal.throwIfAborted();
      const { host, pathname } = new URL(url);
      const server = servers[Number(/\d+/.exec(host)?.[0])]!;
      const chance = options.draws.under(asked++);
      if (weather().away) {
        await life.clock.sleep(20, signal);
        throw new NoReply('connect ECONNREFUSED', false);
      }
      // It loads weights after a while, and answers with those it has when a request begins.
      const loads = /update|load/.test(pathname);
      if (loads) await clock.sleep(20 + 60 * chance.uniform(0));
      const answer = await answerOf(server, pathname, JSON.parse(String(body)) as Fields).catch(
        (error: unknown) => refusal(String(error)),
      );
      const { lost, late } = weather();
      if (chance.uniform(1) < lost) await waits(timeoutMs, signal);
      if (answer.tokens !== undefined) {
        const slow = chance.uniform(2) < late ? 40 : 1;
        const ms = (5 + answer.tokens * tokenMs) * (0.5 + chance.uniform(3)) * slow;
        await waits(ms, signal);
      }
      return replyOf(answer);
    },
    close: () => undefined,
  };
}

function replyOf({ status = 200, body }: Answer): HttpReply {
  const text = JSON.stringify(body);
  return {
    ...{ status, ok: status === 200, header: () => null },
    bytes: Buffer.from(text),
    text: () => text,
  };
}

/** Looks things up sometimes, and is right more often after that. */
function said({ context, draws: chance }: ScriptLine): string {
  const searched = context.includes('</search>');
  if (chance.uniform(0) < 0.45) return '<think>I look it up.</think><search>one</search>';
  const [, a, b] = /(\d) ?\+ ?(\d)/.exec(context) ?? [];
  const right = chance.uniform(1) < (searched ? 0.7 : 0.4);
  const answer = Number(a) + Number(b) + (right ? 0 : 1);
  return `<think>So it is ${answer}.</think><answer>\\boxed{${answer}}</answer><|end|>`;
}
