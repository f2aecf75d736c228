/**
 * One contract over the engine of this process and the same engine behind servers of both kinds.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import type { Checkpoint, PolicyEngine } from '../../../model/engine.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { type Publisher, publishAdapter, publishFromDisk } from '../../../model/remote/publish.ts';
import { RemoteEngine, type RemoteEngineOptions } from '../../../model/remote/remoteEngine.ts';
import { sglang } from '../../../model/remote/wires/sglang.ts';
import { vllm } from '../../../model/remote/wires/vllm.ts';
import { EmbeddedEngine } from '../../../model/rollout/embeddedEngine.ts';
import { tokenBytes } from '../../../model/rollout/tokenBytes.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { type EngineServerOptions, engineServer } from '../../support/engineServer.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import {
  type ContractFixture,
  type EngineUnderTest,
  policyEngineContract,
} from '../../support/policyEngineContract.ts';
import { strongWeights, TINY } from '../rollout/tinyPolicy.ts';

let folder = '';
let fixture: ContractFixture;
const trainers: EmbeddedTrainer[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-engines-'));
  const save = async (version: number): Promise<Checkpoint> => {
    const path = join(folder, `${version}.safetensors`);
    const tensors = strongWeights(TINY, version + 1);
    const { sha256 } = await savePolicy(path, { config: TINY, tensors });
    trainers.push(await EmbeddedTrainer.create({ policy: path }));
    return { version, uri: path, digest: sha256 };
  };
  const versions = [await save(0), await save(1)] as const;
  const score = async (version: number, tokens: Int32Array) =>
    (await trainers[version]!.score([tokens]))[0]!.logProbs;
  fixture = { versions, score };
});

afterAll(async () => {
  for (const trainer of trainers) await trainer.close();
  await rm(folder, { recursive: true });
});

const clock = { now: () => 0 };
/** Two characters a token. */
const bytes = tokenBytes({
  vocabSize: TINY.vocabSize,
  endToken: 0,
  encode: () => Int32Array.of(),
  decode: (tokens) =>
    Array.from(tokens, (id) => String.fromCharCode(33 + id, 33 + ((7 * id) % 50))).join(''),
  id: () => 0,
});
const embedded = (weights: Checkpoint) =>
  EmbeddedEngine.create({
    weights,
    threads: 1,
    rowsMax: 8,
    contextMax: 60,
    clock,
    tokenBytes: bytes,
  });

/** A server with an engine of its own, and the remote engine before it. */
async function behindServer(
  versions: ContractFixture['versions'],
  options: Pick<RemoteEngineOptions, 'wire'> & { readonly publisher: Publisher },
): Promise<EngineUnderTest> {
  const open: { close(): Promise<void> }[] = [];
  const own = <T extends { close(): Promise<void> }>(resource: T): T => {
    open.push(resource);
    return resource;
  };
  const serve = async () => {
    const engine: PolicyEngine = own(await embedded(versions[0]));
    const parts: EngineServerOptions = {
      engine,
      load: (path) => engine.load({ version: 0, uri: path, digest: null }),
      adapter: async (path) => own(await embedded({ version: 0, uri: path, digest: null })),
    };
    return own(await engineServer(parts)).url;
  };
  const urls = [await serve()];
  const engine = await RemoteEngine.create({
    ...options,
    urls,
    model: 'base',
    clock: impatientClock(),
    version: 0,
    tokenBytes: bytes,
  });
  return {
    engine,
    bytes,
    async close() {
      await engine.close();
      for (const each of open.reverse()) await each.close();
    },
  };
}

policyEngineContract(
  'the embedded engine',
  () => fixture,
  async ([first]) => {
    const engine = await embedded(first);
    return { engine, bytes, close: () => engine.close() };
  },
);

policyEngineContract(
  'vLLM with adapters',
  () => fixture,
  (versions) =>
    behindServer(versions, {
      wire: vllm,
      publisher: publishAdapter(({ uri }) => uri),
    }),
);

policyEngineContract(
  'SGLang from disk',
  () => fixture,
  (versions) =>
    behindServer(versions, {
      wire: sglang,
      publisher: publishFromDisk(({ uri }) => uri),
    }),
);
