/**
 * That servers are what they were taken for: what is found out at the start, after each publish, and when one
 * of them was away. The servers are toys whose right answers are known.
 */
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Checkpoint, PolicyEngine, TrainerEngine } from '../../../model/engine.ts';
import {
  labelOf,
  type Publisher,
  publishAdapter,
  publishFromDisk,
} from '../../../model/remote/publish.ts';
import { RemoteEngine, type RemoteEngineOptions } from '../../../model/remote/remoteEngine.ts';
import { vllm } from '../../../model/remote/wires/vllm.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { answer, reset } from '../../support/scriptedServer.ts';
import { type ToyServer, toyScores, toyServer } from '../../support/toyServer.ts';
import { request } from '../rollout/fakeForward.ts';

const send = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function toy(given: Parameters<typeof toyServer>[0] = {}): Promise<ToyServer> {
  const server = await toyServer(given);
  open.push(server);
  return server;
}

const weights = (version: number): Checkpoint => ({
  version,
  uri: `/checkpoints/${version}`,
  digest: null,
});
const adapters: Publisher = publishAdapter((each) =>
  each.version === 0 ? null : `/share/${labelOf(each)}`,
);
const full: Publisher = publishFromDisk((each) => `/share/${labelOf(each)}`);
const SEQUENCE = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6);
const ask = (more: Parameters<typeof request>[1] = {}) => request([1, 2, 3], more);

interface Opened {
  readonly engine: RemoteEngine;
  readonly lines: string[];
  readonly clock: ReturnType<typeof impatientClock>;
}

async function remote(
  servers: readonly ToyServer[],
  options: Partial<RemoteEngineOptions> = {},
): Promise<Opened> {
  const lines: string[] = [];
  // The time that the last requests of a closing engine have is not skipped.
  const clock = impatientClock((ms) => ms >= 120_000 || ms === 5_000);
  const engine = await RemoteEngine.create({
    urls: servers.map(({ url }) => url),
    wire: vllm,
    model: 'base',
    clock,
    report: (line) => lines.push(line),
    canary: { sequences: [SEQUENCE], meanMax: 0.1 },
    ...options,
  });
  open.push(engine);
  engine.expect(async ({ version }, sequences) =>
    sequences.map((each) => toyScores(version, each)),
  );
  return { engine, lines, clock };
}

/** Generates until it is made by this version. */
const versionOf = async (engine: PolicyEngine) => (await engine.generate(ask())).version;

