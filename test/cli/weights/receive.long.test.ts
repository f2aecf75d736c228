/**
 * Weights to machines without a shared disk: real receivers over HTTP, and what a publisher sends them. The model
 * servers are toys of vLLM's shape.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { Listening } from '../../../base/http/index.ts';
import { main } from '../../../cli/program.ts';
import { serveReceiver } from '../../../cli/weights/service.ts';
import { WeightsStore } from '../../../cli/weights/store.ts';
import { digestAt } from '../../../model/checkpoints/digest.ts';
import type { Checkpoint } from '../../../model/engine.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { labelOf, publishAdapter, publishFromDisk } from '../../../model/remote/publish.ts';
import { Receivers, type ReceiversOptions } from '../../../model/remote/receivers.ts';
import { RemoteEngine } from '../../../model/remote/remoteEngine.ts';
import { serverEngine, serverSettings } from '../../../model/remote/serverEngine.ts';
import { vllm } from '../../../model/remote/wires/vllm.ts';
import { request as asked } from '../../model/rollout/fakeForward.ts';
import { strongWeights, TINY } from '../../model/rollout/tinyPolicy.ts';
import { freshFolders } from '../../support/folder.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { tinyWords } from '../../support/tinyWords.ts';
import { type ToyServer, toyServer } from '../../support/toyServer.ts';
import { until } from '../../support/until.ts';
import { fakeIo } from '../support/fakeIo.ts';

const fresh = freshFolders();
const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

interface Receiver {
  readonly url: string;
  readonly folder: string;
  readonly said: string[];
  readonly store: WeightsStore;
  readonly listening: Listening;
}

interface Given {
  readonly folder?: string;
  readonly keep?: number;
  readonly token?: string;
  readonly port?: number;
  readonly seenAs?: string;
}

async function receiver(given: Given = {}): Promise<Receiver> {
  const { keep = 3, token = '', port = 0, folder = fresh(), seenAs = folder } = given;
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  const clock = { now: () => 0 };
  const store = await WeightsStore.open({ folder, seenAs, keep, clock, say });
  const failed = (error: unknown): void => say(String(error));
  const listening = await serveReceiver({
    ...{ host: '127.0.0.1', port, token, tokenEnv: 'TOKEN', store, failed },
  });
  open.push(listening);
  return { url: listening.url, folder, said, store, listening };
}

function sender(options: Partial<ReceiversOptions> & Pick<ReceiversOptions, 'receivers'>) {
  const clock = impatientClock();
  const lines: string[] = [];
  const made = new Receivers({
    ...{ servers: options.receivers, clock, report: (line) => lines.push(line) },
    ...options,
  });
  open.push(made);
  return { ...made, carry: made.carry, lines, clock };
}

const big = Buffer.alloc(3_000_000, 'numbers ');

/** A version's folder as it is published. */
function version(n: number, more: Readonly<Record<string, string | Buffer>> = {}): string {
  const folder = join(fresh(), `policy-v${n}`);
  mkdirSync(join(folder, 'additional_chat_templates'), { recursive: true });
  const files = {
    ...{ 'config.json': '{}', 'tokenizer.json': Buffer.alloc(100_000, 'same in all') },
    ...{ 'additional_chat_templates/tool_use.jinja': '{{ tools }}' },
    ...{ 'model.safetensors': Buffer.concat([big, Buffer.from(`${n}`)]), ...more },
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

function same(one: string, other: string): boolean {
  const names = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(folder, name)).isFile())
      .sort();
  const bytes = (folder: string, name: string) => readFileSync(join(folder, name));
  return (
    names(one).join() === names(other).join() &&
    names(one).every((name) => bytes(one, name).equals(bytes(other, name)))
  );
}

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

