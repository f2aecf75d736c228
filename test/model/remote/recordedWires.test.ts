/**
 * Replies that real servers gave (wires/), sent again by a server of this test: how they are read, and
 * what is made of their errors.
 */
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { GenerateRequest } from '../../../model/engine.ts';
import { askTokens, type TokenServers } from '../../../model/remote/askTokens.ts';
import { ServerPool } from '../../../model/remote/serverPool.ts';
import { sglang } from '../../../model/remote/wires/sglang.ts';
import { vllm } from '../../../model/remote/wires/vllm.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { answer, scriptedServer } from '../../support/scriptedServer.ts';
import { request } from '../rollout/fakeForward.ts';

interface Recorded {
  readonly replies: Readonly<Record<string, { readonly status: number; readonly body: unknown }>>;
}

const wires = { vllm: 'vllm-0.32.0', sglang: 'sglang-0.5.23' } as const;
function recorded(wire: keyof typeof wires): Recorded {
  const path = new URL(`./wires/${wires[wire]}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as Recorded;
}

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

/** A server that gives this reply to everything. */
async function replaying(wire: keyof typeof wires, name: string) {
  const { status, body } = recorded(wire).replies[name]!;
  const server = await scriptedServer(answer(body, status));
  const pool = new ServerPool({ urls: [server.url], clock: impatientClock() });
  open.push(server, pool);
  const servers: TokenServers = { pool, wire: { vllm, sglang }[wire], vocabSize: 512 };
  return { server, servers };
}

const CONTEXT = [10, 20, 30, 40, 50, 60];
const PROMPT = [0, -6.81265, -5.82134, -7.92518, -8.2708, -7.81264];
const serving = { model: 'tiny', adapter: null, label: '' };
const ask = (more: Partial<GenerateRequest> = {}) =>
  request(CONTEXT, { maxTokens: 8, draws: ['a', 1], ...more });

describe('a recorded answer of vLLM 0.32', () => {
  it.each(['generation', 'stopText'])('has tokens and log-probs: %s', async (name) => {
    const { servers } = await replaying('vllm', name);
    const made = await askTokens(servers, ask(), serving);
    expect(made.tokens).toEqual([495, 217, 310, 181, 24, 141, 433, 339]);
    expect(made.logProbs.map((each) => Number(each.toFixed(3)))).toEqual([
      -2.852, -7.07, -4.633, -6, -6.949, -3.297, -6.215, -2.512,
    ]);
    expect(made.topLogProbs).toHaveLength(8);
    expect(made.prefillTokens).toBe(6);
  });

  it('has log-probs of a prompt', () => {
    const { body } = recorded('vllm').replies.score!;
    const scores = vllm.score!.read(body, CONTEXT);
    for (const [place, score] of scores.entries()) expect(score).toBeCloseTo(PROMPT[place]!, 4);
    expect(vllm.score!.read(body, [10, 21])[1]).toBeNaN();
  });

  it.each([
    ['unknownToken', 'MODEL_REFUSED', 'Token id 51200 is out of vocabulary', 1],
    ['hot', 'MODEL_REFUSED', 'temperature must be in [0, 2]', 1],
    ['unknownModel', 'MODEL_ACCESS', 'Valid aliases: tiny', 1],
    ['dead', 'MODEL_DOWN', 'EngineCore encountered an issue', 4],
  ])('is an error: %s', async (name, code, said, tries) => {
    const { server, servers } = await replaying('vllm', name);
    await expect(askTokens(servers, ask(), serving)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(said),
    });
    expect(server.seen).toHaveLength(tries);
  });

  it('names its models, their longest context and its label', () => {
    const { models, label } = recorded('vllm').replies as Required<Recorded>['replies'];
    expect(vllm.models!.read(models!.body)).toEqual(['tiny']);
    expect(vllm.contextMax!.read(models!.body)).toBe(2048);
    expect(vllm.replacement!.label!.read(label!.body)).toBe('default');
  });
});

describe('a recorded answer of SGLang 0.5.23', () => {
  it('has tokens, log-probs, and the weights that made them', async () => {
    const { servers } = await replaying('sglang', 'generation');
    const made = await askTokens(servers, ask(), serving);
    expect(made.tokens).toEqual([430, 292, 64, 207, 222, 403, 174, 500]);
    expect(made.logProbs[0]).toBeCloseTo(-4.04281, 4);
    expect([made.label, made.prefillTokens]).toEqual(['default', 6]);
  });

  it('has log-probs of a prompt, the same as vLLM’s', () => {
    const { body } = recorded('sglang').replies.generation!;
    const scores = sglang.score!.read(body, CONTEXT);
    for (const [place, score] of scores.entries()) expect(score).toBeCloseTo(PROMPT[place]!, 4);
  });

  it('is refused if other weights made it than requested', async () => {
    const { servers } = await replaying('sglang', 'generation');
    const newer = { ...serving, label: 'policy-v3', reported: true };
    await expect(askTokens(servers, ask(), newer)).rejects.toMatchObject({ code: 'WEIGHTS_LOST' });
  });

  it('names its models, adapters among them, and their longest context', () => {
    const { body } = recorded('sglang').replies.models!;
    expect(sglang.models!.read(body)).toEqual(['/checkpoints/qwen2', 'policy-v1-aaaaaaaaaaaa']);
    expect(sglang.contextMax!.read(body)).toBe(4096);
  });

  it('says that it has lost an adapter, as one that was restarted', async () => {
    const { servers } = await replaying('sglang', 'lostAdapter');
    const newer = { ...serving, adapter: 'policy-v1-82f5a71a2409' };
    await expect(askTokens(servers, ask(), newer)).rejects.toMatchObject({ code: 'WEIGHTS_LOST' });
    await expect(askTokens(servers, ask(), serving)).rejects.toMatchObject({
      code: 'MODEL_REFUSED',
    });
  });

  it('says that an adapter is loaded already, as a run that was killed left it', async () => {
    const { servers } = await replaying('sglang', 'loadedTwice');
    const { path, body } = sglang.adapters!.load('policy-v1-f22e80037a2e', '/share');
    const result = await servers.pool.askServer(0, path, body);
    expect(result).toMatchObject({ kind: 'refused' });
    expect(sglang.adapters!.isLoaded((result as { reason: string }).reason)).toBe(true);
  });
});
