/**
 * One ONNX Runtime session on the CPU, for use inside a worker: `run` blocks the thread that calls it.
 *
 * Feeds are read in place, so an array must not change while a run is under way (the native call is
 * synchronous, so inside one worker it cannot). Outputs are fresh arrays that the caller may keep.
 */
import { InferenceSession, Tensor } from 'onnxruntime-node';

/** A tensor as it is fed and returned, row major. */
export interface Feed {
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array | Int32Array;
}

export type Feeds = Readonly<Record<string, Feed>>;

export interface SessionOptions {
  /** Threads inside an op. */
  readonly threads: number;
  /** Data of the initialisers that lie outside the model's bytes, by location. Copied at creation. */
  readonly external?: readonly { readonly location: string; readonly data: Uint8Array }[];
  /** Folder of the files that other such initialisers lie in. Mapped: they must not be written to, but may be removed. */
  readonly folder?: string;
  /**
   * Threads wait for one another in a busy loop: about 10 % faster on idle cores, several times slower when other
   * work wants the same cores. Off unless said.
   */
  readonly spin?: boolean;
  /** Whether the runtime may rewrite the graph; true unless said. Its fused nodes know no float64. */
  readonly optimise?: boolean;
}

export interface Session {
  /** Run with these feeds; every output of the graph comes back. */
  run(feeds: Feeds): Promise<Feeds>;
  /** Give native memory back. Nothing may run afterwards. */
  release(): Promise<void>;
}

function tensor({ shape, data }: Feed): Tensor {
  if (data instanceof Float32Array) return new Tensor('float32', data, shape);
  if (data instanceof Float64Array) return new Tensor('float64', data, shape);
  return new Tensor('int32', data, shape);
}

/** Make a session of a model that `Graph.model` wrote. */
export async function openSession(model: Uint8Array, options: SessionOptions): Promise<Session> {
  const external = (options.external ?? []).map(({ location, data }) => ({ path: location, data }));
  const session = await InferenceSession.create(model, {
    executionProviders: ['cpu'],
    intraOpNumThreads: options.threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: options.optimise === false ? 'disabled' : 'all',
    enableMemPattern: false,
    // errors are thrown; they need not be printed as well
    logSeverityLevel: 4,
    extra: {
      // a graph that turns a factor before a product means it (weightGradient); the sums are the same either way
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
