/**
 * A training service as this process sees it: its session, kept alive by heartbeats, and the models in it.
 *
 * A session that the service has forgotten (it was restarted without its database) is opened again with
 * the next model.
 */

import {
  hasCode,
  MillraceError,
  messageOf,
  type Report,
  type SleepClock,
} from '../../base/index.ts';
import { Client, Refused } from './client.ts';
import { RemoteModel } from './remoteModel.ts';
import { Transport } from './transport.ts';

export interface ServiceOptions {
  /** Address of the service: `http://host:8000`. */
  readonly url: string;
  /** Name of the environment variable that holds the API key; '' (default) = none. */
  readonly keyEnv?: string;
  readonly clock: SleepClock;
  /** How long the service may be unavailable before that is an error; ten minutes by default. */
  readonly awayMs?: number;
  /**
   * For one request, reply included; 330 s by default, as services hold a question for a result up to 300 s.
   */
  readonly timeoutMs?: number;
  /** Called with lines while the service does not answer, and about what it was found not to support. */
  readonly print?: Report;
}

/** The adapter of a model. */
export interface ModelSpec {
  /** Of the low-rank adapter; 0 = all weights are trained, if the service does that. */
  readonly rank: number;
  /** Of the adapter's first values. */
  readonly seed: number;
}

const HEARTBEAT_MS = 10_000;
const SLOTS_TAKEN = /maximum number of/i;
/** Services free the models of a session after minutes of silence: those of a killed run. */
const SLOT_PAUSE_MS = 5_000;

export class TinkerService {
  readonly client: Client;
  readonly clock: SleepClock;
  readonly print: Report;
  readonly #transport: Transport;
  readonly #awayMs: number;
  #baseModel = '';
  #packed = false;
  #losses: readonly string[] = [];
  #session: string | null = null;
  #models = 0;
  #closed = new AbortController();

  private constructor(options: ServiceOptions) {
    const { awayMs = 600_000, timeoutMs = 330_000, keyEnv = '', print = () => undefined } = options;
    this.clock = options.clock;
    this.print = print;
    this.#awayMs = awayMs;
    this.#transport = new Transport({ ...options, keyEnv, timeoutMs });
    this.client = new Client({ transport: this.#transport, clock: options.clock, awayMs, print });
  }

  /**
   * Waits for the service, and takes the first of the names that it knows. Rejects with code `TRAINER_DOWN`
   * when it does not come, `TRAINER_ACCESS` when the key is wrong, `TRAINER_BASE` when it has no model of
   * these names.
   */
  static async connect(
    options: ServiceOptions,
    baseModels: readonly string[],
  ): Promise<TinkerService> {
    const service = new TinkerService(options);
    try {
      service.#baseModel = await service.#named(baseModels);
      await service.#openSession();
    } catch (error) {
      service.#transport.close();
      throw error;
    }
    void service.#beat();
    return service;
  }

  get url(): string {
    return this.client.url;
  }

  /** It accepts the two passes with packed numbers (packed.ts). */
  get takesPacked(): boolean {
    return this.#packed;
  }

  /** Losses that it computes the same way as we do, in one pass (`ServiceLoss`). */
  get losses(): readonly string[] {
    return this.#losses;
  }

  /** The model that is adapted, under the service's name. */
  get baseModel(): string {
    return this.#baseModel;
  }

  /** A new model, its adapter drawn from the seed. Waits for a free slot for at most `awayMs`. */
  async create(spec: ModelSpec): Promise<RemoteModel> {
    const untilMs = this.clock.now() + this.#awayMs;
    let waits = false;
    for (;;) {
      try {
        return await this.#create(spec);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.status === 404) {
          this.#session = null;
          continue;
        }
        const full = SLOTS_TAKEN.test(error.message);
        if (!full || this.clock.now() >= untilMs) throw this.#notMade(spec, error);
        if (!waits) {
          this.print(
            `training service ${this.url} has no room for a model (${error.message}); waiting for it`,
          );
        }
        waits = true;
        await this.clock.sleep(SLOT_PAUSE_MS);
      }
    }
  }

  close(): void {
    this.#closed.abort();
    this.#transport.close();
  }

  async #create({ rank, seed }: ModelSpec): Promise<RemoteModel> {
    const session = this.#session ?? (await this.#openSession());
    const made = await this.client.run({
      route: 'create_model',
      body: {
        session_id: session,
        model_seq_id: this.#models++,
        base_model: this.#baseModel,
        lora_config: { rank, seed },
        type: 'create_model',
      },
    });
    const { model_id: id } = made;
    if (typeof id === 'string') return new RemoteModel(this.client, id);
    throw new MillraceError(
      'TRAINER_REPLY',
      `${this.url}: the reply to create_model has no model_id`,
    );
  }

  async #openSession(): Promise<string> {
    const body = { tags: ['millrace'], user_metadata: null, sdk_version: '0.38.0' };
    const { session_id: id } = await this.client.call({
      route: 'create_session',
      body: { ...body, type: 'create_session' },
    });
    if (typeof id !== 'string') {
      throw new MillraceError(
        'TRAINER_REPLY',
        `${this.url}: the reply to create_session has no session_id`,
      );
    }
    this.#session = id;
    this.#models = 0;
    return id;
  }

  async #named(baseModels: readonly string[]): Promise<string> {
    let found: readonly string[];
    try {
      const reply = await this.client.call({ route: 'get_server_capabilities' });
      this.#packed = reply.packed === 1;
      const losses: unknown = reply.millrace_losses;
      this.#losses = Array.isArray(losses) ? losses.map(String) : [];
      const models = (reply.supported_models ?? []) as readonly { readonly model_name?: unknown }[];
      found = models.flatMap(({ model_name: name }) => (typeof name === 'string' ? [name] : []));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      throw new MillraceError(
        'TRAINER_ACCESS',
        `${this.url} does not answer like a Tinker API service (HTTP ${error.status}: ${error.message}): check trainer.url`,
        { context: { url: this.url } },
      );
    }
    const known = baseModels.find((name) => found.includes(name));
    if (known !== undefined) return known;
    throw new MillraceError(
      'TRAINER_BASE',
      `the training service ${this.url} ${found.length === 0 ? 'does not list' : `trains ${found.join(', ')}, not`} ${baseModels.map((name) => `'${name}'`).join(' or ')}: start it ` +
        'with that model, or set trainer.baseModel to its name for the same weights',
      { context: { url: this.url, baseModels, found } },
    );
  }

  #notMade({ rank }: ModelSpec, error: Refused): MillraceError {
    return new MillraceError(
      'TRAINER_REFUSED',
      `the training service ${this.url} cannot create a model of rank ${rank} on '${this.#baseModel}': ${error.message}`,
      { context: { url: this.url, rank }, cause: error },
    );
  }

  async #beat(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      try {
        await this.clock.sleep(HEARTBEAT_MS, signal);
        const body = { session_id: this.#session, type: 'session_heartbeat' };
        if (this.#session !== null) {
          await this.#transport.ask({ route: 'session_heartbeat', body });
        }
      } catch (error) {
        if (signal.aborted || hasCode(error, 'TRAINER_CLOSED')) return;
        this.print(`the heartbeat to ${this.url} failed: ${messageOf(error)}`);
      }
    }
  }
}
