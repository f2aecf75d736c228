import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Checkpoint, GenerateRequest } from '../../../model/engine.ts';
import { publishAdapter, publishByRoute, publishFromDisk } from '../../../model/remote/publish.ts';
import { RemoteEngine, type RemoteEngineOptions } from '../../../model/remote/remoteEngine.ts';
import type { ServerWire } from '../../../model/remote/serverWire.ts';
import { sglang } from '../../../model/remote/wires/sglang.ts';
import { vllm } from '../../../model/remote/wires/vllm.ts';
import { scriptedPolicy } from '../../../testing/scriptedPolicy.ts';
import {
  type EngineServer,
  type EngineServerOptions,
  engineServer,
} from '../../support/engineServer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import {
  answer,
  type Behaviour,
  type ScriptedServer,
  type Seen,
  scriptedServer,
} from '../../support/scriptedServer.ts';
import { tinyWords } from '../../support/tinyWords.ts';
import { request } from '../rollout/fakeForward.ts';

let folder: ReturnType<typeof temporaryFolder>;
const open: { close(): Promise<void> }[] = [];
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
  folder.remove();
});

function weights(version: number): Checkpoint {
  const uri = join(folder.path, `${version}.safetensors`);
  writeFileSync(uri, `weights ${version}`);
  const digest = createHash('sha256').update(`weights ${version}`).digest('hex');
  return { version, uri, digest };
}

const labelled = (version: number) => `policy-v${version}-${weights(version).digest?.slice(0, 12)}`;
const asItIs = ({ uri }: Checkpoint) => uri;

/** The wire without its routes for weights. */
function bare({ adapters: _, replacement: __, ...wire }: ServerWire): ServerWire {
  return wire;
}

function policy() {
  return scriptedPolicy({
    tokenizer: tinyWords,
    script: () => 'I look it up',
    topLogProbs: () => [-1, -2, -3],
  });
}

async function wrapped(options: Partial<EngineServerOptions> = {}): Promise<EngineServer> {
  const server = await engineServer({
    engine: policy(),
    adapter: async () => policy(),
    ...options,
  });
  open.push(server);
  return server;
}

/** Stands before a server and does to some requests what the test says. */
async function inFront(
  server: ScriptedServer,
  behave: (seen: Seen) => Behaviour | undefined,
): Promise<ScriptedServer> {
  const proxy = await scriptedServer(async (seen, response) => {
    const own = behave(seen);
    if (own) return own(seen, response);
    const there = await fetch(server.url + seen.path, {
      method: seen.method,
      body: seen.body === null ? null : JSON.stringify(seen.body),
    });
    return answer(await there.text(), there.status)(seen, response);
  });
  open.push(proxy);
  return proxy;
}

async function remote(
  servers: readonly ScriptedServer[],
  options: Partial<RemoteEngineOptions> = {},
): Promise<RemoteEngine> {
  const engine = await RemoteEngine.create({
    urls: servers.map(({ url }) => url),
    wire: vllm,
    model: 'base',
    clock: impatientClock(),
    version: 0,
    ...options,
  });
  open.push(engine);
  return engine;
}

/** A completion as text, so that it can hold numbers that JSON.stringify does not write. */
function reply(ids: readonly number[], logProbs: readonly number[], tops: unknown = null): string {
  const list = logProbs.map((each) => (Number.isFinite(each) ? each : '-1e999')).join();
  return `{"choices":[{"token_ids":${JSON.stringify(ids)},"logprobs":{"token_logprobs":[${list}],"top_logprobs":${JSON.stringify(tops)}}}]}`;
}

const ask: GenerateRequest = request([1, 2, 3], { maxTokens: 4, draws: [1, 'q', 'x', 0] });
const bodies = ({ seen }: ScriptedServer, path: string) =>
  seen.filter((each) => each.path === path).map(({ body }) => body);

