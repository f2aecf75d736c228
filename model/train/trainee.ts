/**
 * What a trainer trains, and how it comes out of files and goes back: a policy, or an adapter over a fixed policy.
 *
 * With an adapter a save writes either the merged policy (anything can read it; the factors then lie in the
 * optimiser's file, and a restore without that file begins a new adapter on the merged weights) or the adapter alone
 * (adapterFile.ts), from which everything is restored.
 */
import { loadAdapterFile, saveAdapterFile, withAdapter } from '../adapterFile.ts';
import type { DecoderConfig, Tensors } from '../config.ts';
import type { SavedState } from '../engine.ts';
import { loadPolicy } from '../hf/loadPolicy.ts';
import { type InitialAdapter, initialAdapter, type LoraAdapter } from '../hf/lora.ts';
import { type Policy, savePolicy } from '../policyFile.ts';
import { adapterTensors, type OptimiserState, type Trainee } from './learner.ts';
import { loadOptimiser, saveOptimiser } from './optimiserFile.ts';

export interface AdapterOptions {
  /** A first adapter, or an adapter to go on with. */
  readonly adapter: (InitialAdapter & { readonly seed: number }) | LoraAdapter;
  /** What a save writes as weights. `adapter` needs a policy that lies in a file or folder. */
  readonly publish: 'merged' | 'adapter';
}

export interface StateFiles {
  readonly weights: string;
  readonly optimiser?: string;
}

/** A policy's place, or the policy itself. */
export type PolicySource = string | Policy;

export class TraineeFiles {
  readonly #options: AdapterOptions | null;
  readonly #base: Policy;
  /** Where the policy under the adapter lies; '' when it is in memory alone. */
  readonly #basePath: string;

  private constructor(options: AdapterOptions | null, base: Policy, basePath: string) {
    this.#options = options;
    this.#base = base;
    this.#basePath = basePath;
  }

  static async open(source: PolicySource, options: AdapterOptions | null): Promise<TraineeFiles> {
    const inFile = typeof source === 'string';
    if (options?.publish === 'adapter' && !inFile)
      throw new Error(
        'an adapter is published with the place of its policy: give `policy` as a path',
      );
    const base = inFile ? await loadPolicy(source) : source;
    return new TraineeFiles(options, base, inFile ? source : '');
  }

  get config(): DecoderConfig {
    return this.#base.config;
  }

  /** What training begins with. */
  first(): Trainee {
    return this.#over(this.#base.tensors);
  }

  /** Write the weights, and the optimiser's state where it is asked for. */
  async save(
    { weights, optimiser }: StateFiles,
    trainee: Trainee,
    state: OptimiserState,
  ): Promise<SavedState> {
    const { config, tensors, adapter } = trainee;
    const trained = adapter === null ? tensors : adapterTensors(adapter);
    if (optimiser !== undefined)
      await saveOptimiser(optimiser, state, trained, adapter === null ? new Map() : trained);
    if (adapter === null) return savePolicy(weights, { config, tensors });
    if (this.#options?.publish === 'adapter')
      return saveAdapterFile(weights, { ...adapter, base: this.#basePath });
    return savePolicy(weights, withAdapter({ config, tensors }, adapter));
  }

  /** Read what `save` wrote, or any policy of the same network. */
  async restore({ weights, optimiser }: StateFiles): Promise<[Trainee, OptimiserState | null]> {
    const published = this.#options?.publish === 'adapter' ? await loadAdapterFile(weights) : null;
    if (published !== null) {
      const trainee = { ...this.#base, adapter: published };
      return [trainee, optimiser === undefined ? null : (await this.#state(optimiser, trainee))[0]];
    }
    const { config, tensors } = await loadPolicy(weights);
    if (JSON.stringify(config) !== JSON.stringify(this.config))
      throw new Error(`${weights} holds another network than the trainer's: start a trainer on it`);
    const fresh = this.#over(tensors);
    if (optimiser === undefined) return [fresh, null];
    const [state, factors] = await this.#state(optimiser, fresh);
    if (fresh.adapter === null) return [fresh, state];
    const adapter = withFactors(fresh.adapter, factors);
    return [{ ...this.#base, adapter }, state];
  }

  /** The state for this trainee, and the factors that lie beside it. */
  async #state(path: string, { tensors, adapter }: Trainee): Promise<[OptimiserState, Tensors]> {
    const trained = adapter === null ? tensors : adapterTensors(adapter);
    return loadOptimiser(path, trained, adapter === null ? new Map() : trained);
  }

  #over(tensors: Tensors): Trainee {
    const { config } = this.#base;
    if (this.#options === null) return { config, tensors, adapter: null };
    const { adapter } = this.#options;
    const made =
      'modules' in adapter ? copied(adapter) : initialAdapter(config, adapter, adapter.seed);
    return { config, tensors, adapter: made };
  }
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
