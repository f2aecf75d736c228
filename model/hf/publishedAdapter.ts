/**
 * A low-rank adapter as a run publishes it: one safetensors file that names the policy it goes on.
 *
 * A few megabytes a version instead of the whole policy, whose digest is in the file: what an adapter goes on
 * is part of what it is. The factors have PEFT's names; the metadata has what PEFT stores with them
 * (hf/adapterFiles.ts reads and writes PEFT's own folders, for use elsewhere).
 */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { DecoderConfig, Tensor } from '../config.ts';
import type { MappedFile } from '../lowering/weightPlan.ts';
import type { Policy } from '../policyFile.ts';
import { checkpointError } from './checkpointError.ts';
import { digestError } from './digestError.ts';
import { fileDigest } from './fileDigest.ts';
import { loadPolicy, openPolicy } from './loadPolicy.ts';
import { checkAdapter, type LoraAdapter, type LoraFactors, mergedWeights } from './lora.ts';
import { openTensorFile } from './tensorFile.ts';
import { type WrittenFile, writeTensorFile } from './writeTensorFile.ts';

/**
 * The metadata, as JSON under `adapter`: `base` is the path of its policy, `baseDigest` the policy's digest,
 * if known.
 */
const described = z.object({
  rank: z.number(),
  alpha: z.number(),
  stabilised: z.boolean(),
  base: z.string(),
  baseDigest: z.string().optional(),
  scales: z.record(z.string(), z.number()),
});
type Described = z.infer<typeof described>;

function describedIn(path: string, text: string): Described {
  try {
    return described.parse(JSON.parse(text));
  } catch (cause) {
    throw checkpointError(
      `${path}: its adapter metadata cannot be read: save it again`,
      { file: path },
      cause,
    );
  }
}

const PREFIX = 'base_model.model.';

/**
 * An adapter in such a file's form. `baseDigest` is the digest of the policy at `base`; left out = unknown.
 */
export interface PublishedAdapter extends LoraAdapter {
  readonly baseDigest?: string | undefined;
}

/** Write an adapter whose `base` is the path of a policy; `expected` as for `savePolicy`. */
export async function saveAdapterFile(
  path: string,
  adapter: PublishedAdapter,
  expected: string | null = null,
): Promise<WrittenFile> {
  const { rank, alpha, stabilised, base, baseDigest, modules } = adapter;
  const tensors = new Map<string, Tensor>();
  const scales: Record<string, number> = {};
  for (const [module, { a, b, scale }] of modules) {
    tensors.set(`${PREFIX}${module}.lora_A.weight`, a);
    tensors.set(`${PREFIX}${module}.lora_B.weight`, b);
    scales[module] = scale;
  }
  const entries = [...tensors].map(([name, { shape }]) => ({ name, shape, dtype: 'F32' as const }));
  const known = baseDigest === undefined ? {} : { baseDigest };
  const said: Described = { rank, alpha, stabilised, base, ...known, scales };
  const metadata = { adapter: JSON.stringify(said) };
  const read = (name: string) => tensors.get(name) as Tensor;
  const { sha256, bytes } = await writeTensorFile(path, entries, read, metadata, expected);
  return { sha256, bytes };
}

/**
 * Reads an adapter; null if the file holds something else. A `sha256` that is not empty must be its digest.
 */
export async function loadAdapterFile(path: string, sha256 = ''): Promise<PublishedAdapter | null> {
  const file = await openTensorFile(path);
  try {
    const text = file.metadata.adapter;
    if (text === undefined) return null;
    const { scales, ...said } = describedIn(path, text);
    const hash = createHash('sha256');
    const tensors = new Map<string, Tensor>();
    for await (const [name, tensor] of file.readAll(hash)) tensors.set(name, tensor);
    const found = hash.digest('hex');
    if (sha256 !== '' && found !== sha256) throw digestError(path, sha256, found);
    const factor = (module: string, half: 'A' | 'B') => {
      const name = `${PREFIX}${module}.lora_${half}.weight`;
      const tensor = tensors.get(name);
      if (tensor === undefined)
        throw checkpointError(`${path}: tensor '${name}' is missing`, { file: path, tensor: name });
      return tensor;
    };
    const modules = Object.entries(scales).map(([module, scale]): [string, LoraFactors] => [
      module,
      { a: factor(module, 'A'), b: factor(module, 'B'), scale },
    ]);
    return { ...said, modules: new Map(modules) };
  } finally {
    await file.close();
  }
}

/**
 * The policy with the adapter merged into it, for code that generates or scores without knowing of adapters.
 */
