/**
 * What a trainer trains, and how it is read from files and written back: a policy, or an adapter over a fixed
 * policy. It writes local checkpoints (model/checkpoints/local.ts).
 *
 * With an adapter a save writes either the merged policy (anything can read it; the factors are then in the
 * optimiser's file, and a restore without that file begins a new adapter on the merged weights) or the
 * adapter alone (adapterFile.ts), from which everything is restored.
 */
import { mkdir } from 'node:fs/promises';
import { mustHaveRoom } from '../../base/index.ts';
import { digestAt, readingVersion } from '../checkpoints/digest.ts';
import { localFiles, localPath } from '../checkpoints/local.ts';
import type { DecoderConfig, Tensors } from '../config.ts';
import type {
  Checkpoint,
  SavedCheckpoint,
  SaveTarget,
  TrainerCheckpoint,
  VersionSizes,
} from '../engine.ts';
import { digestError } from '../hf/digestError.ts';
import { loadPolicy } from '../hf/loadPolicy.ts';
import { checkAdapter, type InitialAdapter, initialAdapter, type LoraAdapter } from '../hf/lora.ts';
import { loadAdapterFile, saveAdapterFile, withAdapter } from '../hf/publishedAdapter.ts';
import { digestOfTensors, type WrittenFile, writeDigested } from '../hf/writeTensorFile.ts';
import { type Policy, savePolicy } from '../policyFile.ts';
import { adapterTensors, type OptimiserState, type Trainee } from './learner.ts';
import { loadOptimiser, optimiserTensors } from './optimiserFile.ts';

/** Which adapter is trained, and what its versions are published as. */
export interface AdapterOptions {
  /** A new adapter, or an existing one to continue with. */
  readonly adapter: (InitialAdapter & { readonly seed: number }) | LoraAdapter;
  /** What a save writes as weights. `adapter` requires a policy in a file or folder. */
  readonly publish: 'merged' | 'adapter';
}

/** A policy's place, or the policy itself. */
export type PolicySource = string | Policy;

