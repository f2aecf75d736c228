/** Downloads from a Hub on loopback: what is fetched, where it is put, how it is resumed, what is refused. */

import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { findPolicy } from '../../../jobs/parts/policyPlace.ts';
import { modelName } from '../../../model/hub/cache.ts';
import { type PullOptions, type PullPlan, pullModel } from '../../../model/hub/pull.ts';
import { freshFolders } from '../../support/folder.ts';
import {
  COMMIT,
  type HubModel,
  type HubServer,
  refuseAs,
  startHub,
} from '../../support/hubServer.ts';

const fresh = freshFolders();
const NAME = 'Qwen/Qwen2.5-0.5B-Instruct';
const weights = Buffer.alloc(300_000, 'weights ');
const files = {
  '.gitattributes': Buffer.from('*.bin filter=lfs'),
  'README.md': Buffer.from('# Qwen'),
  'additional_chat_templates/tool_use.jinja': Buffer.from('{{ tools }}'),
  'chat_template.jinja': Buffer.from('{{ messages }}'),
  'config.json': Buffer.from('{"model_type":"qwen2"}'),
  'consolidated.safetensors': Buffer.alloc(5000, 'twice'),
  'model.safetensors': weights,
  'modeling_qwen.py': Buffer.from('import os'),
  'onnx/model.onnx': Buffer.alloc(5000, 'onnx'),
  'pytorch_model.bin': Buffer.alloc(5000, 'pickle'),
  'special_tokens_map.json': Buffer.from('{}'),
  'tokenizer.json': Buffer.from('{}'),
};
const NEEDED = [
  'additional_chat_templates/tool_use.jinja',
  'chat_template.jinja',
  'config.json',
  'model.safetensors',
  'special_tokens_map.json',
  'tokenizer.json',
];

let hub: HubServer;
afterEach(() => hub.close());

interface Pulled {
  readonly home: string;
  readonly said: string[];
  readonly plans: PullPlan[];
  /** Bytes that came. */
  readonly bytes: number[];
  readonly waits: number[];
  again(given?: Partial<PullOptions>): Promise<string>;
}

async function withHub(model: Partial<HubModel> = {}): Promise<Pulled> {
  hub = await startHub({ name: NAME, files, ...model });
  const home = fresh();
  const [said, plans, bytes, waits]: [string[], PullPlan[], number[], number[]] = [[], [], [], []];
  const again = (given: Partial<PullOptions> = {}): Promise<string> =>
    pullModel({
      name: modelName(NAME)!,
      folder: null,
      env: { HF_HOME: home, HF_ENDPOINT: hub.url },
      clock: { now: () => 0, sleep: async (ms) => void waits.push(ms) },
      signal: new AbortController().signal,
      onPlan: (plan) => plans.push(plan),
      onBytes: (more) => bytes.push(more),
      say: (line) => said.push(line),
      ...given,
    });
  return { home, said, plans, bytes, waits, again };
}

const filesOf = (asked: readonly string[]) => asked.filter((one) => one.includes('/resolve/'));
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

describe('a model that is pulled', () => {
  test('lies in the cache as huggingface_hub lays it out, with the files that a policy needs', async () => {
    const { home, plans, bytes, again } = await withHub();
    const at = await again();
    const model = join(home, 'hub', 'models--Qwen--Qwen2.5-0.5B-Instruct');
    expect(at).toBe(join(model, 'snapshots', COMMIT));
    const there = readdirSync(at, { recursive: true, encoding: 'utf8' });
    expect(there.filter((name) => !statSync(join(at, name)).isDirectory()).sort()).toEqual(NEEDED);
    expect(readFileSync(join(at, 'model.safetensors')).equals(weights)).toBe(true);
    expect(readlinkSync(join(at, 'model.safetensors'))).toBe(`../../blobs/${sha256(weights)}`);
    expect(readlinkSync(join(at, 'additional_chat_templates/tool_use.jinja'))).toMatch(
      /^\.\.\/\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/,
    );
    expect(readFileSync(join(model, 'refs', 'main'), 'utf8')).toBe(COMMIT);
    // Equal files are one in the cache.
    const needed = sum(NEEDED.map((name) => files[name as keyof typeof files].length)) - 2;
    expect(plans).toMatchObject([{ files: 5, bytes: needed, bytesHere: 0, commit: COMMIT }]);
    expect(sum(bytes)).toBe(needed);
    expect((await findPolicy(NAME, { HF_HOME: home })).path).toBe(at);
  });

  test('is not downloaded again; its files serve every revision', async () => {
    const { home, plans, again } = await withHub();
    await again();
    hub.asked.length = 0;
    const at = await again({ name: modelName(`${NAME}@v2`)! });
    expect(filesOf(hub.asked)).toEqual([]);
    expect(plans[1]).toMatchObject({ bytesHere: plans[0]!.bytes });
    expect((await findPolicy(`${NAME}@v2`, { HF_HOME: home })).path).toBe(at);
  });

  test('lies as plain files in a folder that is given', async () => {
    const { again } = await withHub();
    const folder = join(fresh(), 'models', 'qwen');
    expect(await again({ folder })).toBe(folder);
    expect(readFileSync(join(folder, 'model.safetensors')).equals(weights)).toBe(true);
    hub.asked.length = 0;
    await again({ folder });
    expect(filesOf(hub.asked)).toEqual([]);
    writeFileSync(join(folder, 'config.json'), '{"changed":1}');
    await expect(again({ folder })).rejects.toMatchObject({
      code: 'HUB',
      message: expect.stringMatching(/config\.json differs from the file on the Hub: remove it/),
    });
  });

  test('in shards comes with the shards of its index, not with another form of the weights', async () => {
    const shard = (i: number) => `model-0000${i}-of-00002.safetensors`;
    const sharded = {
      ...{ 'config.json': Buffer.from('{}'), 'model.safetensors.index.json': Buffer.from('{}') },
      ...{ [shard(1)]: Buffer.alloc(10, '1'), [shard(2)]: Buffer.alloc(10, '2') },
      'consolidated.safetensors': Buffer.alloc(20, '3'),
    };
    const { again } = await withHub({ files: sharded });
    expect(readdirSync(await again()).sort()).toEqual(
      ['config.json', shard(1), shard(2), 'model.safetensors.index.json'].sort(),
    );
  });
});