describe('at the start of an engine', () => {
  it('a server whose log-probs are tempered is found out, whichever of them it is', async () => {
    const servers = [await toy(), await toy({ faults: { tempered: true } })];
    const { engine } = await remote(servers, { version: 0 });
    await engine.generate(ask({ temperature: 1 }));
    for (const more of [{ temperature: 0.7 }, { topP: 0.9 }, { topK: 5 }, { minP: 0.1 }])
      await expect(engine.generate(ask(more))).rejects.toMatchObject({ code: 'MODEL_LOG_PROBS' });
  });

  it('flat distributions prove nothing: sampling that depends on it waits for weights that do', async () => {
    const server = await toy({ faults: { flatBelow: 1 } });
    const { engine } = await remote([server], { publisher: adapters });
    await engine.load(weights(0));
    await expect(engine.generate(ask({ temperature: 0.7 }))).rejects.toMatchObject({
      code: 'MODEL_LOG_PROBS',
      message: expect.stringContaining('cannot be distinguished'),
    });
    expect(await versionOf(engine)).toBe(0);
    await engine.load(weights(1));
    expect((await engine.generate(ask({ temperature: 0.7 }))).version).toBe(1);
  });

  it('a server that tempers flat distributions is found out later', async () => {
    const server = await toy({ faults: { flatBelow: 1, tempered: true } });
    const { engine } = await remote([server], { publisher: adapters });
    await engine.load(weights(1));
    await expect(engine.generate(ask({ temperature: 0.7 }))).rejects.toMatchObject({
      message: expect.stringContaining('--logprobs-mode'),
    });
  });

  it('several contexts are tried, none made of token 0', async () => {
    const server = await toy();
    await remote([server], { version: 0, vocabSize: 100 });
    const tried = server.bodies('/v1/completions').map(({ prompt }) => prompt as number[]);
    expect(new Set(tried.map(String)).size).toBeGreaterThanOrEqual(4);
    expect(tried.flat().every((token) => token > 0)).toBe(true);
  });

  it('another model than the named one, or one with fewer tokens, is an error', async () => {
    const server = await toy();
    await expect(remote([server], { version: 0, model: 'org/other' })).rejects.toMatchObject({
      code: 'MODEL_OTHER',
      message: expect.stringContaining('does not serve org/other; it serves base'),
    });
    await expect(remote([server], { version: 0, vocabSize: 200 })).rejects.toMatchObject({
      code: 'MODEL_OTHER',
      message: expect.stringContaining('refuses token 199'),
    });
  });

  it.each([401, 403])('a wrong key (%d) is an error at once', async (status) => {
    const wrongKey = answer({ error: { message: 'Unauthorized' } }, status);
    const server = await toy({
      faults: {
        before: (seen, response) => {
          void wrongKey(seen, response);
          return true;
        },
      },
    });
    await expect(remote([server], { version: 0 })).rejects.toMatchObject({ code: 'MODEL_ACCESS' });
    expect(server.seen).toHaveLength(1);
  });

  it('a base model replaced by another run is an error, unless whole policies are published', async () => {
    const server = await toy();
    const one = await remote([server], { publisher: full });
    await one.engine.load(weights(3));
    await one.engine.close();
    await expect(remote([server], { publisher: adapters })).rejects.toMatchObject({
      code: 'MODEL_OTHER',
      message: expect.stringContaining("'policy-v3' of a run"),
    });
    const other = await remote([server], { publisher: full });
    await other.engine.load(weights(0));
    expect(await versionOf(other.engine)).toBe(0);
  });

  it('seeds that a server ignores are reported, with the option to start it with', async () => {
    const wire = { ...vllm, seedsNeed: '--deterministic' };
    const good = await remote([await toy()], { version: 0, wire });
    expect(good.lines).toEqual([]);
    const seedless = await toy({ faults: { seedless: true } });
    const { lines } = await remote([await toy(), seedless], { version: 0, wire });
    expect(lines.join()).toContain('--deterministic');
  });

  it('adapters that a killed run left are unloaded', async () => {
    const server = await toy({ left: ['policy-v7-0123456789ab', 'somebody-elses'] });
    const { lines } = await remote([server], { publisher: adapters });
    expect(server.adapters()).toEqual(['somebody-elses']);
    expect(lines.join()).toContain('policy-v7-0123456789ab');
  });
});