/** One request as anyone may send it; `cut` = the connection ends after the body. */
function send(
  url: string,
  { method = 'PUT', body = Buffer.alloc(0), cut = false, headers = {} as Record<string, string> },
): Promise<{ status: number; said: string }> {
  return new Promise((resolve, reject) => {
    const length = cut ? body.length + 1000 : body.length;
    const sent = request(url, { method, headers: { 'content-length': length, ...headers } });
    sent.on('error', (error) => (cut ? resolve({ status: 0, said: '' }) : reject(error)));
    sent.on('response', (response) => {
      let said = '';
      response.on('data', (chunk) => {
        said += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, said }));
    });
    if (cut) sent.write(body, () => sent.destroy());
    else sent.end(body);
  });
}

describe('a version that is sent to a receiver', () => {
  test('is there whole, readable by all, and the receiver says where', async () => {
    const { url, folder, said } = await receiver({ seenAs: '/mnt/weights/' });
    const { carry } = sender({ receivers: [url] });
    const from = version(3);
    expect(await carry(from, 0)).toEqual({
      kind: 'answer',
      value: '/mnt/weights/policy-v3',
      server: 0,
    });
    const place = join(folder, 'policy-v3');
    expect(same(place, from)).toBe(true);
    expect(statSync(join(place, 'model.safetensors')).mode & 0o777).toBe(0o644);
    expect(statSync(place).mode & 0o777).toBe(0o755);
    expect(said).toEqual([expect.stringMatching(/^received policy-v3, 3\.0 MiB$/)]);
  });

  test('is sent once; of the next one only what changed', async () => {
    const { url, folder, store } = await receiver();
    const { carry } = sender({ receivers: [url] });
    const pieces: string[] = [];
    const take = store.take.bind(store);
    store.take = (piece, body) => {
      pieces.push(piece.sha256);
      return take(piece, body);
    };
    const first = version(1);
    await Promise.all([carry(first, 0), carry(first, 0)]);
    expect(pieces).toHaveLength(4);
    await carry(first, 0);
    expect(pieces).toHaveLength(4);
    const second = version(2);
    await carry(second, 0);
    expect(pieces.slice(4)).toEqual([sha256(readFileSync(join(second, 'model.safetensors')))]);
    expect(same(join(folder, 'policy-v2'), second)).toBe(true);
  });

  test('pushes out the oldest, with the files that no other needs; other folders stay', async () => {
    const { url, folder } = await receiver({ keep: 2 });
    mkdirSync(join(folder, 'mine'));
    mkdirSync(join(folder, 'policy-v77'));
    const { carry } = sender({ receivers: [url] });
    const all = [1, 2, 3].map((n) => version(n));
    await carry(all[0]!, 0);
    await carry(all[1]!, 0);
    // What was asked for last is not the oldest.
    await carry(all[0]!, 0);
    await carry(all[2]!, 0);
    expect(readdirSync(folder).sort()).toEqual([
      '.millrace',
      'mine',
      'policy-v1',
      'policy-v3',
      'policy-v77',
    ]);
    // Two weights, and three that both share.
    expect(readdirSync(join(folder, '.millrace', 'files'))).toHaveLength(5);
  });

  test('is resumed where the connection was cut, by another process of the receiver too', async () => {
    const first = await receiver();
    const from = version(1);
    const content = readFileSync(join(from, 'model.safetensors'));
    const digest = sha256(content);
    const to = `/files/${digest}?from=0&bytes=${content.length}`;
    await send(first.url + to, { body: content.subarray(0, 1_000_000), cut: true });
    const part = join(first.folder, '.millrace', 'files', `${digest}.part`);
    await until(() => existsSync(part) && statSync(part).size === 1_000_000);
    await first.listening.close();
    const again = await receiver({ folder: first.folder });
    const starts: number[] = [];
    const take = again.store.take.bind(again.store);
    again.store.take = (piece, body) => {
      if (piece.sha256 === digest) starts.push(piece.from);
      return take(piece, body);
    };
    await sender({ receivers: [again.url] }).carry(from, 0);
    expect(starts).toEqual([1_000_000]);
    expect(same(join(again.folder, 'policy-v1'), from)).toBe(true);
    expect(existsSync(part)).toBe(false);
  });

  test('goes to two receivers, each of its server', async () => {
    const both = [await receiver(), await receiver()];
    const { carry } = sender({ receivers: both.map(({ url }) => url) });
    const from = version(5);
    const places = await Promise.all([carry(from, 0), carry(from, 1)]);
    expect(places).toMatchObject(both.map(({ folder }) => ({ value: join(folder, 'policy-v5') })));
    for (const { folder } of both) expect(same(join(folder, 'policy-v5'), from)).toBe(true);
  });
});