describe('a remote engine', () => {
  it('sends vLLM every parameter whose default differs', async () => {
    const server = await wrapped();
    const engine = await remote([server], { publisher: publishAdapter(asItIs) });
    await engine.load(weights(1));
    await engine.generate({ ...ask, stopTokens: [7, 8], temperature: 0.5 });
    expect(server.seen.at(-1)!.body).toEqual({
      model: labelled(1),
      prompt: [1, 2, 3],
      max_tokens: 4,
      temperature: 0.5,
      top_p: 1,
      top_k: -1,
      min_p: 0,
      repetition_penalty: 1,
      seed: expect.any(Number),
      n: 1,
      stream: false,
      ignore_eos: true,
      stop_token_ids: [7, 8],
      logprobs: 0,
      return_token_ids: true,
      return_tokens_as_token_ids: true,
      cache_salt: labelled(1),
    });
  });

  it('asks for as many log-probs of a token as a server gives', async () => {
    const server = await wrapped();
    const engine = await remote([server]);
    const asked = [];
    for (const logProbsPerToken of [undefined, 5, 50]) {
      const more = logProbsPerToken === undefined ? {} : { logProbsPerToken };
      await engine.generate({ ...ask, topLogProbs: 2, ...more });
      asked.push(server.seen.at(-1)!.body!.logprobs);
    }
    // vLLM refuses more than 20 unless it was started otherwise.
    expect(asked).toEqual([10, 5, 20]);
  });

  it('sends sampling settings, and refuses those that training could not use', async () => {
    const shaped = { topP: 0.9, topK: 20, minP: 0.05 };
    const asked = { top_p: 0.9, top_k: 20, min_p: 0.05 };
    const one = await wrapped();
    const engine = await remote([one]);
    await engine.generate({ ...ask, ...shaped, repetitionPenalty: 1.1 });
    expect(one.seen.at(-1)!.body).toMatchObject({ ...asked, repetition_penalty: 1.1 });
    for (const more of [{ stopTexts: ['x'] }, { entropies: true }])
      await expect(engine.generate({ ...ask, ...more })).rejects.toMatchObject({
        code: 'MODEL_UNSUPPORTED',
      });

    const two = await wrapped();
    const other = await remote([two], { wire: sglang, model: '' });
    await other.generate({ ...ask, ...shaped });
    expect(two.seen.at(-1)!.body).toMatchObject({ sampling_params: asked });
    await expect(other.generate({ ...ask, repetitionPenalty: 1.1 })).rejects.toMatchObject({
      code: 'MODEL_UNSUPPORTED',
      message: expect.stringContaining('repetitionPenalty'),
    });
  });

  it('draws a seed for each position in a context', async () => {
    const server = await wrapped();
    const engine = await remote([server]);
    for (const tokens of [
      [1, 2, 3],
      [1, 2, 4],
      [1, 2, 3, 4],
    ]) {
      await engine.generate({ ...ask, tokens: Int32Array.from(tokens) });
    }
    await engine.generate({ ...ask, draws: [1, 'q', 'x', 1] });
    const [first, same, longer, other] = server.seen.slice(-4).map(({ body }) => body!.seed);
    expect(same).toBe(first);
    expect(new Set([first, longer, other]).size).toBe(3);
  });

  it('keeps the rollouts of a question at one server', async () => {
    const servers = [await wrapped(), await wrapped()];
    const engine = await remote(servers);
    const counts = () => servers.map((each) => bodies(each, '/v1/completions').length);
    const start = counts();
    for (let i = 0; i < 6; i++) await engine.generate({ ...ask, draws: [1, 'q', 'x', i] });
    const grown = counts().map((count, server) => count - start[server]!);
    expect(grown.sort()).toEqual([0, 6]);
  });

  it('asks the servers how long a context may be, and takes the shortest', async () => {
    const short = scriptedPolicy({ tokenizer: tinyWords, script: () => 'I', contextMax: 99 });
    const engine = await remote([await wrapped(), await wrapped({ engine: short })]);
    expect(engine.contextMax).toBe(99);
  });

  it('refuses temperatures at which the server’s log-probs are not those of temperature 1', async () => {
    const processed = (logProb: number, temperature: number) => logProb / (temperature || 1);
    const engine = await remote([await wrapped({ reported: processed })]);
    for (const temperature of [0, 1]) await engine.generate({ ...ask, temperature });
    await expect(engine.generate({ ...ask, temperature: 0.7 })).rejects.toMatchObject({
      code: 'MODEL_LOG_PROBS',
    });
    await expect(engine.generate({ ...ask, topP: 0.9 })).rejects.toMatchObject({
      code: 'MODEL_LOG_PROBS',
      message: expect.stringContaining('(temperature 1, topP)'),
    });
    const raw = await remote([await wrapped()]);
    await raw.generate({ ...ask, temperature: 0.7 });
  });

  it('reports a server that ends without a reason', async () => {
    const early = answer({
      choices: [{ token_ids: [5, 6], logprobs: { token_logprobs: [-1, -1] } }],
    });
    const server = await inFront(await wrapped(), ({ body }) =>
      (body?.prompt as number[] | undefined)?.length === 3 ? early : undefined,
    );
    await expect((await remote([server])).generate(ask)).rejects.toMatchObject({
      code: 'MODEL_REPLY',
      message: expect.stringContaining('--generation-config'),
    });
  });

  it.each([
    ['token ids are missing', { token_ids: null, logprobs: { token_logprobs: [-1] } }, 'token_ids'],
    ['log-probs are missing', { token_ids: [5], logprobs: null }, 'token_logprobs'],
    [
      'lists differ',
      { token_ids: [5], logprobs: { token_logprobs: [-1, -2] } },
      '1 token came with 2 log-probs',
    ],
    ['it was aborted', { token_ids: [], finish_reason: 'abort' }, 'aborted'],
    [
      'a token is no id',
      reply([5.5], [-1]),
      'token 0 of the reply is 5.5, which is not a token id',
    ],
    ['a token is below 0', reply([5, -1], [-1, -1]), 'token 1 of the reply is -1'],
    [
      'a token is outside the vocabulary',
      reply([99_999], [-1]),
      'is 99999, which is not a token id (the vocabulary',
    ],
    [
      'more tokens come than were asked for',
      reply([1, 2, 3, 4, 5], [-1, -1, -1, -1, -1]),
      '4 were',
    ],
    [
      'a log-prob is too large a number',
      reply([5], [Number.NEGATIVE_INFINITY]),
      'of token 0 of the reply is -Inf',
    ],
    ['a log-prob is positive', reply([5], [0.5]), 'the log-prob of token 0 of the reply is 0.5'],
    ['a top log-prob is positive', reply([5], [-1], [{ a: 2 }]), 'a top log-prob of token 0'],
  ])('fails after its tries when %s', async (_, choice, said) => {
    const server = await inFront(await wrapped(), ({ body }) =>
      (body?.prompt as number[] | undefined)?.length === 3
        ? answer(typeof choice === 'string' ? choice : { choices: [choice] })
        : undefined,
    );
    const engine = await remote([server], { vocabSize: tinyWords.vocabSize });
    await expect(engine.generate(ask)).rejects.toMatchObject({
      code: 'MODEL_DOWN',
      message: expect.stringContaining(said),
    });
  });

  it('refuses an impossible token id even without a vocabulary', async () => {
    const server = await inFront(await wrapped(), ({ body }) =>
      (body?.prompt as number[] | undefined)?.length === 3
        ? answer(reply([2 ** 40], [-1]))
        : undefined,
    );
    await expect((await remote([server])).generate(ask)).rejects.toMatchObject({
      code: 'MODEL_DOWN',
      message: expect.stringContaining(`is ${2 ** 40}, which is not a token id`),
    });
  });

  const nonsense: Readonly<Record<string, Behaviour>> = {
    'is not HTTP': (_, response) => {
      response.socket!.end('220 mail is here\r\n\r\n');
    },
    'cannot be unpacked': (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip');
    },
  };
  it.each(Object.keys(nonsense))('does not wait for a server whose answer %s', async (kind) => {
    const server = await inFront(await wrapped(), ({ body }) =>
      (body?.prompt as number[] | undefined)?.length === 3 ? nonsense[kind] : undefined,
    );
    const told: string[] = [];
    const engine = await remote([server], { report: (line) => told.push(line) });
    await expect(engine.generate(ask)).rejects.toMatchObject({ code: 'MODEL_DOWN' });
    expect(told.filter((line) => line.includes('no model server has answered'))).toEqual([]);
  });

  describe('with stop texts', () => {
    const text = 'I look it up';
    const tokens = Int32Array.from(tinyWords.encode(text));
    const saying = async (reply: Behaviour) =>
      inFront(await wrapped(), ({ path }) => (path === '/tokenize' ? reply : undefined));

    const told = async (reply: Behaviour): Promise<string[]> => {
      const lines: string[] = [];
      const texts = [{ text, tokens }];
      await remote([await saying(reply)], { texts, report: (line) => lines.push(line) });
      return lines;
    };

    it('reports servers that encode them otherwise', async () => {
      expect(await told(answer({ tokens: [7, 8, 9] }))).toEqual([
        expect.stringMatching(
          /^warning: http:.* splits a text into 3 tokens \(7, 8, 9, …\) that the tokenizer given here splits into /,
        ),
      ]);
    });

    it.each<[string, unknown, number]>([
      ['make the same', { tokens: [...tokens] }, 200],
      ['have no such route', { detail: 'Not Found' }, 404],
      ['answer something else', '<p>a proxy</p>', 200],
      ['fail', { error: 'no tokenizer' }, 500],
    ])('is silent about servers that %s', async (_, reply, status) => {
      expect(await told(answer(reply, status))).toEqual([]);
    });
  });

  it('takes a log-prob of 0 that half precision made slightly positive', async () => {
    const server = await inFront(await wrapped(), ({ body }) =>
      (body?.prompt as number[] | undefined)?.length === 3
        ? answer(reply([5, 6, 7, 8], [-1, 1e-5, 0, -2]))
        : undefined,
    );
    const { logProbs } = await (await remote([server])).generate(ask);
    expect([...logProbs]).toEqual([-1, 0, 0, -2]);
  });

  it('refuses an answer that continues after a stop token', async () => {
    const server = await inFront(await wrapped(), ({ body }) =>
      (body?.prompt as number[] | undefined)?.length === 3
        ? answer(reply([5, 6, 7, 8], [-1, -1, -1, -1]))
        : undefined,
    );
    const asked = (await remote([server])).generate({ ...ask, stopTokens: [6] });
    await expect(asked).rejects.toMatchObject({
      code: 'MODEL_REPLY',
      message: expect.stringContaining('continued after stop token 6'),
    });
  });

  it('reports a refused request', async () => {
    const server = await inFront(await wrapped(), ({ body }) =>
      (body?.prompt as number[] | undefined)?.length === 3
        ? answer({ error: { message: 'bad token' } }, 400)
        : undefined,
    );
    await expect((await remote([server])).generate(ask)).rejects.toMatchObject({
      code: 'MODEL_REFUSED',
      message: expect.stringContaining('bad token'),
    });
  });

  it('generates nothing before the weights of the servers are known', async () => {
    const options = { publisher: publishAdapter(asItIs) };
    const { version: _, ...unknown } = { ...options, version: 0 };
    const server = await wrapped();
    const engine = await RemoteEngine.create({
      ...unknown,
      urls: [server.url],
      wire: vllm,
      model: 'base',
      clock: impatientClock(),
    });
    open.push(engine);
    await expect(engine.generate(ask)).rejects.toMatchObject({ code: 'WEIGHTS_UNKNOWN' });
    await engine.load(weights(0));
    expect((await engine.generate(ask)).version).toBe(0);
  });

  it('does not start without its servers', async () => {
    const urls = ['http://127.0.0.1:9'];
    const clock = impatientClock();
    await expect(RemoteEngine.create({ urls, wire: vllm, clock })).rejects.toMatchObject({
      code: 'MODEL_DOWN',
    });
  });
});

