/**
 * Which weights the servers have, and which requests ask for: publishing, replacing, retiring, and recovery
 * when a server has lost them.
 *
 * Guarantees:
 * - a request that has entered is answered by the weights that it was given: they are requested by name, or
 *   nothing is under way while weights are replaced; a server that says it answered with others is an error,
 *   and what was published is compared with the trainer (canary.ts);
 * - loads are made one after the other;
 * - an adapter that no request needs any more is unloaded, the last one when the engine is closed.
 */

import {
  hasCode,
  MillraceError,
  messageOf,
  type Report,
  type SleepClock,
} from '../../base/index.ts';
import type { Precision } from '../agreement.ts';
import type { Checkpoint, TrainerEngine } from '../engine.ts';
import type { TokenServers } from './askTokens.ts';
import { Canary, type CanaryOptions, type CanaryReading, type Expected } from './canary.ts';
import { isForgotten } from './forgotten.ts';
import { LabelCheck } from './labelCheck.ts';
import type { Published, Publishing, Servers } from './publish.ts';
import type { Serving } from './serverWire.ts';
import { checkDigest } from './weightsDigest.ts';

/** Weights in use, and by how many requests. */
export interface HeldTarget extends Serving {
  readonly version: number;
  /** Null for those that the servers had at the beginning. */
  readonly weights: Checkpoint | null;
  active: number;
  /** Called when the last request under way has ended. */
  readonly idle: (() => void)[];
}

/** Of the last requests, when the engine is closed. */
const CLOSING_MAX_MS = 5_000;

/** How often a version is published again because servers answer with other weights, or have lost it. */
const WRONG_MAX = 1;
const LOST_MAX = 3;

/** The servers, and how weights get there. */
export interface HeldWeightsOptions {
  readonly servers: TokenServers;
  /** Null: they keep serving what they have. */
  readonly publishing: Publishing | null;
  /** What they serve without anything loaded into it. */
  readonly base: Serving;
  /** Its version, if known. */
  readonly version?: number;
  readonly canary?: CanaryOptions;
  /** The servers' arithmetic. */
  readonly precision: Precision;
  readonly clock: SleepClock;
  readonly report?: Report;
}

/** The weights on the servers. */
export class HeldWeights {
  readonly #options: HeldWeightsOptions;
  readonly #servers: TokenServers;
  readonly #publishing: Publishing | null;
  readonly #canary: Canary | null;
  readonly #labels: LabelCheck | null;
  #target: HeldTarget | null;
  /** Adapters on the servers: the target's and those that requests under way still name. */
  readonly #resident = new Set<HeldTarget>();
  /** Loads run one after the other; requests wait for those that replace weights. */
  #loading: Promise<void> = Promise.resolve();
  #replacing: Promise<void> | null = null;

  constructor(options: HeldWeightsOptions) {
    const { servers, publishing, base, version, canary, precision } = options;
    this.#options = options;
    this.#servers = servers;
    this.#publishing = publishing;
    this.#canary = canary === undefined ? null : new Canary(servers, canary, precision);
    this.#labels =
      publishing?.label === undefined ? null : new LabelCheck(servers.pool, publishing.label);
    this.#target = version === undefined ? null : target(base, version, null);
  }

  /** What requests ask for now; null while unknown. */
  get current(): HeldTarget | null {
    return this.#target;
  }

  /** Says what the canary's sequences should score under each version. */
  expect(expected: Expected, trainer: Pick<TrainerEngine, 'precision'>): void {
    this.#canary?.expect(expected, trainer);
  }

  /** Publishes weights and uses them from then on. Rejects like `RemoteEngine.load`. */
  load(weights: Checkpoint): Promise<void> {
    const loaded = this.#loading.then(() => this.#loadNow(weights));
    this.#loading = loaded.catch(() => undefined);
    return loaded;
  }

