/**
 * How new weights reach the servers: by adapter, from disk, or by a route of your own.
 *
 * Weights travel by a folder that the servers can read: a Hugging Face checkpoint, or an adapter in PEFT's
 * layout (servedFolders.ts writes them). A server is asked to load only once the folder is there and whole: a
 * bad one ends some servers.
 *
 * A server that is away while others take the weights does without them: it shows that it lacks them when it
 * is back, and is given them then. If it would not show, publishing is all or nothing. A server that
 * answers and does not take them fails the whole with code `WEIGHTS_REFUSED`.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import type { Checkpoint } from '../engine.ts';
import type { AskOptions, PoolResult } from './serverPool.ts';
import type { LabelWire, ServerWire, Serving, WireRequest } from './serverWire.ts';

/** The servers to publish to, by their place in `urls`. */
export interface Servers {
  readonly urls: readonly string[];
  /** One POST to one of them, tried several times. */
  ask(server: number, request: WireRequest, options?: AskOptions): Promise<PoolResult<unknown>>;
}

/** What requests ask for once weights are published. */
export type Published = Omit<Serving, 'model'>;

/**
 * A way to bring weights to servers. `publish` fails with code `WEIGHTS_REFUSED` when one of them does not
 * take the weights.
 */
export interface Publishing {
  /**
   * True = weights are replaced in place: nothing may be under way meanwhile, and a failure half way leaves
   * servers with different weights. False = the new weights are next to the old ones.
   */
  readonly replaces: boolean;
  /** Where servers say which weights they have, if not with each answer. */
  readonly label?: LabelWire;
  /**
   * Publishes weights that replace others to all servers, and weights that are loaded beside others to those
   * that are there.
   */
  publish(weights: Checkpoint, servers: Servers): Promise<Published>;
  /** These are no longer needed. */
  retire(published: Published, servers: Servers, options?: AskOptions): Promise<void>;
}

/** How it is done on servers of this wire. Fails with code `USAGE` if they cannot. */
export type Publisher = (wire: ServerWire) => Publishing;

/**
 * Path of the folder of these weights, as the servers see it; it is there and whole. For `publishAdapter`
 * null = they are the base model itself, which the servers were started with.
 */
export type FolderOf = (weights: Checkpoint) => string | null | Promise<string | null>;

/** Never the same for different weights: a version and the beginning of its digest. */
export function labelOf({ version, digest }: Checkpoint): string {
  return `policy-v${version}${digest === null ? '' : `-${digest.slice(0, 12)}`}`;
}

/** Whether a name on a server is one that `labelOf` gives. */
export function isLabel(name: string): boolean {
  return /^policy-v\d+(-[0-9a-f]{12})?$/.test(name);
}

/**
 * LoRA adapters. Each version has a name of its own, never used again: an adapter that is
 * loaded again under its old name may answer from caches of the old one. Requests under way keep theirs.
 */
export function publishAdapter(folder: FolderOf): Publisher {
  return ({ name: server, adapters }) => {
    if (adapters === undefined) {
      throw new MillraceError(
        'USAGE',
        `${server} loads no adapters while it runs: publish all weights (publishFromDisk, publishByRoute)`,
      );
    }
    const unload = (name: string, { urls, ask }: Servers, options?: AskOptions) =>
      onEach(urls, (at) => ask(at, adapters.unload(name), options));
    return {
      replaces: false,
      async publish(weights, servers) {
        const label = labelOf(weights);
        const path = await folder(weights);
        if (path === null) return { adapter: null, label: '' };
        const request = adapters.load(label, path);
        const load = async (at: number, options?: AskOptions) => {
          const result = await servers.ask(at, request, options);
          // A name that has the digest means these very weights: an earlier try, or an earlier
          // start, loaded them.
          const isThere =
            result.kind === 'refused' &&
            weights.digest !== null &&
            adapters.isLoaded(result.reason);
          if (!isThere) return succeeded(result);
          return { kind: 'answer', value: label, server: at } as const;
        };
        try {
          await byThoseThere(weights, servers, load, path);
        } catch (error) {
          await unload(label, servers, { triesMax: 1 });
          throw error;
        }
        return { adapter: label, label };
      },
      async retire({ adapter }, servers, options) {
        if (adapter !== null) await unload(adapter, servers, options);
      },
    };
  };
}

