import { afterEach, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import type { GenerateRequest } from '../../../model/engine.ts';
import { tokenBytes } from '../../../model/rollout/tokenBytes.ts';
import type { TinkerEngine } from '../../../model/tinker/engine.ts';
import { TinkerTrainer } from '../../../model/tinker/trainer.ts';
import {
  skyrlJax,
  summing,
  type TinkerServer,
  tableLogProb,
  tinkerServer,
  VOCABULARY,
} from '../../support/tinkerServer.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Token t is `<t>`. */
const bracketed = tokenBytes({
  vocabSize: VOCABULARY,
  endToken: 0,
  encode: () => new Int32Array(),
  decode: (tokens) => Array.from(tokens, (token) => `<${token}>`).join(''),
  id: () => 0,
});

interface Opened {
  readonly server: TinkerServer;
  readonly trainer: TinkerTrainer;
  readonly engine: TinkerEngine;
}

async function opened(dialect = skyrlJax): Promise<Opened> {
  const server = await tinkerServer(dialect);
  closing.push(() => server.close());
  const trainer = await TinkerTrainer.create({
    ...{ url: server.url, policy: 'table', clock: sleepClock(systemClock), awayMs: 5_000 },
    publish: 'state',
  });
  closing.push(() => trainer.close());
  const engine = trainer.sampler({ contextMax: 40, tokenBytes: bracketed });
  closing.push(() => engine.close());
  return { server, trainer, engine };
}

function request(more: Partial<GenerateRequest> = {}): GenerateRequest {
  const plain = { maxTokens: 6, stopTokens: [], draws: ['x'], temperature: 1, topLogProbs: 0 };
  return { ...plain, tokens: Int32Array.of(3, 1, 4), ...more };
}

const base = { version: 0, uri: '/some/policy', digest: null };

const batch = {
  sequences: [
    {
      tokens: Int32Array.of(3, 1, 4, 1, 5),
      mask: Uint8Array.of(0, 0, 1, 1, 1),
      advantages: new Float32Array(5).fill(1),
      oldLogProbs: new Float32Array(5),
    },
  ],
  loss: { name: 'sft' },
  lr: 0.5,
};

test('a training service samples tokens with log-probs under the loaded version', async () => {
  for (const dialect of [skyrlJax, summing]) {
    const { trainer, engine } = await opened(dialect);
    await engine.load(base);
    const before = await engine.generate(request());
    expect(before).toMatchObject({ version: 0, finish: 'length' });
    expect(before.tokens).toHaveLength(6);
    await trainer.step(batch);
    const saved = await trainer.save({ version: 1, folder: '/nowhere' });
    expect(saved.weights.uri).toBe(saved.state?.uri);
    await engine.load(saved.weights);
    const after = await engine.generate(request());
    expect(after.version).toBe(1);
    const context = Int32Array.of(3, 1, 4, ...after.tokens);
    const [scores] = await trainer.score([context]);
    for (const [i, logProb] of after.logProbs.entries())
      expect(logProb).toBeCloseTo(scores!.logProbs[3 + i]!, 5);
    expect([...after.logProbs]).not.toEqual([...before.logProbs]);
  }
});

test('a training service that claims to have loaded a version is found out', async () => {
  const { server, trainer, engine } = await opened();
  await engine.load(base);
  const { weights } = await trainer
    .step(batch)
    .then(() => trainer.save({ version: 1, folder: '/nowhere' }));
  const before = server.seen.findLast(({ route }) => route === 'retrieve_future')!.body.request_id;
  server.fate = ({ route }) =>
    route === 'load_weights' ? { status: 200, body: { request_id: before } } : undefined;
  await expect(engine.load(weights)).rejects.toMatchObject({ code: 'WEIGHTS_WRONG' });
  expect((await engine.generate(request())).version).toBe(0);
  server.fate = () => undefined;
  await engine.load(weights);
  expect((await engine.generate(request())).version).toBe(1);
});

test('sampling any version leaves the trainer unchanged, even if the service reverts a model to sample', async () => {
  const { server, trainer, engine } = await opened(skyrlJax);
  await engine.load(base);
  await trainer.step(batch);
  const trained = [...server.models.values()].map(({ weights }) => weights.slice());
  await engine.generate(request());
  expect([...server.models.values()].map(({ weights }) => weights)).toEqual(trained);
});

test('a stop token, or the token that completes a stop text, ends a generation and is kept', async () => {
  const { engine } = await opened();
  await engine.load(base);
  const free = await engine.generate(request());
  const [, , third, fourth] = free.tokens;
  const stopped = await engine.generate(request({ stopTokens: [third!] }));
  const first = free.tokens.indexOf(third!);
  expect(stopped).toMatchObject({ finish: 'stop' });
  expect([...stopped.tokens]).toEqual([...free.tokens.slice(0, first + 1)]);
  const texts = await engine.generate(request({ stopTexts: [`<${third}><${fourth}>`] }));
  expect(texts).toMatchObject({ finish: 'stop', stopText: `<${third}><${fourth}>` });
  expect([...texts.tokens]).toEqual([...free.tokens.slice(0, 4)]);
  const begun = request({ stopTexts: [`<4><${free.tokens[0]}>`], stopTextsFrom: 2 });
  expect((await engine.generate(begun)).tokens).toHaveLength(1);
});

test('a stop text that the service does not know is handled by generating in stretches', async () => {
  const { server, trainer } = await opened();
  const engine = trainer.sampler({ contextMax: 400, tokenBytes: bracketed });
  closing.push(() => engine.close());
  await engine.load(base);
  const asked = () =>
    server.seen
      .filter(({ route, body }) => route === 'asample' && body.prompt_logprobs !== true)
      .map(({ body }) => [body.prompt.chunks[0].tokens.length, body.sampling_params.max_tokens]);
  const whole = await engine.generate(request({ maxTokens: 300 }));
  const first = asked().length;
  const parts = await engine.generate(request({ maxTokens: 300, stopTexts: ['never'] }));
  expect(asked().slice(first)).toEqual([
    [3, 64],
    [67, 128],
    [195, 108],
  ]);
  expect(parts).toEqual(whole);
  expect(parts.tokens).toHaveLength(300);
  const { length } = asked();
  const next = await engine.generate(
    request({ maxTokens: 200, stopTexts: [`<${whole.tokens[1]}>`] }),
  );
  expect(next).toMatchObject({ finish: 'stop' });
  expect(asked().slice(length)).toEqual([[3, 64]]);
});

test('a setting that a training service lacks is refused with an alternative', async () => {
  const { engine } = await opened();
  await expect(engine.generate(request())).rejects.toMatchObject({ code: 'WEIGHTS_UNKNOWN' });
  await engine.load(base);
  for (const more of [
    { topLogProbs: 3 },
    { entropies: true },
    { minP: 0.1 },
    { repetitionPenalty: 2 },
  ])
    await expect(engine.generate(request(more))).rejects.toMatchObject({
      code: 'MODEL_UNSUPPORTED',
    });
  await expect(engine.generate(request({ tokens: new Int32Array() }))).rejects.toThrow('context');
  await expect(engine.generate(request({ maxTokens: 0 }))).rejects.toThrow('maxTokens');
  await expect(engine.load({ ...base, version: 2 })).rejects.toMatchObject({
    code: 'CHECKPOINT_KIND',
  });
});

test('a restarted training service is given the version again', async () => {
  const { server, trainer, engine } = await opened();
  await trainer.step(batch);
  const { weights } = await trainer.save({ version: 1, folder: '/nowhere' });
  await engine.load(weights);
  const before = await engine.generate(request());
  server.restart();
  const after = await Promise.all([engine.generate(request()), engine.generate(request())]);
  for (const { tokens } of after) expect([...tokens]).toEqual([...before.tokens]);
});

test('old versions free their places in a training service', async () => {
  const { server, trainer, engine } = await opened();
  await engine.load(base);
  for (const version of [1, 2, 3]) {
    await trainer.step(batch);
    const { weights } = await trainer.save({ version, folder: '/nowhere' });
    await engine.load(weights);
  }
  expect(server.models.size).toBe(2);
});

test('an aborted request to a training service rejects with the reason', async () => {
  const { engine } = await opened();
  await engine.load(base);
  const caller = new AbortController();
  const asked = engine.generate(request(), caller.signal);
  caller.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  expect((await engine.generate(request())).tokens).toHaveLength(6);
});

test('a sampler with other weights than were loaded is refused', async () => {
  const { server, engine } = await opened();
  let samples = 0;
  server.fate = ({ route }) => {
    if (route === 'asample') samples++;
    if (route !== 'retrieve_future' || samples === 0) return undefined;
    const off = Array.from({ length: 15 }, () => -9);
    const sequences = [{ stop_reason: 'length', tokens: [1], logprobs: [-1] }];
    return { status: 200, body: { sequences, prompt_logprobs: off } };
  };
  await expect(engine.load(base)).rejects.toMatchObject({ code: 'WEIGHTS_REFUSED' });
});

test('a malformed reply of a training service is refused', async () => {
  const { server, engine } = await opened();
  await engine.load(base);
  const replies = [
    { sequences: [] },
    { sequences: [{ tokens: [1, 2], logprobs: [-1] }] },
    { sequences: [{ tokens: [1.5, 2, 3, 4, 5, 6], logprobs: [-1, -1, -1, -1, -1, -1] }] },
    { sequences: [{ tokens: [1, 2, 3, 4, 5, 6], logprobs: [-1, -1, 2, -1, -1, -1] }] },
    { sequences: [{ tokens: [1, 2, 3, 4, 5, 6], logprobs: [-1, -1, null, -1, -1, -1] }] },
    // Minus infinity as JSON can say it: no policy samples a token that it holds impossible.
    '{"sequences": [{"tokens": [1, 2, 3, 4, 5, 6], "logprobs": [-1, -1, -1e999, -1, -1, -1]}]}',
    { sequences: [{ tokens: [1, 2], logprobs: [-1, -1] }] },
    { sequences: [{ tokens: [1, 2, 3, 4, 5, 6, 7], logprobs: [-1, -1, -1, -1, -1, -1, -1] }] },
  ];
  for (const body of replies) {
    server.fate = ({ route }) => (route === 'retrieve_future' ? { status: 200, body } : undefined);
    await expect(engine.generate(request())).rejects.toMatchObject({ code: 'MODEL_REPLY' });
  }
  // and as Python writes it, which is not JSON
  const body = '{"sequences": [{"tokens": [1], "logprobs": [-Infinity]}]}';
  server.fate = ({ route }) => (route === 'retrieve_future' ? { status: 200, body } : undefined);
  await expect(engine.generate(request())).rejects.toMatchObject({ code: 'TRAINER_REPLY' });
  expect(tableLogProb([...server.models.values()][0]!.weights, 1, 2)).toBeLessThan(0);
});