export class TraineeFiles {
  readonly #options: AdapterOptions | null;
  readonly #base: Policy;
  /** Where the policy under the adapter is; '' if it is only in memory. */
  readonly #basePath: string;
  /** Where adapters are published; otherwise ''. */
  readonly #baseDigest: string;
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    options: AdapterOptions | null,
    base: Policy,
    [path, digest]: readonly [path: string, digest: string],
  ) {
    this.#options = options;
    this.#base = base;
    this.#basePath = path;
    this.#baseDigest = digest;
  }

  static async open(source: PolicySource, options: AdapterOptions | null): Promise<TraineeFiles> {
    const inFile = typeof source === 'string';
    if (options?.publish === 'adapter' && !inFile)
      throw new Error(
        'an adapter that is published names the path of its policy: give `policy` as a path',
      );
    if (!inFile) return new TraineeFiles(options, source, ['', '']);
    const digest = options?.publish === 'adapter' ? await digestAt(source) : '';
    return new TraineeFiles(options, await loadPolicy(source, digest), [source, digest]);
  }

  get config(): DecoderConfig {
    return this.#base.config;
  }

  /** Settings of a save, except for the names of its files. */
  sizes({ tensors, adapter }: Trainee): VersionSizes {
    const whole = bytesOf(tensors);
    if (adapter === null) return { weights: whole, state: 2 * whole };
    const factors = bytesOf(adapterTensors(adapter));
    const weights = this.#options?.publish === 'adapter' ? factors : whole;
    return { weights, state: 3 * factors };
  }

  /** What training begins with. */
  first(): Trainee {
    return this.#over(this.#base.tensors);
  }

  /**
   * Write the weights into the target's folder, and begin to write the optimiser's state, whose digest is
   * known by then: what is trained must not change before `written` resolves.
   */
  async save(
    target: SaveTarget,
    trainee: Trainee,
    optimiser: OptimiserState,
  ): Promise<SavedCheckpoint> {
    await this.written();
    const { version, folder, expected } = target;
    const { weights, state } = localFiles(target);
    const { tensors, adapter } = trainee;
    const trained = adapter === null ? tensors : adapterTensors(adapter);
    const factors = adapter === null ? new Map() : trained;
    await mkdir(folder, { recursive: true });
    const kept =
      target.state === false ? null : optimiserTensors(state, optimiser, trained, factors);
    const digest = kept === null ? null : await digestOfTensors(kept, expected?.state);
    // Writes both while the step can still fail: no step waits for the last state of a run.
    const sizes = this.sizes(trainee);
    mustHaveRoom(weights, sizes.weights + (kept === null ? 0 : sizes.state));
    const written = await this.write(weights, trainee, expected?.weights);
    if (kept !== null) this.#writing = writeDigested(kept);
    this.#writing.catch(() => undefined); // it is reported when it is awaited
    return {
      weights: { version, uri: weights, digest: written.sha256 },
      state: kept === null ? null : { version, uri: state, digest },
      bytes: written.bytes,
    };
  }

  /** Resolves once everything saved is whole on disk; rejects from then on when it could not be written. */
  written(): Promise<void> {
    return this.#writing;
  }

  /** Write the weights alone. */
  async write(
    path: string,
    { config, tensors, adapter }: Trainee,
    expected: string | null = null,
  ): Promise<WrittenFile> {
    if (adapter === null) return savePolicy(path, { config, tensors }, expected);
    if (this.#options?.publish !== 'adapter')
      return savePolicy(path, withAdapter({ config, tensors }, adapter), expected);
    const base = { base: this.#basePath, baseDigest: this.#baseDigest };
    return saveAdapterFile(path, { ...adapter, ...base }, expected);
  }

  /**
   * Read what `save` wrote, or any policy of the same network; without `state` no optimiser state comes with
   * it.
   */
  async restore({
    weights,
    state,
  }: TrainerCheckpoint): Promise<readonly [Trainee, OptimiserState | null]> {
    const [fresh, published] = await readingVersion(weights, () => this.#weights(weights));
    if (state === null) return [fresh, null];
    return readingVersion(state, async () => {
      const [moments, factors] = await this.#state(state, fresh);
      if (published || fresh.adapter === null) return [fresh, moments];
      return [{ ...this.#base, adapter: withFactors(fresh.adapter, factors) }, moments];
    });
  }

  /** The policy to train on, and whether its adapter is the published one. */
  async #weights(checkpoint: Checkpoint): Promise<[Trainee, published: boolean]> {
    const path = localPath(checkpoint);
    const digest = checkpoint.digest ?? '';
    if (this.#options?.publish === 'adapter' && path.endsWith('.safetensors')) {
      const adapter = await loadAdapterFile(path, digest);
      if (adapter !== null) {
        const { baseDigest = this.#baseDigest, ...own } = adapter;
        if (baseDigest !== this.#baseDigest)
          throw digestError(this.#basePath, baseDigest, this.#baseDigest);
        return [{ ...this.#base, adapter: own }, true];
      }
    }
    const { config, tensors } = await loadPolicy(path, digest);
    if (JSON.stringify(config) !== JSON.stringify(this.config))
      throw new Error(`${path} has a different network from the trainer's: start a trainer on it`);
    return [this.#over(tensors), false];
  }

  /** The state for this trainee, and the factors stored with it. */
  async #state(
    checkpoint: Checkpoint,
    { tensors, adapter }: Trainee,
  ): Promise<[OptimiserState, Tensors]> {
    const trained = adapter === null ? tensors : adapterTensors(adapter);
    const factors = adapter === null ? new Map() : trained;
    return loadOptimiser(localPath(checkpoint), checkpoint.digest, trained, factors);
  }

  #over(tensors: Tensors): Trainee {
    const { config } = this.#base;
    if (this.#options === null) return { config, tensors, adapter: null };
    const { adapter } = this.#options;
    if (!('modules' in adapter)) {
      return { config, tensors, adapter: initialAdapter(config, adapter, adapter.seed) };
    }
    checkAdapter(adapter, config, 'the adapter to continue from');
    return { config, tensors, adapter: copied(adapter) };
  }
}

function bytesOf(tensors: Tensors): number {
  let bytes = 0;
  for (const { data } of tensors.values()) bytes += data.byteLength;
  return bytes;
}

/** With factors of its own: training changes them in place. */
function copied(adapter: LoraAdapter): LoraAdapter {
  const tensors = [...adapterTensors(adapter)].map(
    ([name, { shape, data }]) => [name, { shape, data: data.slice() }] as const,
  );
  return withFactors(adapter, new Map(tensors));
}

function withFactors(adapter: LoraAdapter, factors: Tensors): LoraAdapter {
  const modules = [...adapter.modules].map(([module, { a, b, scale }]) => {
    const names = [
      ...adapterTensors({ ...adapter, modules: new Map([[module, { a, b, scale }]]) }),
    ];
    const [[down], [up]] = names as [[string, unknown], [string, unknown]];
    return [module, { a: factors.get(down) ?? a, b: factors.get(up) ?? b, scale }] as const;
  });
  return { ...adapter, modules: new Map(modules) };
}