describe('after each publish', () => {
  it.each([
    ['adapters', adapters],
    ['all weights', full],
  ])('the log-probs of the servers are compared with the trainer’s: %s', async (_, publisher) => {
    const servers = [await toy(), await toy()];
    const { engine, lines } = await remote(servers, { publisher });
    for (const version of [0, 1, 2]) {
      await engine.load(weights(version));
      expect(await versionOf(engine)).toBe(version);
    }
    expect(lines.filter((line) => line.includes('agree with the trainer'))).toHaveLength(1);
  });

  it.each([
    ['adapters', adapters],
    ['all weights', full],
  ])('a server that answers with other weights is refused: %s', async (_, publisher) => {
    const servers = [await toy(), await toy()];
    const { engine } = await remote(servers, { publisher });
    await engine.load(weights(1));
    servers[1]!.faults.stuckAt = 1;
    await expect(engine.load(weights(2))).rejects.toMatchObject({
      code: 'WEIGHTS_WRONG',
      message: expect.stringContaining(servers[1]!.url),
    });
    for (const server of servers) expect(server.adapters()).not.toContain('policy-v2');
  });

  it('a base model other than the trainer’s is refused before anything is generated', async () => {
    const server = await toy({ faults: { stuckAt: 5 } });
    const { engine } = await remote([server], { publisher: adapters });
    await expect(engine.load(weights(0))).rejects.toMatchObject({ code: 'WEIGHTS_WRONG' });
    await expect(engine.generate(ask())).rejects.toMatchObject({ code: 'WEIGHTS_UNKNOWN' });
  });

  it('the agreement at the start bounds the later ones, whatever the limit', async () => {
    const server = await toy();
    const { engine } = await remote([server], { publisher: adapters });
    await engine.load(weights(1));
    engine.expect(async ({ version }, sequences) =>
      sequences.map((each) => toyScores(version, each).map((score, i) => score - 0.03 * i)),
    );
    await expect(engine.load(weights(2))).rejects.toMatchObject({
      code: 'WEIGHTS_WRONG',
      message: expect.stringContaining('the first weights agreed within 0.0'),
    });
  });

  it('a server in float32, like the trainer, must agree far better than one in half precision', async () => {
    const engineAt = async (dtype: string, trainer: Pick<TrainerEngine, 'precision'> = {}) => {
      const server = await toy();
      server.faults.before = ({ path }, response) => {
        if (!path.startsWith('/server_info')) return false;
        response.end(
          JSON.stringify({
            vllm_config: { model_config: { dtype }, device_config: { device: 'cuda' } },
          }),
        );
        return true;
      };
      const canary = { sequences: [SEQUENCE], meanMax: null };
      const { engine } = await remote([server], { publisher: adapters, canary });
      engine.expect(
        async ({ version }, sequences) =>
          sequences.map((each) => toyScores(version, each).map((score) => score - 0.028)),
        trainer,
      );
      return engine;
    };
    await (await engineAt('torch.bfloat16')).load(weights(1));
    // a service that may train in half precision rounds too
    await (await engineAt('torch.float32', { precision: 'unknown' })).load(weights(1));
    await expect((await engineAt('torch.float32')).load(weights(1))).rejects.toMatchObject({
      code: 'WEIGHTS_WRONG',
      message: expect.stringContaining('both compute in float32'),
    });
  });

  it('an old version under a new name is found out even within the tolerance', async () => {
    const server = await toy();
    const canary = { sequences: [SEQUENCE], meanMax: 100 };
    const { engine } = await remote([server], { publisher: adapters, canary });
    await engine.load(weights(1));
    server.faults.stuckAt = 1;
    await expect(engine.load(weights(2))).rejects.toMatchObject({
      message: expect.stringContaining("still answers with 'policy-v1'"),
    });
  });

  it('the weights are published again before giving up', async () => {
    const server = await toy();
    const { engine, lines } = await remote([server], { publisher: adapters });
    let loads = 0;
    server.faults.before = ({ path, body }) => {
      if (path === '/v1/load_lora_adapter') loads++;
      if (body?.prompt_logprobs === undefined) return false;
      if (loads === 1) server.faults.stuckAt = 9;
      else delete server.faults.stuckAt;
      return false;
    };
    await engine.load(weights(1));
    expect(loads).toBe(2);
    expect(lines.join()).toContain('publishing again');
    expect(await versionOf(engine)).toBe(1);
  });

  it('an adapter that a server loses during the check is published again', async () => {
    const server = await toy();
    const { engine, lines } = await remote([server], { publisher: adapters });
    let loads = 0;
    server.faults.before = ({ path, body }, response) => {
      if (path === '/v1/load_lora_adapter') loads++;
      if (body?.prompt_logprobs === undefined || loads > 2) return false;
      send(response, 404, { error: { message: 'The model `policy-v1` does not exist.' } });
      return true;
    };
    await engine.load(weights(1));
    expect(loads).toBe(3);
    expect(lines).toContain('a server lost version 1 after loading it; publishing again');
    expect(await versionOf(engine)).toBe(1);
  });

  it('a server that never has what it accepted ends the load', async () => {
    const server = await toy();
    const { engine } = await remote([server], { publisher: adapters });
    server.faults.before = ({ body }, response) => {
      if (body?.prompt_logprobs === undefined) return false;
      send(response, 404, { error: { message: 'The model `policy-v1` does not exist.' } });
      return true;
    };
    await expect(engine.load(weights(1))).rejects.toMatchObject({ code: 'MODEL_ACCESS' });
  });

  it('an older adapter that a server has lost does not keep a newer one from being loaded', async () => {
    const server = await toy();
    const { engine } = await remote([server], { publisher: adapters });
    await engine.load(weights(1));
    let waiting = (): void => undefined;
    server.faults.before = ({ body }, response) => {
      if (body?.model === 'policy-v1' && body.prompt_logprobs === undefined) {
        waiting = () => send(response, 200, {});
        return true;
      }
      if (body?.model !== 'policy-v1') return false;
      send(response, 404, { error: { message: 'The model `policy-v1` does not exist.' } });
      return true;
    };
    const under = engine.generate(ask()).catch(() => 'failed');
    await engine.load(weights(2));
    delete server.faults.before;
    waiting();
    await under;
    expect(await versionOf(engine)).toBe(2);
  });

  it.each([
    [
      'as a word in its reply',
      200,
      '{"choices":[{"token_ids":[1],"logprobs":{"token_logprobs":[NaN]}}]}',
    ],
    [
      'by an error of its own',
      500,
      '{"error":{"message":"Out of range float values are not JSON compliant: nan"}}',
    ],
    [
      'as a request that it refuses',
      400,
      '{"error":{"message":"Out of range float values are not JSON compliant: nan"}}',
    ],
  ])('a server that answers NaN (%s) is reported at once', async (_, status, body) => {
    const server = await toy();
    const { engine, clock } = await remote([server], { publisher: adapters });
    await engine.load(weights(1));
    let asked = 0;
    server.faults.before = ({ path }, response) => {
      if (path !== '/v1/completions') return false;
      asked++;
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      return true;
    };
    const startedMs = clock.now();
    await expect(engine.generate(ask())).rejects.toMatchObject({
      code: 'MODEL_REPLY',
      message: expect.stringMatching(
        /^http:\/\/127\.0\.0\.1:\d+ answered \/v1\/completions with NaN/,
      ),
    });
    expect([asked, clock.now() - startedMs]).toEqual([1, 0]);
    // So is one that does so while it is looked at.
    await expect(engine.load(weights(2))).rejects.toThrow(/answered .*NaN/);
  });

  it('older versions next to newer ones must not change', async () => {
    const server = await toy();
    const { engine } = await remote([server], { publisher: adapters });
    await engine.load(weights(1));
    let go = (): void => undefined;
    server.faults.before = (seen, response) => {
      const { body } = seen;
      const isOld = body?.model === 'policy-v1';
      if (isOld && body?.prompt_logprobs === undefined) {
        go = () => void answer(reply(8))(seen, response);
        return true;
      }
      if (isOld) server.faults.stuckAt = 8;
      else delete server.faults.stuckAt;
      return false;
    };
    const underWay = engine.generate(ask()).catch(() => undefined);
    while (server.active === 0) await new Promise(setImmediate);
    await expect(engine.load(weights(2))).rejects.toMatchObject({
      code: 'WEIGHTS_WRONG',
      message: expect.stringContaining("changed the log-probs of 'policy-v1'"),
    });
    go();
    await underWay;
  });

  it('nothing is refused if the trainer cannot be compared with', async () => {
    const server = await toy({ faults: { stuckAt: 3 } });
    const { engine } = await remote([server], { publisher: adapters });
    engine.expect(async () => null);
    await engine.load(weights(1));
    expect(await versionOf(engine)).toBe(1);
  });
});

