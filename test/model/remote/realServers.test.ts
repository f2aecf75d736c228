/**
 * The contract of policy engines over real servers, where `MILLRACE_VLLM` or `MILLRACE_SGLANG` names the URL
 * of one (`npm run servers -- start vllm`): it serves a checkpoint of this machine, whose weights are changed
 * while it runs. `MILLRACE_TIED=yes`: one whose head is its embeddings (`npm run servers -- start vllm
 * --tied`).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { draws } from '../../../base/draws.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { digestAt } from '../../../model/checkpoints/digest.ts';
import type { Tensor } from '../../../model/config.ts';
import type { Checkpoint } from '../../../model/engine.ts';
import { loadPolicy } from '../../../model/hf/loadPolicy.ts';
import { initialAdapter, LORA_TARGETS } from '../../../model/hf/lora.ts';
import { saveAdapterFile } from '../../../model/hf/publishedAdapter.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { publishAdapter, publishFromDisk } from '../../../model/remote/publish.ts';
import { RemoteEngine } from '../../../model/remote/remoteEngine.ts';
import { type ServedAs, servedFolders } from '../../../model/remote/servedFolders.ts';
import { serverWires } from '../../../model/remote/wires/wires.ts';
import { tokenBytes } from '../../../model/rollout/tokenBytes.ts';
import { loadTokenizer } from '../../../model/tokenizers/loadTokenizer.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { type ContractFixture, policyEngineContract } from '../../support/policyEngineContract.ts';
import { type ServedCheckpoint, servedAt } from '../../support/servedCheckpoint.ts';

const MINUTES = 10 * 60_000;
const clock = sleepClock({ now: () => Date.now() });

/** Somewhat different weights of the same shapes. */
function changed({ shape, data }: Tensor, name: string): Tensor {
  const stream = draws('changed', name);
  const spread = shape.length > 1 ? 0.5 / Math.sqrt(shape[1]!) : 0.05;
  return { shape, data: data.map((value, i) => value + spread * (2 * stream.uniform(i) - 1)) };
}

function onServer(server: keyof typeof serverWires, as: ServedAs, url: string): void {
  let folder = '';
  let served: ServedCheckpoint;
  let fixture: ContractFixture;
  const trainers: EmbeddedTrainer[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-real-'));
    served = await servedAt(url);
    const first = await loadPolicy(served.root);
    const path = join(folder, '1.safetensors');
    const merged = join(folder, 'merged.safetensors');
    if (as === 'full') {
      const tensors = new Map([...first.tensors].map(([name, of]) => [name, changed(of, name)]));
      await savePolicy(path, { config: first.config, tensors });
      trainers.push(await EmbeddedTrainer.create({ policy: served.root }));
      trainers.push(await EmbeddedTrainer.create({ policy: path }));
    } else {
      const initial = { rank: 8, alpha: 16, targets: LORA_TARGETS, base: served.root };
      const adapter = initialAdapter(first.config, initial, 1);
      for (const [name, { b }] of adapter.modules) b.data.set(changed(b, name).data);
      await saveAdapterFile(path, adapter);
      trainers.push(await EmbeddedTrainer.create({ policy: served.root }));
      const trained = await EmbeddedTrainer.create({
        policy: served.root,
        adapter: { adapter, publish: 'merged' },
      });
      await trained.write(merged);
      await trained.close();
      trainers.push(await EmbeddedTrainer.create({ policy: merged }));
    }
    const versions: [Checkpoint, Checkpoint] = [
      { version: 0, uri: served.root, digest: await digestAt(served.root) },
      { version: 1, uri: path, digest: await digestAt(path) },
    ];
    const score = async (version: number, tokens: Int32Array) =>
      (await trainers[version]!.score([tokens]))[0]!.logProbs;
    fixture = { versions, score };
  }, MINUTES);

  afterAll(async () => {
    for (const trainer of trainers) await trainer.close();
    await rm(folder, { recursive: true });
  });

  const tied = process.env.MILLRACE_TIED === 'yes';
  if (tied && server === 'vllm' && as === 'full') {
    it('vLLM with tied embeddings on a CPU is refused at the start, as it would keep its old output head', async () => {
      const opened = RemoteEngine.create({
        ...{ wire: serverWires[server], urls: [url], model: served.model, clock, tied },
        publisher: publishFromDisk(async () => folder),
      });
      await expect(opened).rejects.toMatchObject({
        code: 'WEIGHTS_REFUSED',
        message: expect.stringContaining('engine.publish=adapter'),
      });
    });
    return;
  }

  policyEngineContract(
    `a real ${server}, ${as}`,
    () => fixture,
    async ([first]) => {
      const folders = servedFolders({ as, share: join(folder, 'share'), like: served.root });
      const publisher = as === 'adapter' ? publishAdapter : publishFromDisk;
      const bytes = tokenBytes(await loadTokenizer(served.root));
      const engine = await RemoteEngine.create({
        wire: serverWires[server],
        urls: [url],
        model: served.model,
        contextMax: 60,
        clock,
        publisher: publisher((weights) => folders.of(weights)),
        tokenBytes: bytes,
        tied,
        canary: { sequences: [Int32Array.of(10, 20, 30, 40, 50, 60)], meanMax: null },
        onClose: () => folders.close(),
        report: (line) => console.log(line),
      });
      const [base, other] = trainers;
      engine.expect(async ({ version }, sequences) =>
        (await (version === 0 ? base : other)!.score(sequences)).map(({ logProbs }) => logProbs),
      );
      await engine.load(first);
      return { engine, bytes, close: () => engine.close() };
    },
    // on a GPU it is started with --enable-deterministic-inference, which its CPU attention refuses
    { seeds: server !== 'sglang' || process.env.MILLRACE_SGLANG_SEEDS === 'yes' },
  );
}

const urls = { vllm: process.env.MILLRACE_VLLM, sglang: process.env.MILLRACE_SGLANG };
for (const server of ['vllm', 'sglang'] as const) {
  const url = urls[server];
  if (url === undefined) {
    describe.skip(`a real ${server}: MILLRACE_${server.toUpperCase()} names none`, () => {
      it('keeps the contract of policy engines', () => expect(url).toBeDefined());
    });
    continue;
  }
  const only = process.env.MILLRACE_PUBLISH;
  // All weights last: a server that has a run's is refused adapters until it is restarted.
  for (const as of ['adapter', 'full'] as const) {
    if (only !== undefined && only !== as) continue;
    describe(`${server}, ${as}`, () => onServer(server, as, url));
  }
}