describe('adapters', () => {
  const publisher = publishAdapter(asItIs);
  const load = '/v1/load_lora_adapter';
  const unload = '/v1/unload_lora_adapter';

  it('have a name each on every server, and leave once no request needs them', async () => {
    const servers = [await wrapped(), await wrapped()];
    const engine = await remote(servers, { publisher });
    for (const version of [1, 2]) {
      await engine.load(weights(version));
      await engine.generate(ask);
    }
    for (const server of servers) {
      while (bodies(server, unload).length === 0) await new Promise(setImmediate);
      expect(bodies(server, load)).toEqual([
        { lora_name: labelled(1), lora_path: weights(1).uri },
        { lora_name: labelled(2), lora_path: weights(2).uri },
      ]);
      expect(bodies(server, unload)).toEqual([{ lora_name: labelled(1) }]);
    }
  });

  it('stay while a request that names them is in flight', async () => {
    let go = (): void => undefined;
    const waits = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = scriptedPolicy({
      tokenizer: tinyWords,
      script: () => 'I look it up',
      delay: () => waits,
    });
    const adapters = [slow, policy()];
    const server = await wrapped({ adapter: async () => adapters.shift()! });
    const engine = await remote([server], { publisher });
    await engine.load(weights(1));
    const underWay = engine.generate(ask);
    while (slow.active === 0) await new Promise(setImmediate);
    await engine.load(weights(2));
    expect((await engine.generate(ask)).version).toBe(2);
    expect(bodies(server, unload)).toEqual([]);
    go();
    expect((await underWay).version).toBe(1);
    while (bodies(server, unload).length === 0) await new Promise(setImmediate);
  });

  it('are not published again if their digest is there already', async () => {
    const server = await wrapped();
    await (await remote([server], { publisher })).load(weights(1));
    const restarted = await remote([server], { publisher });
    await restarted.load(weights(1));
    expect((await restarted.generate(ask)).version).toBe(1);
  });

  it('are withdrawn if one server refuses them, and the old ones stay', async () => {
    const good = await wrapped();
    const bad = await inFront(await wrapped(), ({ path }) =>
      path === load ? answer({ error: { message: 'no such folder' } }, 400) : undefined,
    );
    const engine = await remote([good, bad], { publisher });
    await expect(engine.load(weights(1))).rejects.toMatchObject({
      code: 'WEIGHTS_REFUSED',
      message: expect.stringContaining('no such folder'),
    });
    expect(bodies(good, unload)).toEqual([{ lora_name: labelled(1) }]);
    expect((await engine.generate(ask)).version).toBe(0);
  });

  it('use the routes of SGLang and are named in its requests', async () => {
    const server = await inFront(await wrapped(), ({ path }) =>
      path.endsWith('load_lora_adapter') ? answer({ success: true }) : undefined,
    );
    const engine = await remote([server], {
      wire: sglang,
      publisher: publishAdapter(asItIs),
    });
    await engine.load(weights(1));
    await engine.generate(ask);
    expect(bodies(server, '/load_lora_adapter')).toHaveLength(1);
    const asked = bodies(server, '/generate');
    expect(asked[0]).not.toHaveProperty('lora_path');
    expect(asked.at(-1)).toMatchObject({ lora_path: labelled(1) });
  });
});

