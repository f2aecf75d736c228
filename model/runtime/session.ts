/**
 * One ONNX Runtime session, for use inside a worker: `run` blocks the thread that calls it.
 *
 * Feeds are read in place, so an array must not change while a run is under way (the native call is
 * synchronous, so inside one worker it cannot). Outputs are fresh arrays that the caller may keep. On another
 * provider than the CPU, nodes that it does not know run on the CPU anyway.
 */
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { Graph } from '../graph/graph.ts';
import type { Provider } from './provider.ts';

/** A tensor as it is fed and returned, row major. */
export interface Feed {
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array | Int32Array;
}

/** Tensors by the name of the graph's input, or of its output. */
export type Feeds = Readonly<Record<string, Feed>>;

/** A tensor on the device; only sessions of its provider take it. */
export interface Held {
  readonly held: Tensor;
}

/** What a session takes. */
export type Inputs = Readonly<Record<string, Feed | Held>>;

/** Feeds placed where the sessions compute. */
export interface Kept {
  readonly feeds: Inputs;
  /** Frees their memory. Nothing may be fed with them afterwards. */
  release(): Promise<void>;
}

export interface SessionOptions {
  /** Threads inside an op. */
  readonly threads: number;
  /** Data of the initialisers outside the model's bytes, by location. Copied at creation. */
  readonly external?: readonly { readonly location: string; readonly data: Uint8Array }[];
  /**
   * Folder of the files of other such initialisers. They are mapped: they must not be written to, but may be
   * removed.
   */
  readonly folder?: string;
  /**
   * Threads wait for one another in a busy loop: about 10 % faster on idle cores, several times slower when
   * other work wants the same cores. Off by default.
   */
  readonly spin?: boolean;
  /** Whether the runtime may rewrite the graph; true by default. Its fused nodes know no float64. */
  readonly optimise?: boolean;
}

export interface Session {
  /** Run with these feeds; every output of the graph comes back. */
  run(feeds: Inputs): Promise<Feeds>;
  /** Frees native memory. Nothing may run afterwards. */
  release(): Promise<void>;
}

/**
 * Nodes that stay on the CPU. Shaders may take sines and cosines of large angles as roughly as they like, and
 * rotary positions are large angles: log-probs would be off by a thousandth.
 */
const ANGLES = ['cosines', 'sines'];

function executionProvider(provider: Provider) {
  return provider === 'webgpu' ? { name: provider, forceCpuNodeNames: ANGLES } : provider;
}

function tensor(input: Feed | Held): Tensor {
  if ('held' in input) return input.held;
  const { shape, data } = input;
  if (data instanceof Float32Array) return new Tensor('float32', data, shape);
  if (data instanceof Float64Array) return new Tensor('float64', data, shape);
  return new Tensor('int32', data, shape);
}

/** Make a session of a model that `Graph.model` wrote. */
export async function openSession(
  model: Uint8Array,
  options: SessionOptions,
  provider: Provider = 'cpu',
): Promise<Session> {
  const external = (options.external ?? []).map(({ location, data }) => ({ path: location, data }));
  const session = await InferenceSession.create(model, {
    executionProviders: [executionProvider(provider)],
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: options.optimise === false ? 'disabled' : 'all',
    enableMemPattern: false,
    // errors are thrown; they need not be printed as well
    logSeverityLevel: 4,
    extra: {
      // a graph that turns a factor before a product means it (weightGradient); the sums are the same either
      // way
      optimization: { disable_specified_optimizers: 'GemmTransposeFusion' },
      session: {
        intra_op: { allow_spinning: options.spin ? '1' : '0' },
        ...(options.folder === undefined
          ? {}
          : { model_external_initializers_file_folder_path: options.folder }),
      },
    },
    ...(external.length > 0 ? { externalData: external } : {}),
  });
  return {
    async run(feeds) {
      const tensors = Object.entries(feeds).map(([name, feed]) => [name, tensor(feed)] as const);
      const results = await session.run(Object.fromEntries(tensors));
      const outputs = Object.entries(results).map(([name, value]) => {
        return [name, { shape: value.dims, data: value.data as Feed['data'] }] as const;
      });
      return Object.fromEntries(outputs);
    },
    release: () => session.release(),
  };
}

/** Copies tensors of some names and shapes to the device. */
export interface Keeper {
  keep(feeds: Feeds): Promise<Kept>;
  release(): Promise<void>;
}

/**
 * A keeper for feeds like these. The binding has no upload: it is a graph that does nothing, whose outputs
 * stay.
 */
export async function openKeeper(like: Feeds, provider: Provider): Promise<Keeper> {
  const graph = new Graph();
  const names = Object.keys(like);
  for (const [index, name] of names.entries())
    graph.output(`kept.${index}`, graph.input(name, 'float32', like[name]?.shape ?? []));
  const session = await InferenceSession.create(graph.model(), {
    executionProviders: [provider],
    preferredOutputLocation: 'gpu-buffer',
    logSeverityLevel: 4,
  });
  return {
    async keep(feeds) {
      const tensors = names.map((name) => [name, tensor(feeds[name] as Feed)] as const);
      const results = await session.run(Object.fromEntries(tensors));
      const kept = names.map((name, index) => [name, results[`kept.${index}`] as Tensor] as const);
      return {
        feeds: Object.fromEntries(kept.map(([name, held]) => [name, { held }])),
        async release() {
          for (const [, held] of kept) held.dispose();
        },
      };
    },
    release: () => session.release(),
  };
}
