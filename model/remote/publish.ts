/**
 * How new weights reach the servers: by adapter, from disk, or by a route of one's own.
 *
 * Weights travel by a folder that the servers can read: a Hugging Face checkpoint, or an adapter in PEFT's layout. `folder`
 * says where they find that of a version. Publishing is all or nothing: it succeeded on every server, or it fails with code `WEIGHTS_REFUSED`.
 */
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { WeightsRef } from '../engine.ts';
import type { PoolResult } from './serverPool.ts';
import type { Serving } from './tokenWire.ts';

export interface Servers {
  readonly urls: readonly string[];
  /** One request to one of them, tried several times. */
  ask(server: number, path: string, body: unknown): Promise<PoolResult<unknown>>;
}

export interface Publisher {
  /**
   * True = weights are replaced in place: nothing may be under way meanwhile, and a failure half way leaves servers with
   * different weights. False = the new weights stand beside the old ones.
   */
  readonly replaces: boolean;
  publish(weights: WeightsRef, servers: Servers): Promise<Serving>;
  /** Nobody asks for these any more. */
  retire(serving: Serving, servers: Servers): Promise<void>;
}

/** Path of the folder of these weights, as the servers see it. */
export type FolderOf = (weights: WeightsRef) => string;

/** Never the same for different weights: a version and the beginning of its digest. */
export function labelOf({ version, sha256 }: WeightsRef): string {
  return `policy-v${version}${sha256 === '' ? '' : `-${sha256.slice(0, 12)}`}`;
}

/**
 * LoRA adapters. Each version has a name of its own, never used again: an adapter that is
 * loaded anew under its old name may answer from caches of the old one. Requests under way keep theirs.
 */
export function publishAdapter(server: 'vllm' | 'sglang', folder: FolderOf): Publisher {
  const root = server === 'vllm' ? '/v1' : '';
  const unload = (name: string, { urls, ask }: Servers) =>
    onEach(urls, (at) => ask(at, `${root}/unload_lora_adapter`, { lora_name: name }));
  return {
    replaces: false,
    async publish(weights, servers) {
      const label = labelOf(weights);
      const body = { lora_name: label, lora_path: folder(weights) };
      const failures = await onEach(servers.urls, async (at) => {
        const result = await servers.ask(at, `${root}/load_lora_adapter`, body);
        return isThere(result, weights) ? accepted(label) : succeeded(result);
      });
      if (failures.length === 0) return { model: label, label };
      await unload(label, servers);
      throw refused(weights, failures);
    },
    async retire({ model }, servers) {
      await unload(model, servers);
    },
  };
}

/** All weights from a folder, by SGLang's `/update_weights_from_disk`. Its answers then say which weights made them. */
export function publishFromDisk(folder: FolderOf): Publisher {
  return replacing(
    '/update_weights_from_disk',
    (weights) => ({
      model_path: folder(weights),
      weight_version: labelOf(weights),
      abort_all_requests: false,
      flush_cache: true,
    }),
    (weights) => ({ model: '', label: labelOf(weights), reported: true }),
  );
}

/**
 * All weights by a route that a server has been given, since vLLM has none of its own:
 * `publishByRoute('/update_weights', model, (weights) => ({ weight_dir: weights.path }))`.
 */
export function publishByRoute(
  path: string,
  model: string,
  body: (weights: WeightsRef) => unknown,
): Publisher {
  return replacing(path, body, (weights) => ({ model, label: labelOf(weights) }));
}

function replacing(
  path: string,
  body: (weights: WeightsRef) => unknown,
  serving: (weights: WeightsRef) => Serving,
): Publisher {
  return {
    replaces: true,
    async publish(weights, { urls, ask }) {
      const failures = await onEach(urls, async (at) =>
        succeeded(await ask(at, path, body(weights))),
      );
      if (failures.length > 0) throw refused(weights, failures);
      return serving(weights);
    },
    retire: async () => undefined,
  };
}

function accepted(value: unknown): PoolResult<unknown> {
  return { kind: 'answer', value };
}

/** A name that carries the digest stands for these very weights: an earlier try, or an earlier start, loaded them. */
function isThere(result: PoolResult<unknown>, { sha256 }: WeightsRef): boolean {
  return result.kind === 'refused' && sha256 !== '' && /already been loaded/.test(result.reason);
}

/** Some servers say `success: false` with status 200. */
function succeeded(result: PoolResult<unknown>): PoolResult<unknown> {
  if (result.kind !== 'answer') return result;
  const said = result.value as { readonly success?: unknown; readonly message?: unknown } | null;
  return said?.success === false ? { kind: 'refused', reason: String(said.message) } : result;
}

/** Does the same at all servers at once; what failed, with the server's name. */
async function onEach(
  urls: readonly string[],
  work: (server: number) => Promise<PoolResult<unknown>>,
): Promise<string[]> {
  const results = await Promise.allSettled(urls.map((_, server) => work(server)));
  return results.flatMap((result, server) => {
    if (result.status === 'rejected') return [`${urls[server]}: ${messageOf(result.reason)}`];
    return result.value.kind === 'answer' ? [] : [`${urls[server]}: ${result.value.reason}`];
  });
}

function refused({ version, path }: WeightsRef, failures: readonly string[]): MillraceError {
  return new MillraceError(
    'WEIGHTS_REFUSED',
    `version ${version} was not taken by every server (${failures.join('; ')}). ` +
      `Check that they can read ${path} and were started with what loading weights needs.`,
    { context: { version, path } },
  );
}
