/**
 * The gateway over every kind of policy: the embedded engine, real servers (`MILLRACE_VLLM` or
 * `MILLRACE_SGLANG` is the URL of one), and a training service that samples (`MILLRACE_TINKER`); `npm run
 * servers -- start vllm`, `sglang` or `skyrl` starts one. The checkpoint that they serve is on this machine.
 * `MILLRACE_TRAINER_PYTHON` is a Python with which `trainer/` trains what the servers serve.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from '@jest/globals';
import { sleepClock, systemClock } from '../../base/index.ts';
import { policyChat } from '../../gateway/index.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import { digestAt } from '../../model/checkpoints/digest.ts';
import { initialise } from '../../model/config.ts';
import type { TrainerEngine } from '../../model/engine.ts';
import { inMemory, loadChatTokenizer, writeFolder } from '../../model/hf/index.ts';
import { loadPolicy } from '../../model/hf/loadPolicy.ts';
import { initialAdapter, LORA_TARGETS } from '../../model/hf/lora.ts';
import { publishAdapter } from '../../model/remote/publish.ts';
import { RemoteEngine } from '../../model/remote/remoteEngine.ts';
import { servedFolders } from '../../model/remote/servedFolders.ts';
import { serverWires } from '../../model/remote/wires/wires.ts';
import { EmbeddedEngine } from '../../model/rollout/embeddedEngine.ts';
import { tokenBytes } from '../../model/rollout/tokenBytes.ts';
import { TinkerTrainer } from '../../model/tinker/trainer.ts';
import { EmbeddedTrainer } from '../../model/train/trainer.ts';
import { TINY } from '../model/rollout/tinyPolicy.ts';
import { writeByteBpe } from '../support/byteBpe.ts';
import { hermesTemplate } from '../support/chatTemplates.ts';
import { cutLine } from '../support/cutLine.ts';
import { type GatewayBackend, gatewayContract } from '../support/gatewayContract.ts';
import { servedAt } from '../support/servedCheckpoint.ts';
import { startTrainer, trainerPython } from '../support/trainerService.ts';

const clock = sleepClock(systemClock);
const CONTEXT = 2048;
const RANK = 32;

type Closing = (() => unknown)[];

function temporary(closing: Closing): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-backends-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function closed(closing: Closing): Promise<void> {
  for (const close of closing.reverse()) await close();
}

/** The policy's tokenizer with a template that takes functions, which tiny checkpoints lack. */
async function chatOf(root: string, folder: string): Promise<PolicyChat> {
  const own = join(folder, 'chat');
  mkdirSync(own);
  copyFileSync(join(root, 'tokenizer.json'), join(own, 'tokenizer.json'));
  const config = { eos_token: '<|im_end|>', chat_template: hermesTemplate() };
  writeFileSync(join(own, 'tokenizer_config.json'), JSON.stringify(config));
  return policyChat(await loadChatTokenizer(own), own);
}

gatewayContract('the engine of this process', { remote: false, compares: false }, async () => {
  const closing: Closing = [];
  const folder = temporary(closing);
  const files = join(folder, 'tokenizer');
  mkdirSync(files);
  writeByteBpe(files, hermesTemplate());
  const chat = policyChat(await loadChatTokenizer(files), files);
  const { tokenizer } = chat;
  const sizes = { hiddenSize: 64, intermediateSize: 128, vocabSize: tokenizer.vocabSize };
  const config = { ...TINY, ...sizes, maxPositions: CONTEXT };
  const root = join(folder, 'policy');
  await writeFolder(root, config, inMemory(initialise(config, 1)), {
    dtype: 'F32',
    tokenizer: files,
  });
  const trainer = await EmbeddedTrainer.create({ policy: root });
  closing.push(() => trainer.close());
  const engine = await EmbeddedEngine.create({
    weights: { version: 0, uri: root, digest: await digestAt(root) },
    ...{ threads: 1, rowsMax: 8, contextMax: CONTEXT, clock, tokenBytes: tokenBytes(tokenizer) },
  });
  closing.push(() => engine.close());
  return {
    ...{ chat, engine, trainer, lr: 3e-3, folder, apartMax: 1e-4 },
    close: () => closed(closing),
  };
});

/** A trainer of adapters: ours in this process, or `trainer/`. */
type Trains = (
  root: string,
  folder: string,
  closing: Closing,
) => Promise<{ readonly trainer: TrainerEngine; readonly apartMax: number }>;