describe('a download that is interrupted', () => {
  test('goes on where the connection was cut, after a wait that grows', async () => {
    const { said, waits, bytes, again } = await withHub();
    hub.cuts.push(100_000, 0, 0, 50_000);
    const at = await again();
    expect(readFileSync(join(at, 'model.safetensors')).equals(weights)).toBe(true);
    expect(waits).toEqual([1000, 2000, 4000, 1000]);
    expect(said[0]).toMatch(/^model\.safetensors: .*; resuming in 1 s$/);
    const ranges = hub.asked.flatMap((one) => /bytes=\d+/.exec(one) ?? []);
    // Each is asked of the Hub and of the address that it redirects to.
    expect(ranges).toEqual([1, 1, 1, 1, 1, 1, 1.5, 1.5].map((n) => `bytes=${n * 100_000}`));
    expect(sum(bytes)).toBeGreaterThanOrEqual(weights.length);
    expect(
      readdirSync(join(at, '..', '..', 'blobs')).filter((one) => one.endsWith('incomplete')),
    ).toEqual([]);
  });

  test('gives up when nothing comes any more, keeps what came, and resumes at the next call', async () => {
    const { home, plans, again } = await withHub();
    hub.cuts.push(100_000, 0, 0, 0, 0, 0);
    await expect(again()).rejects.toMatchObject({
      code: 'HUB',
      message: expect.stringMatching(/cannot be reached .*check the network/),
    });
    const model = join(home, 'hub', 'models--Qwen--Qwen2.5-0.5B-Instruct');
    expect(statSync(join(model, 'blobs', `${sha256(weights)}.incomplete`)).size).toBe(100_000);
    // No program takes half a model for a whole one.
    expect(existsSync(join(model, 'snapshots'))).toBe(false);
    hub.asked.length = 0;
    const at = await again();
    expect(plans[1]!.bytesHere).toBeGreaterThanOrEqual(100_000);
    expect(hub.asked.filter((one) => one.includes('bytes=100000-299999'))).toHaveLength(2);
    expect(readFileSync(join(at, 'model.safetensors')).equals(weights)).toBe(true);
  });

  test('by the user ends at once, and resumes', async () => {
    const { again } = await withHub();
    hub.cuts.push(100_000);
    const controller = new AbortController();
    const clock = {
      now: () => 0,
      sleep: async () => {
        controller.abort();
        controller.signal.throwIfAborted();
      },
    };
    const { signal } = controller;
    await expect(again({ signal, clock })).rejects.toMatchObject({ name: 'AbortError' });
    const at = await again();
    expect(readFileSync(join(at, 'model.safetensors')).equals(weights)).toBe(true);
    expect(hub.asked.some((one) => one.includes('bytes=100000-'))).toBe(true);
  });

  test('and was changed meanwhile is thrown away', async () => {
    const { home, again } = await withHub();
    const blobs = join(home, 'hub', 'models--Qwen--Qwen2.5-0.5B-Instruct', 'blobs');
    mkdirSync(blobs, { recursive: true });
    const part = join(blobs, `${sha256(weights)}.incomplete`);
    writeFileSync(part, 'something else');
    await expect(again()).rejects.toMatchObject({
      message: expect.stringMatching(
        /^model\.safetensors does not have the digest .* removed: repeat/,
      ),
    });
    expect(existsSync(part)).toBe(false);
    expect(readFileSync(join(await again(), 'model.safetensors')).equals(weights)).toBe(true);
  });
});