describe('adapters on the servers', () => {
  it('are unloaded once unused, the last one when the engine is closed', async () => {
    const servers = [await toy(), await toy()];
    const { engine } = await remote(servers, { publisher: adapters });
    for (const version of [0, 1, 2, 3]) {
      await engine.load(weights(version));
      await engine.generate(ask());
    }
    for (const server of servers) {
      while (server.adapters().length > 1) await new Promise(setImmediate);
      expect(server.adapters()).toEqual(['policy-v3']);
    }
    await engine.close();
    for (const server of servers) expect(server.adapters()).toEqual([]);
  });

  it('do not keep an engine from closing when a server no longer answers', async () => {
    const server = await toy();
    const { engine, clock } = await remote([server], { publisher: adapters });
    await engine.load(weights(1));
    server.faults.before = () => true;
    const closed = engine.close();
    while (server.active === 0) await new Promise(setImmediate);
    clock.ring();
    await closed;
    await expect(engine.generate(ask())).rejects.toThrow(/closed/);
  });

  it('are not doubled while requests for the base model are in flight', async () => {
    const server = await toy();
    const { engine } = await remote([server], { publisher: adapters });
    await engine.load(weights(1));
    await engine.load(weights(0));
    let go = (): void => undefined;
    server.faults.before = (seen, response) => {
      const isHeld = seen.body?.model === 'base' && seen.body?.max_tokens === 5;
      if (isHeld) go = () => void answer(reply(5))(seen, response);
      return isHeld;
    };
    // The first adapter is gone by now; a second one may come, the third waits.
    const underWay = engine.generate(ask({ maxTokens: 5 }));
    while (server.active === 0) await new Promise(setImmediate);
    await engine.load(weights(2));
    expect(server.adapters()).toEqual(['policy-v2']);
    go();
    expect((await underWay).version).toBe(0);
  });
});

