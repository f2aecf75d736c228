/**
 * How new weights reach the servers: by adapter, from disk, or by a route of one's own.
 *
 * Weights travel by a folder that the servers can read: a Hugging Face checkpoint, or an adapter in PEFT's layout. `folder`
 * says where they find that of a version. Publishing is all or nothing: it succeeded on every server, or it fails with code `WEIGHTS_REFUSED`.
 */
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { Checkpoint } from '../engine.ts';
import type { PoolResult } from './serverPool.ts';
import type { ServerWire, Serving, WireRequest } from './serverWire.ts';

/** The servers to publish to, by their place in `urls`. */
export interface Servers {
  readonly urls: readonly string[];
  /** One POST to one of them, tried several times. */
  ask(server: number, request: WireRequest): Promise<PoolResult<unknown>>;
}

/** What requests ask for once weights are published. */
export type Published = Omit<Serving, 'model'>;

/**
 * A way to bring weights to servers. `publish` fails with code `WEIGHTS_REFUSED` when one of them does not take the
 * weights.
 */
export interface Publishing {
  /**
   * True = weights are replaced in place: nothing may be under way meanwhile, and a failure half way leaves servers with
   * different weights. False = the new weights stand beside the old ones.
   */
  readonly replaces: boolean;
  publish(weights: Checkpoint, servers: Servers): Promise<Published>;
  /** Nobody asks for these any more. */
  retire(published: Published, servers: Servers): Promise<void>;
}

/** How it is done on servers of this wire. Fails with code `USAGE` where they cannot. */
export type Publisher = (wire: ServerWire) => Publishing;

/** Path of the folder of these weights, as the servers see it. */
export type FolderOf = (weights: Checkpoint) => string;

/** Never the same for different weights: a version and the beginning of its digest. */
export function labelOf({ version, digest }: Checkpoint): string {
  return `policy-v${version}${digest === null ? '' : `-${digest.slice(0, 12)}`}`;
}

/**
 * LoRA adapters. Each version has a name of its own, never used again: an adapter that is
 * loaded once more under its old name may answer from caches of the old one. Requests under way keep theirs.
 */
export function publishAdapter(folder: FolderOf): Publisher {
  return ({ name: server, adapters }) => {
    if (adapters === undefined) {
      throw new MillraceError(
        'USAGE',
        `${server} loads no adapters while it runs: publish all weights (publishFromDisk, publishByRoute)`,
      );
    }
    const unload = (name: string, { urls, ask }: Servers) =>
      onEach(urls, (at) => ask(at, adapters.unload(name)));
    return {
      replaces: false,
      async publish(weights, servers) {
        const label = labelOf(weights);
        const request = adapters.load(label, folder(weights));
        const failures = await onEach(servers.urls, async (at) => {
          const result = await servers.ask(at, request);
          // A name that carries the digest stands for these very weights: an earlier try, or an earlier start, loaded them.
          const isThere =
            result.kind === 'refused' &&
            weights.digest !== null &&
            adapters.isLoaded(result.reason);
          return isThere ? { kind: 'answer', value: label } : succeeded(result);
        });
        if (failures.length === 0) return { adapter: label, label };
        await unload(label, servers);
        throw refused(weights, failures);
      },
      async retire({ adapter }, servers) {
        if (adapter !== null) await unload(adapter, servers);
      },
    };
  };
}

/** All weights from a folder, by the server's own route (SGLang's `/update_weights_from_disk`). */
export function publishFromDisk(folder: FolderOf): Publisher {
  return ({ name, replacement }) => {
    if (replacement === undefined) {
      throw new MillraceError(
        'USAGE',
        `${name} has no route of its own that reads weights from a folder: publish adapters (publishAdapter), or give it a route (publishByRoute)`,
      );
    }
    const { load, reported } = replacement;
    return replacing((weights) => load(labelOf(weights), folder(weights)), reported);
  };
}

/**
 * All weights by a route that a server has been given:
 * `publishByRoute('/update_weights', (weights) => ({ weight_dir: weights.uri }))`.
 */
export function publishByRoute(path: string, body: (weights: Checkpoint) => unknown): Publisher {
  return () => replacing((weights) => ({ path, body: body(weights) }), false);
}

function replacing(request: (weights: Checkpoint) => WireRequest, reported: boolean): Publishing {
  return {
    replaces: true,
    async publish(weights, { urls, ask }) {
      const failures = await onEach(urls, async (at) => succeeded(await ask(at, request(weights))));
      if (failures.length > 0) throw refused(weights, failures);
      return { adapter: null, label: labelOf(weights), reported };
    },
    retire: async () => undefined,
  };
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

function refused({ version, uri }: Checkpoint, failures: readonly string[]): MillraceError {
  return new MillraceError(
    'WEIGHTS_REFUSED',
    `version ${version} was not taken by every server (${failures.join('; ')}). ` +
      `Check that they can read ${uri} and were started with what loading weights needs.`,
    { context: { version, uri } },
  );
}