describe('what cannot be pulled is refused with what to do', () => {
  const refused = async (given: Partial<PullOptions>, again: Pulled['again']): Promise<string> => {
    const failed = await again(given).then(
      () => null,
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({ code: 'HUB' });
    return (failed as Error).message;
  };
  const withToken = (home: string) => ({
    HF_HOME: home,
    HF_ENDPOINT: hub.url,
    HF_TOKEN: 'hf_secret',
  });

  test('a name that does not exist, with a token and without', async () => {
    const { home, again } = await withHub();
    const name = modelName('Qwen/None')!;
    expect(await refused({ name }, again)).toMatch(
      /there is no public model Qwen\/None at .*: check the name; for a private one put your token into HF_TOKEN/,
    );
    const said = await refused({ name, env: withToken(home) }, again);
    expect(said).toMatch(/refuses the token in HF_TOKEN for Qwen\/None/);
    expect(said).not.toContain('hf_secret');
  });

  test('a revision that does not exist', async () => {
    const { again } = await withHub();
    const name = modelName(`${NAME}@v9`)!;
    expect(await refused({ name }, again)).toMatch(/has no revision v9: see http/);
  });

  test('a gated model', async () => {
    const { home, again } = await withHub();
    hub.answer = (_, response) => {
      refuseAs(response, 403, 'GatedRepo', 'Access to model is restricted');
      return true;
    };
    expect(await refused({}, again)).toMatch(
      /is gated: ask for access on http.* and put your token into HF_TOKEN/,
    );
    expect(await refused({ env: withToken(home) }, again)).toMatch(
      /has no access: ask for it on http/,
    );
  });

  test('no network; what the cache has is taken instead', async () => {
    const { home, said, again } = await withHub();
    const env = { HF_HOME: home, HF_ENDPOINT: 'http://127.0.0.1:1' };
    expect(await refused({ env }, again)).toMatch(
      /127\.0\.0\.1:1 cannot be reached .*check the network, or set HF_ENDPOINT/,
    );
    const at = await again();
    expect(await again({ env })).toBe(at);
    expect(said.at(-1)).toMatch(/^warning: .*Using the copy in the cache/);
  });

  test('a model that is larger than the disk', async () => {
    const size = 2 ** 52;
    const { again } = await withHub({ lies: { 'model.safetensors': { size } } });
    expect(await refused({}, again)).toMatch(
      /needs 4503599\.63 GB more on the disk of .*: free some space, or choose another disk/,
    );
    expect(filesOf(hub.asked)).toEqual([]);
  });

  test('weights in other forms alone', async () => {
    const { 'model.safetensors': _, ...rest } = files;
    const { again } = await withHub({ files: rest });
    expect(await refused({}, again)).toMatch(
      /no safetensors weights: its pytorch_model\.bin is not supported/,
    );
  });

  test('a file with other bytes than its digest says, or more of them', async () => {
    const { again } = await withHub({ lies: { 'model.safetensors': { oid: 'f'.repeat(64) } } });
    expect(await refused({}, again)).toMatch(
      /does not have the digest that the Hub lists \(f{64}\)/,
    );
    await hub.close();
    const other = await withHub({ lies: { 'model.safetensors': { size: 100_000 } } });
    expect(await refused({}, other.again)).toMatch(/is longer than the Hub says/);
  });

  test('digests and paths that would leave the cache', async () => {
    const { again } = await withHub({ lies: { 'config.json': { oid: '../../evil' } } });
    expect(await refused({}, again)).toMatch(
      /lists .*config\.json without a usable size or digest/,
    );
    expect([
      modelName('a/../b'),
      modelName('a/b@../../x'),
      modelName('..'),
      modelName('a b'),
    ]).toEqual([null, null, null, null]);
  });
});

test('the token goes to the Hub alone, not to the address that it redirects to', async () => {
  const { home, again } = await withHub();
  await again({ env: { HF_HOME: home, HF_ENDPOINT: hub.url, HF_TOKEN: 'hf_secret' } });
  const seen = hub.asked.map((one, i) => [one.split(' ')[1]!, hub.logins[i]] as const);
  expect(seen.filter(([path]) => path === '/model.safetensors')).toEqual([
    ['/model.safetensors', undefined],
  ]);
  expect(
    seen.filter(([path, login]) => path !== '/model.safetensors' && login !== 'Bearer hf_secret'),
  ).toEqual([]);
});
