/**
 * How new weights reach the servers: by adapter, from disk, or by a route of your own.
 *
 * Weights travel by a folder that the servers can read: a Hugging Face checkpoint, or an adapter in PEFT's
 * layout (servedFolders.ts writes them). A server is asked to load only once the folder is there and whole: a
 * bad one ends some servers.
 *
 * A server that does not answer while others take the weights goes without them: it shows that it lacks them
 * when it is back, and is given them then. If it would not show, publishing is all or nothing. A server that
 * answers and does not take them fails the whole with code `WEIGHTS_REFUSED`.
 */
import { MillraceError, messageOf } from '../../base/index.ts';
import type { Checkpoint } from '../engine.ts';
import type { Carry } from './receivers.ts';
import type { AskOptions, PoolResult } from './serverPool.ts';
import type { LabelWire, ServerWire, Serving, WireRequest } from './serverWire.ts';

/** The servers to publish to, by their place in `urls`. */
export interface Servers {
  readonly urls: readonly string[];
  /** One POST to one of them, with several attempts. */
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
  /** Where servers say which weights they have, if their answers do not. */
  readonly label?: LabelWire;
  /**
   * Brings weights to the servers' machines, so that less remains while servers wait. What fails is retried
   * by `publish`, which reports it.
   */
  bring?(weights: Checkpoint, servers: Servers): Promise<void>;
  /**
   * Publishes weights that replace others to all servers, and weights that are loaded beside others to the
   * available ones.
   */
  publish(weights: Checkpoint, servers: Servers): Promise<Published>;
  /** These are no longer needed. */
  retire(published: Published, servers: Servers, options?: AskOptions): Promise<void>;
}

/** How to publish to servers with this wire. Fails with code `USAGE` if they cannot be published to. */
export type Publisher = (wire: ServerWire) => Publishing;

/**
 * Path of the folder of these weights, as the servers see it; it is there and whole. For `publishAdapter`
 * null = they are the base model itself, which the servers were started with.
 */
export type FolderOf = (weights: Checkpoint) => string | null | Promise<string | null>;

/** Brings folders to servers that share no disk with this machine; left out = they do. */
export interface CarryOptions {
  readonly carry?: Carry;
}

/** Never the same for different weights: a version and the beginning of its digest. */
export function labelOf({ version, digest }: Checkpoint): string {
  return `policy-v${version}${digest === null ? '' : `-${digest.slice(0, 12)}`}`;
}

/** Whether a name on a server comes from `labelOf`. */
export function isLabel(name: string): boolean {
  return /^policy-v\d+(-[0-9a-f]{12})?$/.test(name);
}

/**
 * LoRA adapters. Each version has a name of its own, never used again: an adapter that is
 * loaded again under its old name may answer from caches of the old one. Requests under way keep theirs.
 */
