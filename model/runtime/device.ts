/**
 * Where graphs run: a device opens sessions on one provider, and keeps tensors there for several runs.
 *
 * The binding can leave tensors on the device for WebGPU alone; elsewhere what is kept are the feeds
 * themselves. A tensor on the device is never read back (the binding aborts the process), and is given back
 * by `release`.
 */
import { Graph } from '../graph/graph.ts';
import type { Place } from './place.ts';
import { notOpened, type Provider } from './provider.ts';
import {
  type Feeds,
  type Keeper,
  type Kept,
  openKeeper,
  openSession,
  type Session,
  type SessionOptions,
} from './session.ts';
import { Turns } from './turns.ts';

export interface Device {
  readonly provider: Provider;
  /** Make a session of a model that `Graph.model` wrote. */
  open(model: Uint8Array, options: SessionOptions): Promise<Session>;
  /** The same feeds, where the sessions compute. */
  keep(feeds: Feeds): Promise<Kept>;
  /** Release sessions first. */
  close(): Promise<void>;
}

export const cpuDevice: Device = {
  provider: 'cpu',
  open: openSession,
  keep: async (feeds) => ({ feeds, release: async () => undefined }),
  close: async () => undefined,
};

/** Fails with code `PROVIDER` if the provider cannot be opened here. */
export async function openDevice({ provider, turns }: Place): Promise<Device> {
  if (provider === 'cpu') return cpuDevice;
  if (provider === 'webgpu') return WebGpuDevice.open(new Turns(turns));
  const open: Device['open'] = (model, options) => openSession(model, options, provider);
  const device = { ...cpuDevice, provider, open };
  await (await firstSession(device)).release();
  return device;
}

/** Only opening a session shows whether the provider exists. */
async function firstSession({ provider, open }: Pick<Device, 'provider' | 'open'>) {
  const graph = new Graph();
  const x = graph.input('x', 'float32', ['N']);
  graph.output('y', graph.node('Add', [x, x], ['N']));
  try {
    return await open(graph.model(), { threads: 1 });
  } catch (error) {
    throw notOpened(provider, error);
  }
}

class WebGpuDevice implements Device {
  readonly provider = 'webgpu';
  readonly #turns: Turns;
  /** The device and its compiled shaders live as long as some session: this one outlives the others. */
  #first: Session | undefined;
  /** What copies feeds to the device, by their names and shapes. */
  readonly #keepers = new Map<string, Promise<Keeper>>();

  private constructor(turns: Turns) {
    this.#turns = turns;
  }

  static async open(turns: Turns): Promise<WebGpuDevice> {
    const device = new WebGpuDevice(turns);
    device.#first = await firstSession({
      provider: 'webgpu',
      open: (model, options) => device.open(model, options),
    });
    return device;
  }

  async open(model: Uint8Array, options: SessionOptions): Promise<Session> {
    const session = await this.#turns.take(() => openSession(model, options, 'webgpu'));
    return {
      run: (feeds) => this.#turns.take(() => session.run(feeds)),
      release: () => this.#turns.take(() => session.release()),
    };
  }

  async keep(feeds: Feeds): Promise<Kept> {
    const key = JSON.stringify(Object.entries(feeds).map(([name, { shape }]) => [name, shape]));
    const known = this.#keepers.get(key);
    const keeper = known ?? this.#turns.take(() => openKeeper(feeds, 'webgpu'));
    this.#keepers.set(key, keeper);
    const kept = await this.#turns.take(async () => (await keeper).keep(feeds));
    return { feeds: kept.feeds, release: () => this.#turns.take(() => kept.release()) };
  }

  async close(): Promise<void> {
    for (const keeper of this.#keepers.values())
      await this.#turns.take(async () => (await keeper).release());
    this.#keepers.clear();
    await this.#first?.release();
  }
}