describe('replaced weights', () => {
  const update = '/update_weights_from_disk';

  it('wait until nothing is in flight, and requests wait for them', async () => {
    const order: string[] = [];
    let go = (): void => undefined;
    const waits = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = scriptedPolicy({
      tokenizer: tinyWords,
      script: () => 'I look it up',
      topLogProbs: () => [-1],
      delay: (request) => (request.tokens.length === 3 ? waits : Promise.resolve()),
    });
    const server = await wrapped({ engine: slow, load: async () => void order.push('loaded') });
    const engine = await remote([server], {
      wire: sglang,
      publisher: publishFromDisk(asItIs),
    });
    const underWay = engine.generate(ask).then(({ version }) => order.push(`made by ${version}`));
    while (slow.active === 0) await new Promise(setImmediate);
    // Without a digest nothing is read before it waits.
    const loaded = engine.load({ ...weights(1), digest: null });
    for (let i = 0; i < 50; i++) await new Promise(setImmediate);
    const later = engine
      .generate({ ...ask, tokens: Int32Array.of(1) })
      .then(({ version }) => order.push(`made by ${version}`));
    for (let i = 0; i < 50; i++) await new Promise(setImmediate);
    expect(order).toEqual([]);
    go();
    await Promise.all([underWay, loaded, later]);
    expect(order).toEqual(['made by 0', 'loaded', 'made by 1']);
    expect(bodies(server, update)).toEqual([
      {
        model_path: weights(1).uri,
        weight_version: 'policy-v1',
        abort_all_requests: false,
        flush_cache: true,
      },
    ]);
  });

  it('wait for a request made at the same moment', async () => {
    const order: string[] = [];
    const slow = scriptedPolicy({
      tokenizer: tinyWords,
      script: () => 'I look it up',
      topLogProbs: () => [-1],
      delay: () => new Promise((resolve) => setTimeout(resolve, 20)),
    });
    const load = async () => void order.push('loaded');
    const server = await wrapped({ engine: slow, load });
    const publisher = publishFromDisk(asItIs);
    const engine = await remote([server], { wire: sglang, publisher });
    const loaded = engine.load({ ...weights(1), digest: null });
    const made = engine.generate(ask).then(({ version }) => order.push(`made by ${version}`));
    await Promise.all([loaded, made]);
    expect(order).toEqual(['made by 0', 'loaded']);
  });

  it('stop generation if not every server took them, until a load succeeds', async () => {
    let refuses = true;
    const bad = await inFront(await wrapped({ load: async () => undefined }), ({ path }) =>
      path === update && refuses
        ? answer({ success: false, message: 'shape mismatch' })
        : undefined,
    );
    const good = await wrapped({ load: async () => undefined });
    const engine = await remote([good, bad], {
      wire: sglang,
      publisher: publishFromDisk(asItIs),
    });
    await expect(engine.load(weights(1))).rejects.toThrow(/shape mismatch/);
    await expect(engine.generate(ask)).rejects.toMatchObject({ code: 'WEIGHTS_UNKNOWN' });
    refuses = false;
    await engine.load(weights(1));
    expect((await engine.generate(ask)).version).toBe(1);
  });

  it('are noticed when something else replaced them', async () => {
    const server = await wrapped({ load: async () => undefined });
    const engine = await remote([server], {
      wire: sglang,
      publisher: publishFromDisk(asItIs),
    });
    await engine.load(weights(1));
    await engine.generate(ask);
    await fetch(server.url + update, {
      method: 'POST',
      body: JSON.stringify({ model_path: 'x', weight_version: 'somebody else’s' }),
    });
    await expect(engine.generate(ask)).rejects.toMatchObject({ code: 'WEIGHTS_UNKNOWN' });
  });

  it('may use a route of the user’s own, and are not sent twice', async () => {
    const server = await inFront(await wrapped(), ({ path }) =>
      path === '/update_weights' ? answer('done') : undefined,
    );
    const publisher = publishByRoute('/update_weights', ({ uri }) => ({
      weight_dir: uri,
    }));
    const engine = await remote([server], { publisher });
    await engine.load(weights(1));
    await engine.load(weights(1));
    expect(bodies(server, '/update_weights')).toEqual([{ weight_dir: weights(1).uri }]);
    expect((await engine.generate(ask)).version).toBe(1);
  });

  it('are refused by an engine that has no way to publish them', async () => {
    const engine = await remote([await wrapped()]);
    await expect(engine.load(weights(1))).rejects.toMatchObject({ code: 'WEIGHTS_REFUSED' });
    await engine.load(weights(0));
    expect((await engine.generate(ask)).version).toBe(0);
  });
});