  /** If many requests find the same weights gone, the first one loads them. */
  reload(gone: HeldTarget, weights: Checkpoint): Promise<void> {
    const loaded = this.#loading.then(async () => {
      if (this.#target !== gone) return;
      const publishing = this.#publishing;
      if (publishing === null) return;
      if (publishing.replaces) await this.#replace(publishing, weights);
      else {
        this.#target = await this.#publish(publishing, weights);
        this.#resident.delete(gone);
      }
    });
    this.#loading = loaded.catch(() => undefined);
    return loaded;
  }

  /** The weights to ask for; counts the request at the same moment, so none slips past a replacement. */
  async enter(signal: AbortSignal | undefined): Promise<HeldTarget> {
    while (this.#replacing !== null) await this.#replacing;
    signal?.throwIfAborted();
    const serving = this.#targetOrFail();
    serving.active++;
    return serving;
  }

  leave(serving: HeldTarget): void {
    if (--serving.active > 0) return;
    for (const tell of serving.idle.splice(0)) tell();
  }

  /** A server has answered a request for these weights: if it says which it has, they must match. */
  async answered(server: number, serving: HeldTarget): Promise<void> {
    if (serving.weights !== null) await this.#labels?.check(server, serving.label);
  }

  /** Adapters of runs that were killed. */
  async unloadLeft(left: readonly (readonly string[])[]): Promise<void> {
    const { adapters } = this.#servers.wire;
    const names = [...new Set(left.flat())];
    if (adapters === undefined || this.#publishing?.replaces !== false || names.length === 0)
      return;
    this.#options.report?.(
      `unloading adapters that a run left on the servers: ${names.join(', ')}`,
    );
    const { ask } = this.#asked();
    await Promise.all(
      left.flatMap((each, server) => each.map((name) => ask(server, adapters.unload(name)))),
    );
  }

  /** Waits for loads, and unloads the remaining adapters. */
  async close(): Promise<void> {
    await this.#loading;
    const enough = new AbortController();
    const unloaded = Promise.all(
      [...this.#resident].map((each) =>
        this.#publishing?.retire(each, this.#asked(), { triesMax: 1, last: true }),
      ),
    ).catch(() => undefined);
    const late = this.#options.clock.sleep(CLOSING_MAX_MS, enough.signal).catch(() => undefined);
    if (this.#resident.size > 0) await Promise.race([unloaded, late]);
    enough.abort();
    this.#resident.clear();
  }

  #targetOrFail(): HeldTarget {
    if (this.#target !== null) return this.#target;
    throw new MillraceError(
      'WEIGHTS_UNKNOWN',
      'which weights the servers have is unknown: load a version, or name the one that they have (version)',
    );
  }

  async #loadNow(weights: Checkpoint): Promise<void> {
    const { version, digest } = weights;
    const current = this.#target;
    if (current?.version === version && (current.weights?.digest ?? digest) === digest) return;
    const publishing = this.#publishing;
    if (publishing === null) {
      throw new MillraceError(
        'WEIGHTS_REFUSED',
        `version ${version} cannot be loaded: this engine was made without a publisher`,
      );
    }
    await checkDigest(weights);
    await publishing.bring?.(weights, this.#asked());
    if (publishing.replaces) await this.#replace(publishing, weights);
    else await this.#standBeside(publishing, weights);
  }

  async #standBeside(publishing: Publishing, weights: Checkpoint): Promise<void> {
    const before = this.#target;
    await this.#baseIdle();
    this.#target = await this.#publish(publishing, weights);
    if (before === null) return;
    const { adapter } = this.#target;
    if (before.adapter !== null && before.adapter !== adapter) {
      const retire = () => void this.#retire(publishing, before);
      if (before.active === 0) retire();
      else before.idle.push(retire);
    }
    if (before.active > 0) await this.#canary?.unmoved(before);
  }

  /**
   * Requests for the base model end before a second adapter is loaded: a vLLM (0.32) that has two of them
   * computes the base model's log-probs wrongly in a batch with the second.
   */
  async #baseIdle(): Promise<void> {
    const base = this.#target;
    if (base === null || base.adapter !== null || this.#resident.size === 0) return;
    await ended(base);
  }

  async #retire(publishing: Publishing, old: HeldTarget): Promise<void> {
    this.#resident.delete(old);
    this.#canary?.forget(old);
    await publishing.retire(old, this.#asked()).catch(() => undefined);
  }

  async #replace(publishing: Publishing, weights: Checkpoint): Promise<void> {
    let done = (): void => undefined;
    this.#replacing = new Promise((resolve) => {
      done = resolve;
    });
    try {
      if (this.#target !== null) await ended(this.#target);
      // Until all of them have taken it, what they serve is unknown.
      this.#target = null;
      this.#target = await this.#publish(publishing, weights);
    } finally {
      this.#replacing = null;
      done();
    }
  }

  /**
   * Weights that are not what they should be are published again, in case a server has mixed something
   * up; those that a server does not have when they are looked at (it was restarted since it took them), a
   * few times.
   */
  async #publish(publishing: Publishing, weights: Checkpoint): Promise<HeldTarget> {
    for (let wrong = 0, lost = 0; ; ) {
      const published: Published = await publishing.publish(weights, this.#asked());
      const made = target({ ...this.#options.base, ...published }, weights.version, weights);
      if (made.adapter !== null) this.#resident.add(made);
      try {
        if (this.#canary !== null) this.#tell(weights, await this.#canary.check(weights, made));
        return made;
      } catch (error) {
        await this.#retire(publishing, made);
        if (isForgotten(error)) lost++;
        else if (hasCode(error, 'WEIGHTS_WRONG')) wrong++;
        else throw error;
        if (wrong > WRONG_MAX || lost > LOST_MAX) throw error;
        const why = isForgotten(error)
          ? `a server lost version ${weights.version} after loading it`
          : messageOf(error);
        this.#options.report?.(`${why}; publishing again`);
      }
    }
  }

  /** Reported once each: how close the servers are to the trainer, or that it is unknown. */
  readonly #reported = new Set<string>();
  #tell({ version }: Checkpoint, { gaps }: CanaryReading): void {
    const [what, line] =
      gaps === null
        ? [
            'unknown',
            `the servers' log-probs of version ${version} cannot be compared with the trainer's, which runs in another process or had this version before the run ` +
              'was restarted; only the version that the servers report is checked',
          ]
        : [
            'near',
            `the servers' log-probs of version ${version} agree with the trainer's within ${Math.max(...gaps).toPrecision(2)} nats a token`,
          ];
    if (this.#reported.has(what) || gaps?.length === 0) return;
    this.#reported.add(what);
    this.#options.report?.(line);
  }

  /** All servers, for publishing. */
  #asked(): Servers {
    const { pool } = this.#servers;
    return {
      urls: pool.urls,
      ask: (server, { path, body }, options) => pool.askServer(server, path, body, options),
    };
  }
}

/** Resolves once no request names these weights any more. */
async function ended(serving: HeldTarget): Promise<void> {
  if (serving.active === 0) return;
  await new Promise<void>((resolve) => serving.idle.push(resolve));
}

function target(serving: Serving, version: number, weights: Checkpoint | null): HeldTarget {
  return { ...serving, version, weights, active: 0, idle: [] };
}