/** All weights from a folder, by the server's own routes (`replacement` of its wire). */
export function publishFromDisk(folder: FolderOf): Publisher {
  return ({ name, replacement }) => {
    if (replacement === undefined) {
      throw new MillraceError(
        'USAGE',
        `${name} has no route of its own that reads weights from a folder: publish adapters (publishAdapter), or give it a route (publishByRoute)`,
      );
    }
    const { load, reported, label, needs } = replacement;
    return replacing({
      async requests(weights) {
        const path = await folder(weights);
        if (path === null) throw new Error(`version ${weights.version} has no folder`);
        const asked = load(labelOf(weights), path);
        return Array.isArray(asked) ? asked : [asked as WireRequest];
      },
      reported,
      ...(label === undefined ? {} : { label }),
      ...(needs === undefined ? {} : { needs }),
    });
  };
}

/**
 * All weights by a route that a server has been given:
 * `publishByRoute('/update_weights', (weights) => ({ weight_dir: weights.uri }))`.
 */
export function publishByRoute(path: string, body: (weights: Checkpoint) => unknown): Publisher {
  return () =>
    replacing({
      requests: async (weights) => [{ path, body: body(weights) }],
      reported: false,
    });
}

interface Replacing {
  requests(weights: Checkpoint): Promise<readonly WireRequest[]>;
  readonly reported: boolean;
  readonly label?: LabelWire;
  readonly needs?: string;
}

function replacing({ requests, reported, label, needs }: Replacing): Publishing {
  return {
    replaces: true,
    ...(label === undefined ? {} : { label }),
    async publish(weights, servers) {
      const steps = await requests(weights);
      const replace = async (at: number, options?: AskOptions) => {
        let result: PoolResult<unknown> | null = null;
        for (const step of steps) {
          result = succeeded(await servers.ask(at, step, options));
          if (result.kind !== 'answer') break;
        }
        return result as PoolResult<unknown>;
      };
      if (reported || label !== undefined)
        await byThoseThere(weights, servers, replace, weights.uri, needs);
      else {
        const failures = await onEach(servers.urls, (at) => replace(at, { patient: true }));
        if (failures.length > 0) throw refused(weights, failures, weights.uri, needs);
      }
      return { adapter: null, label: labelOf(weights), reported };
    },
    retire: async () => undefined,
  };
}

type Work = (server: number, options?: AskOptions) => Promise<PoolResult<unknown>>;

/** Does the work at the servers that are there; if none is, waits for them. */
async function byThoseThere(
  weights: Checkpoint,
  { urls }: Servers,
  work: Work,
  path: string,
  needs?: string,
): Promise<void> {
  const first = await settled(urls, (at) => work(at));
  const failures = first.filter(({ failure, away }) => failure !== null && !away);
  if (failures.length > 0) throw refused(weights, reasons(failures), path, needs);
  if (first.some(({ failure }) => failure === null)) return;
  const second = reasons(await settled(urls, (at) => work(at, { patient: true })));
  if (second.length === urls.length) throw refused(weights, second, path, needs);
}

/** Some servers say `success: false` with status 200. */
function succeeded(result: PoolResult<unknown>): PoolResult<unknown> {
  if (result.kind !== 'answer') return result;
  const said = result.value as { readonly success?: unknown; readonly message?: unknown } | null;
  return said?.success === false ? { kind: 'refused', reason: String(said.message) } : result;
}

interface Settled {
  /** With the server's name; null = it is done. */
  readonly failure: string | null;
  readonly away: boolean;
}

/** Does the same at all servers at once. */
async function settled(urls: readonly string[], work: Work): Promise<Settled[]> {
  const results = await Promise.allSettled(urls.map((_, server) => work(server)));
  return results.map((result, server) => {
    if (result.status === 'rejected')
      return { failure: `${urls[server]}: ${messageOf(result.reason)}`, away: false };
    const { value } = result;
    if (value.kind === 'answer') return { failure: null, away: false };
    return {
      failure: `${urls[server]}: ${value.reason}`,
      away: value.kind === 'down' && value.away,
    };
  });
}

const reasons = (results: readonly Settled[]): string[] =>
  results.flatMap(({ failure }) => failure ?? []);

const onEach = async (urls: readonly string[], work: Work): Promise<string[]> =>
  reasons(await settled(urls, work));

function refused(
  { version, uri }: Checkpoint,
  failures: readonly string[],
  path: string,
  needs?: string,
): MillraceError {
  return new MillraceError(
    'WEIGHTS_REFUSED',
    `version ${version} was not loaded by every server (${failures.join('; ')}). ` +
      `Check that they can read ${path} and were started with the options that loading weights needs${needs === undefined ? '' : ` (${needs})`}.`,
    { context: { version, uri, path } },
  );
}