describe('a publisher that the servers’ wire has no routes for', () => {
  it.each([
    [
      'all weights from a folder',
      bare(vllm),
      publishFromDisk(asItIs),
      'vLLM has no route that loads weights from a folder',
    ],
    ['adapters', bare(sglang), publishAdapter(asItIs), 'SGLang loads no adapters'],
  ])('is refused before anything is asked: %s', async (_, wire, publisher, said) => {
    const server = await wrapped();
    await expect(remote([server], { wire, publisher })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(said),
    });
    expect(server.seen).toEqual([]);
  });
});

describe('a server that was started again', () => {
  it('gets its adapter again, once for all requests that miss it', async () => {
    const servers = [await wrapped(), await wrapped()] as const;
    const engine = await remote(servers, { publisher: publishAdapter(asItIs) });
    await engine.load(weights(1));
    servers[0].restart();
    const questions = Array.from({ length: 6 }, (_, i) => ({
      ...ask,
      draws: [1, `q${i}`, 'x', 0],
    }));
    const made = await Promise.all(questions.map((each) => engine.generate(each)));
    expect(made.map(({ version }) => version)).toEqual([1, 1, 1, 1, 1, 1]);
    for (const server of servers) {
      expect(bodies(server, '/v1/load_lora_adapter')).toHaveLength(2);
      expect(bodies(server, '/v1/unload_lora_adapter')).toHaveLength(0);
    }
  });

  it('gets its weights again', async () => {
    const server = await wrapped({ load: async () => undefined });
    const publisher = publishFromDisk(asItIs);
    const engine = await remote([server], { wire: sglang, publisher });
    await engine.load(weights(1));
    server.restart();
    const made = await Promise.all([engine.generate(ask), engine.generate(ask)]);
    expect(made.map(({ version }) => version)).toEqual([1, 1]);
    expect(bodies(server, '/update_weights_from_disk')).toHaveLength(2);
  });

  it('is an error if it does not keep them', async () => {
    const server = await wrapped();
    const front = await inFront(server, ({ body }) => {
      if (body?.model === labelled(1)) server.restart();
      return undefined;
    });
    const engine = await remote([front], { publisher: publishAdapter(asItIs) });
    await engine.load(weights(1));
    await expect(engine.generate(ask)).rejects.toMatchObject({ code: 'MODEL_ACCESS' });
    expect(bodies(server, '/v1/load_lora_adapter')).toHaveLength(2);
  });
});