const reply = (count: number) => ({
  choices: [
    {
      token_ids: Array.from({ length: count }, () => 1),
      logprobs: { token_logprobs: Array.from({ length: count }, () => -1) },
    },
  ],
});

describe('a server that does not answer', () => {
  const cut = (server: ToyServer) => {
    server.faults.before = (seen, response) => {
      void reset(seen, response);
      return true;
    };
  };

  it('is waited for with repeated notices, and gets its weights when it is back', async () => {
    const server = await toy();
    const { engine, lines, clock } = await remote([server], { publisher: adapters });
    await engine.load(weights(1));
    cut(server);
    const startedMs = clock.now();
    const before = server.seen.length;
    const made = Promise.all([engine.generate(ask()), engine.generate(ask({ draws: ['b', 1] }))]);
    while (server.seen.length < before + 40) await new Promise(setImmediate);
    server.restart();
    server.faults.before = () => false;
    expect((await made).map(({ version }) => version)).toEqual([1, 1]);
    expect(clock.now() - startedMs).toBeGreaterThan(60_000);
    const told = lines.filter((line) => line.includes('no model server has answered'));
    expect(told.length).toBeGreaterThan(2);
    expect(told.at(-1)).toMatch(
      /answered \/\S+ for \d+ s \(.*read its log\. Work resumes by itself once it answers; after 600 s waiting requests fail$/,
    );
    expect(lines.join()).toMatch(/a model server answers again, after \d+ s/);
    expect(server.adapters()).toEqual(['policy-v1']);
  });

  it('is given up after the configured time', async () => {
    const server = await toy();
    const { engine, clock } = await remote([server], {
      publisher: adapters,
      awayMaxMs: 120_000,
    });
    await engine.load(weights(1));
    cut(server);
    const startedMs = clock.now();
    await expect(engine.generate(ask())).rejects.toMatchObject({ code: 'MODEL_DOWN' });
    expect(clock.now() - startedMs).toBeGreaterThan(100_000);
    expect(clock.now() - startedMs).toBeLessThan(130_000);
  });

  it.each([429, 503])(
    'or is overloaded (%d) is asked again at the time it named',
    async (status) => {
      const server = await toy();
      const { engine, clock } = await remote([server], { version: 0 });
      let left = 6;
      const busy = answer({ error: { message: 'later' } }, status, { 'retry-after': '20' });
      server.faults.before = (seen, response) => {
        if (left-- <= 0) return false;
        void busy(seen, response);
        return true;
      };
      const startedMs = clock.now();
      expect(await versionOf(engine)).toBe(0);
      expect(clock.now() - startedMs).toBeGreaterThanOrEqual(120_000);
    },
  );

  it('is not waited for once it answers wrongly', async () => {
    const server = await toy();
    const { engine, clock } = await remote([server], { version: 0 });
    server.faults.before = (seen, response) => {
      void answer('no JSON at all')(seen, response);
      return true;
    };
    const startedMs = clock.now();
    await expect(engine.generate(ask())).rejects.toMatchObject({ code: 'MODEL_DOWN' });
    expect(clock.now() - startedMs).toBeLessThan(10_000);
  });

  it.each([
    ['adapters', adapters],
    ['all weights', full],
  ])('while others take new weights gets them when it is back: %s', async (_, publisher) => {
    const servers = [await toy(), await toy()] as const;
    const { engine } = await remote(servers, { publisher });
    await engine.load(weights(1));
    cut(servers[1]);
    await engine.load(weights(2));
    servers[1].restart();
    servers[1].faults.before = () => false;
    const many = Array.from({ length: 6 }, (_, i) => ask({ draws: [`q${i}`, 0] }));
    const made = await Promise.all(many.map((each) => engine.generate(each)));
    expect(made.map(({ version }) => version)).toEqual([2, 2, 2, 2, 2, 2]);
    for (const { tokens, logProbs } of made) {
      const right = toyScores(
        2,
        [0, ...tokens].flatMap((token) => [0, token]),
      );
      expect([...logProbs]).toEqual([...right].filter((_, i) => i % 2 === 1).slice(1));
    }
  });
});

describe('whole policies on vLLM', () => {
  it('are reloaded, the caches emptied and the label set, in this order', async () => {
    const server = await toy();
    const { engine } = await remote([server], { publisher: full });
    await engine.load(weights(4));
    const paths = server.seen.map(({ path }) => path);
    const begun = paths.indexOf('/collective_rpc');
    expect(paths.slice(begun, begun + 3)).toEqual([
      '/collective_rpc',
      '/reset_prefix_cache',
      '/update_weight_version',
    ]);
    expect(server.bodies('/collective_rpc')).toEqual([
      { method: 'reload_weights', kwargs: { weights_path: '/share/policy-v4' } },
    ]);
  });

  it('are loaded again if a restart lost them, as the label shows', async () => {
    const server = await toy();
    const { engine } = await remote([server], { publisher: full });
    await engine.load(weights(4));
    server.restart();
    const made = await engine.generate(ask());
    expect(made.version).toBe(4);
    expect(server.bodies('/collective_rpc')).toHaveLength(2);
  });

  it('are checked by one request for the label at a time', async () => {
    const server = await toy();
    const { engine } = await remote([server], { publisher: full });
    await engine.load(weights(1));
    const before = server.bodies('/weight_info').length;
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => engine.generate(ask({ draws: ['q', i] }))),
    );
    expect(server.bodies('/weight_info').length - before).toBeLessThan(20);
  });
});

