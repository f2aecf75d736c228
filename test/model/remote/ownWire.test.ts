/** A wire of your own: a server that is neither vLLM nor SGLang is rolled out on, and given new weights. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { publishAdapter, publishFromDisk } from '../../../model/remote/publish.ts';
import { RemoteEngine } from '../../../model/remote/remoteEngine.ts';
import type { ServerWire } from '../../../model/remote/serverWire.ts';
import { rollout } from '../../../operators/rollout.ts';
import { runOperator } from '../../../testing/runOperator.ts';
import { type ScriptLine, scriptedPolicy } from '../../../testing/scriptedPolicy.ts';
import { topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { question } from '../../support/records.ts';
import { expectSound, rolloutOptions } from '../../support/rolloutOptions.ts';
import { answer, type ScriptedServer, scriptedServer } from '../../support/scriptedServer.ts';
import { tinyWords } from '../../support/tinyWords.ts';

/** What the toy server takes and gives. */
interface Asked {
  readonly context: readonly number[];
  readonly count: number;
  readonly end: readonly number[];
  readonly heat: number;
  readonly seed: number;
}
interface Given {
  readonly made: readonly { readonly id: number; readonly nats: number }[];
  readonly top: readonly (readonly number[])[];
  readonly policy: string;
}

const toy: ServerWire = {
  name: 'the toy server',
  refused: ({ topK = 0 }) => (topK === 0 ? null : 'the toy server knows no topK'),
  generate: ({ tokens, maxTokens, stopTokens, temperature }, _, seed) => ({
    path: '/infer',
    body: { context: [...tokens], count: maxTokens, end: stopTokens, heat: temperature, seed },
  }),
  read(body) {
    const { made, top, policy } = body as Given;
    return {
      tokens: made.map(({ id }) => id),
      logProbs: made.map(({ nats }) => nats),
      topLogProbs: top,
      prefillTokens: 0,
      label: policy,
    };
  },
  contextMax: { path: '/about', read: (body) => (body as { longest: number }).longest },
  replacement: {
    load: (label, folder) => ({ path: '/policy', body: { label, folder } }),
    reported: true,
  },
};

const script = ({ context }: ScriptLine): string =>
  context.includes('</result>')
    ? '<think>So</think><answer>\\boxed{2}</answer><|end|>'
    : '<search>one</search>';

let server: ScriptedServer;
let engine: RemoteEngine;
let folder: ReturnType<typeof temporaryFolder>;
const policies: unknown[] = [];

beforeEach(async () => {
  folder = temporaryFolder();
  const policy = scriptedPolicy({ tokenizer: tinyWords, script, topLogProbs: () => [-0.5, -2] });
  let label = 'default';
  server = await scriptedServer(async (seen, response) => {
    if (seen.path === '/about') return answer({ longest: 300 })(seen, response);
    if (seen.path === '/policy') {
      policies.push(seen.body);
      label = String(seen.body?.label);
      return answer({ success: true })(seen, response);
    }
    const { context, count, end, heat, seed } = seen.body as unknown as Asked;
    const made = await policy.generate({
      ...{ tokens: Int32Array.from(context), maxTokens: count, stopTokens: end },
      ...{ temperature: heat, draws: ['toy', seed], topLogProbs: count },
    });
    const ids = [...made.tokens].map((id, i) => ({ id, nats: made.logProbs[i] }));
    return answer({ made: ids, top: made.topLogProbs, policy: label })(seen, response);
  });
  engine = await RemoteEngine.create({
    ...{ wire: toy, urls: [server.url], clock: impatientClock(), version: 0 },
    publisher: publishFromDisk(({ uri }) => uri),
  });
});
afterEach(async () => {
  await engine.close();
  await server.close();
  folder.remove();
});

it('a wire of the user’s own rolls out with tool calls', async () => {
  expect(engine.contextMax).toBe(300);
  const asked = ['q1', 'q2'].map((id) => question({ id }));
  const { outputs } = await runOperator(
    rollout(rolloutOptions(script, { engine })),
    topics.questions,
    asked,
  );
  expect(outputs).toHaveLength(4);
  for (const one of outputs) {
    expectSound(one, 200);
    expect([one.status, one.finish, one.toolCalls, one.version]).toEqual(['done', 'answer', 1, 0]);
  }
  expect(server.seen.filter(({ path }) => path === '/infer').length).toBeGreaterThanOrEqual(8);
});

it('a wire of the user’s own publishes by its route, and reads from each answer which weights made it', async () => {
  const uri = join(folder.path, 'v1');
  writeFileSync(uri, 'weights');
  await engine.load({ version: 1, uri, digest: null });
  expect(policies.at(-1)).toEqual({ label: 'policy-v1', folder: uri });
  const request = {
    ...{ tokens: Int32Array.of(1, 2), maxTokens: 40, temperature: 1, draws: ['x', 0] },
    ...{ stopTokens: [tinyWords.id('</search>')], topLogProbs: 0 },
  };
  expect((await engine.generate(request)).version).toBe(1);
  await fetch(`${server.url}/policy`, { method: 'POST', body: '{"label":"another"}' });
  await expect(engine.generate(request)).rejects.toMatchObject({ code: 'WEIGHTS_UNKNOWN' });
});

it('a wire of the user’s own has settings refused that its servers do not support', async () => {
  const tokens = Int32Array.of(1);
  const request = { tokens, maxTokens: 4, temperature: 1, draws: [0], stopTokens: [] };
  await expect(engine.generate({ ...request, topLogProbs: 0, topK: 5 })).rejects.toMatchObject({
    code: 'MODEL_UNSUPPORTED',
    message: 'the toy server knows no topK',
  });
  const publisher = publishAdapter(({ uri }) => uri);
  const urls = [server.url];
  const made = RemoteEngine.create({ wire: toy, urls, publisher, clock: impatientClock() });
  await expect(made).rejects.toMatchObject({ code: 'USAGE' });
});

it('a wire of the user’s own needs contextMax if it cannot ask for it', async () => {
  const { contextMax: _, ...silent } = toy;
  const options = { wire: silent, urls: [server.url], clock: impatientClock() };
  await expect(RemoteEngine.create(options)).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining('set contextMax'),
  });
  const told = await RemoteEngine.create({ ...options, contextMax: 77 });
  expect(told.contextMax).toBe(77);
  await told.close();
});