export function withAdapter({ config, tensors }: Policy, adapter: LoraAdapter): Policy {
  const changed = [...tensors].map(([name, tensor]): [string, Tensor] => {
    const factors = adapter.modules.get(name.replace(/\.weight$/, ''));
    const adapted = factors !== undefined && name.endsWith('.weight');
    return [name, adapted ? mergedWeights(tensor, factors) : tensor];
  });
  return { config, tensors: new Map(changed) };
}

/**
 * Reads what a run publishes: a policy (a file or a Hugging Face folder), or an adapter, merged into its
 * policy. The policy under an adapter is kept for the next version; one at a time.
 */
export class PublishedWeights {
  readonly #digestOf: (path: string) => Promise<string>;
  #base: { readonly path: string; readonly digest: string; readonly policy: Policy } | null = null;

  readonly #warn: (message: string) => void;

  /**
   * `digestOf` gives the SHA-256 of a file, in another thread if there is one (digestWorker.ts); `warn` is
   * called for files that can be used but not checked.
   */
  constructor(
    digestOf: (path: string) => Promise<string> = async (path) => fileDigest(path),
    warn = warnOnStderr,
  ) {
    this.#digestOf = digestOf;
    this.#warn = warn;
  }

  /** Read whole. A `sha256` that is not empty must be the digest. */
  async load(path: string, sha256: string): Promise<Policy> {
    const adapter = path.endsWith('.safetensors') ? await loadAdapterFile(path, sha256) : null;
    if (adapter === null) return loadPolicy(path, sha256);
    const { base, baseDigest = '' } = adapter;
    if (this.#base?.path !== base || this.#base.digest !== baseDigest) {
      if (baseDigest === '') {
        this.#warn(
          `${path} is an adapter without a digest of its policy ${base}, so it is unknown whether the policy has changed since. ` +
            'Save the adapter again to add one',
        );
      }
      this.#base = { path: base, digest: baseDigest, policy: await loadPolicy(base, baseDigest) };
    }
    checkAdapter(adapter, this.#base.policy.config, path);
    return withAdapter(this.#base.policy, adapter);
  }

  /**
   * The same, to be used once and closed: our own kind of file is mapped in place, not read, and its digest
   * is computed meanwhile. Do not use anything computed with the weights before `checked`.
   */
  async open(path: string, sha256: string): Promise<OpenWeights> {
    const file = await openMapped(path);
    if (file !== null) return { ...file, checked: this.#check(path, sha256) };
    const { config, tensors } = await this.load(path, sha256);
    const read = (name: string) => tensors.get(name) as Tensor;
    const close = async () => undefined;
    return { config, file: null, read, checked: Promise.resolve(), close };
  }

  #check(path: string, sha256: string): Promise<void> {
    const check = async () => {
      const found = sha256 === '' ? '' : await this.#digestOf(path);
      if (found !== sha256) throw digestError(path, sha256, found);
    };
    const checked = check();
    // nobody awaits it if the weights are given up for another reason
    checked.catch(() => undefined);
    return checked;
  }
}

/** On stderr, from any thread. */
function warnOnStderr(message: string): void {
  process.emitWarning(message, { type: 'MillraceWarning', code: 'ADAPTER_BASE' });
}

export interface OpenWeights {
  readonly config: DecoderConfig;
  readonly file: MappedFile | null;
  /** Resolves if the digest is the expected one; otherwise rejects. */
  readonly checked: Promise<void>;
  read(name: string): Promise<Tensor> | Tensor;
  close(): Promise<void>;
}

/** A policy in one file of float32 tensors; null if it is something else. */
async function openMapped(path: string): Promise<Omit<OpenWeights, 'checked'> | null> {
  if ((await stat(path).catch(() => null))?.isFile() !== true) return null;
  if ((await adapterIn(path)) !== null) return null;
  const policy = await openPolicy(path);
  if ([...policy.tensors.values()].some(({ dtype }) => dtype !== 'F32')) {
    await policy.close();
    return null;
  }
  const { size } = await stat(path);
  const bytes = [...policy.tensors.values()].reduce((sum, tensor) => sum + tensor.bytes, 0);
  const offsets = new Map<string, number>();
  // tensors are contiguous up to the file's last byte (hf/tensorFile.ts)
  let at = size - bytes;
  for (const [name, tensor] of policy.tensors) {
    offsets.set(name, at);
    at += tensor.bytes;
  }
  const full = resolve(path);
  return {
    config: policy.config,
    file: { folder: dirname(full), name: basename(full), offsets },
    read: (name) => policy.read(name),
    close: () => policy.close(),
  };
}

async function adapterIn(path: string): Promise<string | null> {
  const file = await openTensorFile(path);
  await file.close();
  return file.metadata.adapter ?? null;
}