describe('a stop text', () => {
  /** As vLLM does where its decoder repeats the prompt, in which the text is: it ends after one token. */
  const misled: NonNullable<ToyServer['faults']['before']> = ({ body }, response) => {
    if (body?.stop === undefined) return false;
    const [token_ids, token_logprobs] = [[Number(body.seed) % 20], [-1]];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ choices: [{ token_ids, logprobs: { token_logprobs } }] }));
    return true;
  };
  /** Token 0 is `a`, 1 is `b` and so on. */
  const letters = {
    bytes: Uint8Array.from({ length: 20 }, (_, token) => 97 + token),
    ends: Int32Array.from({ length: 20 }, (_, token) => token + 1),
  };

  it('that a server reports wrongly ends nothing: the tokens decide', async () => {
    const server = await toy({ faults: { before: misled } });
    const { engine } = await remote([server], { version: 0, tokenBytes: letters });
    const whole = await engine.generate(ask());
    expect(whole.tokens).toHaveLength(8);
    const text = String.fromCharCode(...[...whole.tokens].map((token) => 97 + token));
    const made = await engine.generate(ask({ stopTexts: [text.slice(2, 4)] }));
    expect(made).toMatchObject({ finish: 'stop', stopText: text.slice(2, 4) });
    expect([...made.tokens]).toEqual([...whole.tokens].slice(0, 4));
  });
});