describe('a receiver refuses', () => {
  test('bytes that have another digest, and keeps none of them', async () => {
    const { url, folder } = await receiver();
    const path = `/files/${'a'.repeat(64)}?from=0&bytes=5`;
    const { status, said } = await send(url + path, { body: Buffer.from('wrong') });
    expect({ status, said }).toMatchObject({
      status: 422,
      said: expect.stringMatching(/arrived with digest [0-9a-f]{64} instead of a{64}/),
    });
    expect(readdirSync(join(folder, '.millrace', 'files'))).toEqual([]);
    const more = await send(url + path, { body: Buffer.from('longer than that') });
    expect(more).toMatchObject({
      status: 400,
      said: expect.stringContaining('more than the 5 bytes'),
    });
  });

  test('names that lead elsewhere', async () => {
    const { url, folder } = await receiver();
    const file = { sha256: 'a'.repeat(64), bytes: 1 };
    const post = (label: string, name: string) =>
      send(`${url}/versions/${label}`, {
        method: 'POST',
        body: Buffer.from(JSON.stringify({ files: { [name]: file } })),
      });
    for (const name of ['../evil', '/etc/passwd', 'a/../b', 'a/b/c', '.hidden', 'a/.', 'a\\b', ''])
      expect((await post('policy-v1', name)).status).toBe(400);
    for (const label of ['mine', '..', '%2e%2e%2fx', 'policy-v1%2f..', '.millrace'])
      expect([400, 404, 405]).toContain((await post(label, 'config.json')).status);
    for (const path of [
      '/files/..%2f..%2fx?from=0&bytes=1',
      `/files/${'A'.repeat(64)}?from=0&bytes=1`,
      '/files/x?from=-1&bytes=1',
    ])
      expect([400, 404]).toContain((await send(url + path, {})).status);
    expect(readdirSync(folder)).toEqual(['.millrace']);
  });

  test('who has no token, and web pages', async () => {
    const { url } = await receiver({ token: 'a secret' });
    const health = (headers: Record<string, string>) =>
      send(`${url}/healthz`, { method: 'GET', headers });
    expect((await health({})).status).toBe(401);
    expect((await health({ authorization: 'Bearer a secret' })).status).toBe(200);
    const page = { authorization: 'Bearer a secret', origin: 'http://evil' };
    expect((await health(page)).status).toBe(403);
    process.env.TEST_RECEIVER_TOKEN = 'a secret';
    const right = sender({ receivers: [url], keyEnv: 'TEST_RECEIVER_TOKEN' });
    expect(await right.carry(version(1), 0)).toMatchObject({ kind: 'answer' });
    await expect(sender({ receivers: [url] }).carry(version(1), 0)).rejects.toMatchObject({
      code: 'MODEL_ACCESS',
    });
    delete process.env.TEST_RECEIVER_TOKEN;
  });

  test('a version that the disk has no room for, in a sentence that the publisher passes on', async () => {
    const { url } = await receiver();
    const file = { sha256: 'a'.repeat(64), bytes: 2 ** 52 };
    const body = Buffer.from(JSON.stringify({ files: { 'model.safetensors': file } }));
    const { status, said } = await send(`${url}/versions/policy-v1`, { method: 'POST', body });
    expect(status).toBe(507);
    expect(said).toMatch(
      /policy-v1 needs 4096\.0 TiB more on the disk of .*: free some space, or keep fewer versions \(--keep, now 3\)/,
    );
  });
});