export function publishAdapter(folder: FolderOf, { carry }: CarryOptions = {}): Publisher {
  return (wire) => {
    const { name: server, adapters } = wire;
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
        const load = async (at: number, options?: AskOptions) => {
          const there = await seenPath({ path, carry, wire, servers }, at, options);
          if (there.kind !== 'answer') return there;
          const request = adapters.load(label, there.value);
          const result = await servers.ask(at, request, options);
          // A name that includes the digest means these very weights: an earlier attempt, or an earlier
          // start, loaded them.
          const isThere =
            result.kind === 'refused' &&
            weights.digest !== null &&
            adapters.isLoaded(result.reason);
          if (!isThere) return succeeded(result);
          return { kind: 'answer', value: label, server: at } as const;
        };
        try {
          await byThoseThere(weights, servers, load, shown(path, carry));
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
export function publishFromDisk(folder: FolderOf, { carry }: CarryOptions = {}): Publisher {
  return (wire) => {
    const { name, replacement } = wire;
    if (replacement === undefined) {
      throw new MillraceError(
        'USAGE',
        `${name} has no route that loads weights from a folder: publish adapters (publishAdapter), or give it a route (publishByRoute)`,
      );
    }
    const { load, reported, label, needs } = replacement;
    const folderOf = async (weights: Checkpoint): Promise<string> => {
      const path = await folder(weights);
      if (path === null) throw new Error(`version ${weights.version} has no folder`);
      return path;
    };
    return replacing({
      async requests(weights, servers) {
        const path = await folderOf(weights);
        return async (at, options) => {
          const there = await seenPath({ path, carry, wire, servers }, at, options);
          if (there.kind !== 'answer') return there;
          const asked = load(labelOf(weights), there.value);
          return { ...there, value: Array.isArray(asked) ? asked : [asked as WireRequest] };
        };
      },
      shown: (weights) => shown(weights.uri, carry),
      ...(carry === undefined
        ? {}
        : {
            async bring(weights: Checkpoint, { urls }: Servers) {
              const path = await folderOf(weights);
              await Promise.all(urls.map((_, at) => carry(path, at)));
            },
          }),
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
      requests: async (weights) => async (server) => {
        const value = [{ path, body: body(weights) }];
        return { kind: 'answer', value, server };
      },
      shown: ({ uri }) => uri,
      reported: false,
    });
}

interface Replacing {
  /** The requests to a server, one after the other. */
  requests(weights: Checkpoint, servers: Servers): Promise<RequestsOf>;
  /** Where the weights are, for messages. */
  shown(weights: Checkpoint): string;
  readonly bring?: NonNullable<Publishing['bring']>;
  readonly reported: boolean;
  readonly label?: LabelWire;
  readonly needs?: string;
}

type RequestsOf = (
  server: number,
  options?: AskOptions,
) => Promise<PoolResult<readonly WireRequest[]>>;

interface Seen {
  /** Of the local folder. */
  readonly path: string;
  readonly carry: Carry | undefined;
  readonly wire: ServerWire;
  readonly servers: Servers;
}

/**
 * The folder's path on a server's machine. If its receiver does not answer, the server has to be waited for:
 * it answers itself, and would lack the weights.
 */
async function seenPath(
  { path, carry, wire, servers }: Seen,
  server: number,
  options?: AskOptions,
): Promise<PoolResult<string>> {
  if (carry === undefined) return { kind: 'answer', value: path, server };
  const first = await carry(path, server, options);
  const isWaitedFor = options?.patient === true;
  if (first.kind !== 'down' || !first.away || isWaitedFor || servers.urls.length === 1)
    return first;
  const alive =
    wire.models === undefined ||
    (await servers.ask(server, { path: wire.models.path, body: undefined }, { triesMax: 1 }))
      .kind !== 'down';
  return alive ? carry(path, server, { ...options, patient: true }) : first;
}

function shown(path: string, carry: Carry | undefined): string {
  return carry === undefined ? path : 'the folders of their weights receivers';
}

function replacing({ requests, shown, bring, reported, label, needs }: Replacing): Publishing {
  return {
    replaces: true,
    ...(bring === undefined ? {} : { bring }),
    ...(label === undefined ? {} : { label }),
    async publish(weights, servers) {
      const stepsOf = await requests(weights, servers);
      const path = shown(weights);
      const replace = async (at: number, options?: AskOptions) => {
        const steps = await stepsOf(at, options);
        if (steps.kind !== 'answer') return steps;
        let result: PoolResult<unknown> | null = null;
        for (const step of steps.value) {
          result = succeeded(await servers.ask(at, step, options));
          if (result.kind !== 'answer') break;
        }
        return result as PoolResult<unknown>;
      };
      if (reported || label !== undefined)
        await byThoseThere(weights, servers, replace, path, needs);
      else {
        const failures = await onEach(servers.urls, (at) => replace(at, { patient: true }));
        if (failures.length > 0) throw refused(weights, failures, path, needs);
      }
      return { adapter: null, label: labelOf(weights), reported };
    },
    retire: async () => undefined,
  };
}

type Work = (server: number, options?: AskOptions) => Promise<PoolResult<unknown>>;

/** Works on the servers that answer; if none does, waits for them. */
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
  /** With the server's name; null = done. */
  readonly failure: string | null;
  readonly away: boolean;
}

/** Does the same on all servers at once. */
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