const embedded: Trains = async (root, _, closing) => {
  const { config } = await loadPolicy(root);
  const initial = { rank: RANK, alpha: RANK, targets: LORA_TARGETS, base: root };
  const adapter = initialAdapter(config, initial, 1);
  const trainer = await EmbeddedTrainer.create({
    policy: root,
    adapter: { adapter, publish: 'adapter' },
  });
  closing.push(() => trainer.close());
  return { trainer, apartMax: 1e-4 };
};

const service: Trains = async (root, folder, closing) => {
  const checkpoints = join(folder, 'checkpoints');
  const started = await startTrainer({
    ...{ model: root, checkpoints, ranks: 1, more: ['--precision', 'float32'] },
  });
  closing.push(() => started.kill());
  const trainer = await TinkerTrainer.create({
    ...{ url: started.url, policy: root, rank: RANK, clock, seed: 1 },
  });
  closing.push(() => trainer.close());
  return { trainer, apartMax: 1e-4 };
};

async function onServer(
  server: 'vllm' | 'sglang',
  url: string,
  trains: Trains,
): Promise<GatewayBackend> {
  const closing: Closing = [];
  const folder = temporary(closing);
  const { model, root } = await servedAt(url);
  const chat = await chatOf(root, folder);
  const { trainer, apartMax } = await trains(root, folder, closing);
  const line = await cutLine(url);
  closing.push(() => line.close());
  const folders = servedFolders({ as: 'adapter', share: join(folder, 'share'), like: root });
  const engine = await RemoteEngine.create({
    ...{ wire: serverWires[server], urls: [line.url], model, version: 0, clock },
    ...{ contextMax: CONTEXT, tokenBytes: tokenBytes(chat.tokenizer) },
    publisher: publishAdapter((weights) => folders.of(weights)),
    canary: { sequences: [Int32Array.of(10, 20, 30, 40, 50, 60)], meanMax: null },
    onClose: () => folders.close(),
  });
  closing.push(() => engine.close());
  engine.expect(async (_, sequences) =>
    (await trainer.score(sequences)).map(({ logProbs }) => logProbs),
  );
  return {
    ...{ chat, engine, trainer, lr: 5e-3, folder, apartMax, line },
    close: () => closed(closing),
  };
}

async function onService(url: string): Promise<GatewayBackend> {
  const closing: Closing = [];
  const folder = temporary(closing);
  const reply = await fetch(`${url}/api/v1/get_server_capabilities`);
  const { supported_models: models } = (await reply.json()) as {
    readonly supported_models: readonly { readonly model_name: string }[];
  };
  const policy = models[0]!.model_name;
  const chat = await chatOf(policy, folder);
  const line = await cutLine(url);
  closing.push(() => line.close());
  const trainer = await TinkerTrainer.create({
    ...{ url: line.url, policy, rank: RANK, clock, seed: 1, publish: 'state' },
  });
  closing.push(() => trainer.close());
  const bytes = tokenBytes(chat.tokenizer);
  const engine = trainer.sampler({ contextMax: CONTEXT, tokenBytes: bytes });
  closing.push(() => engine.close());
  await engine.load({ version: 0, uri: policy, digest: null });
  return {
    ...{ chat, engine, trainer, lr: 5e-3, folder, apartMax: 0.05, line },
    close: () => closed(closing),
  };
}

function skipped(name: string, why: string): void {
  describe.skip(`the gateway over ${name}`, () => {
    test(`skipped: ${why}`, () => undefined);
  });
}

const NO_TRAINER =
  'MILLRACE_TRAINER_PYTHON names no Python with torch, transformers, peft and aiohttp';
for (const [server, url] of [
  ['vllm', process.env.MILLRACE_VLLM],
  ['sglang', process.env.MILLRACE_SGLANG],
] as const) {
  const name = `a real ${server}`;
  const trained = `${name} that has the weights of trainer/`;
  const none = `MILLRACE_${server.toUpperCase()} names none`;
  if (url === undefined) {
    skipped(name, none);
    skipped(trained, none);
    continue;
  }
  const traits = { remote: true, compares: true };
  gatewayContract(name, traits, () => onServer(server, url, embedded));
  if (trainerPython === '') skipped(trained, NO_TRAINER);
  else gatewayContract(trained, traits, () => onServer(server, url, service));
}
const tinker = process.env.MILLRACE_TINKER;
if (tinker === undefined) skipped('a training service', 'MILLRACE_TINKER names none');
else {
  const traits = { remote: true, compares: false };
  gatewayContract('a training service', traits, () => onService(tinker));
}