describe('model servers without a shared disk', () => {
  const weights = (n: number): Checkpoint => ({ version: n, uri: version(n), digest: null });

  async function toys(n: number): Promise<ToyServer[]> {
    const made = await Promise.all(Array.from({ length: n }, () => toyServer()));
    open.push(...made);
    return made;
  }

  async function engineOn(
    servers: readonly ToyServer[],
    receivers: readonly string[],
    as: 'adapter' | 'full',
  ) {
    const clock = impatientClock((ms) => ms >= 120_000 || ms === 5_000);
    const lines: string[] = [];
    const urls = servers.map(({ url }) => url);
    const awayMaxMs = 60_000;
    const report = (line: string): void => void lines.push(line);
    const sending = new Receivers({ receivers, servers: urls, clock, awayMaxMs, report });
    const publisher = as === 'adapter' ? publishAdapter : publishFromDisk;
    const engine = await RemoteEngine.create({
      ...{ urls, wire: vllm, model: 'base', clock, awayMaxMs, report },
      publisher: publisher(({ uri }) => uri, { carry: sending.carry }),
      onClose: () => sending.close(),
    });
    open.push(engine);
    return { engine, lines, clock };
  }

  test('load the folder that their own receiver names', async () => {
    const [servers, receivers] = [await toys(2), [await receiver(), await receiver()]];
    const { engine } = await engineOn(
      servers,
      receivers.map(({ url }) => url),
      'adapter',
    );
    await engine.load(weights(4));
    servers.forEach((server, i) => {
      expect(server.bodies('/v1/load_lora_adapter')).toMatchObject([
        { lora_name: 'policy-v4', lora_path: join(receivers[i]!.folder, 'policy-v4') },
      ]);
    });
    expect((await engine.generate(asked([1, 2, 3]))).version).toBe(4);
  });

  test('on one machine share a receiver, for all weights too', async () => {
    const [servers, { url, folder, said }] = [await toys(2), await receiver()];
    const { engine } = await engineOn(servers, [url], 'full');
    await engine.load(weights(2));
    for (const server of servers) {
      const bodies = server.seen.map(({ body }) => JSON.stringify(body));
      expect(bodies.some((body) => body.includes(join(folder, 'policy-v2')))).toBe(true);
    }
    expect(said).toHaveLength(1);
  });

  test('whose receiver is away are waited for: the version is published when it is back', async () => {
    const [servers, gone] = [await toys(2), await receiver()];
    const other = await receiver();
    const { engine, lines, clock } = await engineOn(servers, [gone.url, other.url], 'adapter');
    const port = gone.listening.port;
    await gone.listening.close();
    let back: Promise<Receiver> | null = null;
    const sleep = clock.sleep.bind(clock);
    clock.sleep = async (ms, signal) => {
      if (lines.some((line) => /^no weights receiver has answered/.test(line))) {
        back ??= receiver({ folder: gone.folder, port });
        await back;
      }
      return sleep(ms, signal);
    };
    await engine.load(weights(7));
    expect(lines.join('\n')).toMatch(
      /127\.0\.0\.1:\d+ does not answer .*; its server gets no new weights until it does/,
    );
    expect(lines.join('\n')).toMatch(/no weights receiver has answered .*check that it is running/);
    expect(servers.map((server) => server.adapters())).toEqual([['policy-v7'], ['policy-v7']]);
  });

  test('whose receiver stays away, or refuses, fail the version with its sentence', async () => {
    const [servers, gone] = [await toys(1), await receiver()];
    const { engine } = await engineOn(servers, [gone.url], 'adapter');
    await gone.listening.close();
    await expect(engine.load(weights(1))).rejects.toMatchObject({
      code: 'WEIGHTS_REFUSED',
      message: expect.stringMatching(
        /its weights receiver http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/,
      ),
    });
    const bad = { version: 2, uri: join(fresh(), 'not-a-version'), digest: null };
    mkdirSync(bad.uri);
    const { url } = await receiver();
    const second = await engineOn(servers, [url], 'adapter');
    await expect(second.engine.load(bad)).rejects.toMatchObject({
      code: 'WEIGHTS_REFUSED',
      message: expect.stringMatching(
        /its weights receiver .*not-a-version is not the name of a version/,
      ),
    });
  });

  test('get their weights from a run by its settings', async () => {
    const [[server], { url, folder }] = [await toys(1), await receiver()];
    const from = fresh();
    const policy = join(from, 'policy.safetensors');
    await savePolicy(policy, { config: TINY, tensors: strongWeights(TINY, 1) });
    const settings = z.object(serverSettings).parse({
      ...{ urls: server!.url, model: 'base', publish: 'full', canaryMax: 0, receivers: url },
    });
    // Texts that it cannot encode are replaced by drawn ones, which the toy knows.
    const tokenizer = { ...tinyWords, encode: () => Int32Array.of(1) };
    const place = {
      ...{ policy, policyName: 'base', tokenizer, contextMax: 50 },
      ...{ folder: from, clock: impatientClock(), print: () => undefined },
    };
    const engine = await serverEngine('vllm', settings, place);
    open.push(engine);
    await engine.load({ version: 1, uri: policy, digest: await digestAt(policy) });
    const [label] = readdirSync(folder).filter((name) => name.startsWith('policy-v1-'));
    expect(server!.bodies('/collective_rpc')).toMatchObject([
      { kwargs: { weights_path: join(folder, label!) } },
    ]);
    expect(same(join(folder, label!), join(from, 'published', label!))).toBe(true);
    const shared = { ...settings, seenAs: '/mnt' };
    await expect(serverEngine('vllm', shared, place)).rejects.toMatchObject({ code: 'USAGE' });
    const away = { ...settings, receivers: 'http://127.0.0.1:1', awayMaxMs: 0 };
    await expect(serverEngine('vllm', away, place)).rejects.toMatchObject({
      code: 'WEIGHTS_REFUSED',
      message: expect.stringMatching(
        /receiver http:\/\/127\.0\.0\.1:1 does not answer .*start it with/,
      ),
    });
  });

  test('need a receiver each, or one on their machine', () => {
    const clock = impatientClock();
    const servers = ['http://gpu1:8000', 'http://gpu1:8001', 'http://gpu2:8000'];
    const made = (receivers: readonly string[]) => () =>
      new Receivers({ receivers, servers, clock });
    expect(made(['http://gpu2:8600', 'http://gpu1:8600'])).not.toThrow();
    expect(made(['http://gpu1:8600', 'http://gpu3:8600'])).toThrow(
      /engine\.receivers has no receiver on gpu2, the host of http:\/\/gpu2:8000: give one receiver per server/,
    );
  });
});

describe('millrace weights receive', () => {
  test('needs a token where other machines reach it', async () => {
    const io = fakeIo(fresh());
    const args = ['weights', 'receive', '--folder', 'in', '--port', '0', '--host', '0.0.0.0'];
    expect(await main(args, io)).toBe(2);
    expect(io.stderr().join()).toMatch(
      /put a token into MILLRACE_WEIGHTS_TOKEN .*engine\.receiverKeyEnv/,
    );
  });

  test('receives until it is interrupted', async () => {
    const cwd = fresh();
    const io = fakeIo(cwd);
    const ended = main(['weights', 'receive', '--folder', 'in', '--port', '0'], io);
    const [, url] = await until(() => /at (http:\S+) into/.exec(io.stderr().join()));
    const from = version(1);
    const { carry, ...rest } = sender({ receivers: [url!] });
    expect(await carry(from, 0)).toMatchObject({
      value: join(cwd, 'in', labelOf({ version: 1, uri: '', digest: null })),
    });
    expect(rest.lines).toEqual([]);
    for (const each of open.splice(0)) await each.close();
    io.interrupt();
    expect(await ended).toBe(0);
    expect(io.stderr()).toContainEqual(expect.stringMatching(/^received policy-v1/));
  });
});
