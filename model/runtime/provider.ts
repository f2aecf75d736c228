/**
 * What ONNX Runtime can compute on, and what to say when a provider cannot be used here.
 *
 * The same graphs run on each. The CPU is always there, and is the only one whose bits we promise.
 */
import { MillraceError, messageOf } from '../../base/index.ts';

/** The execution providers of ONNX Runtime that can be chosen (docs/gpu.md says what each needs). */
export const providers = ['cpu', 'webgpu', 'cuda', 'tensorrt', 'dml', 'coreml'] as const;
/** One of `providers`. */
export type Provider = (typeof providers)[number];

const NVIDIA =
  "on Linux x64 run 'node node_modules/onnxruntime-node/script/install', which downloads the libraries of the " +
  'provider, and install CUDA 12 and cuDNN 9 where the loader finds them';

/** What a provider needs. */
const NEEDS: Readonly<Record<Provider, string>> = {
  cpu: 'reinstall onnxruntime-node for this machine',
  webgpu:
    "it needs a GPU with a driver for Vulkan (Linux: also its loader, libvulkan1, and 'vulkaninfo --summary' must " +
    'show the GPU), Direct3D 12 (Windows) or Metal (macOS)',
  cuda: NVIDIA,
  tensorrt: `${NVIDIA}, and TensorRT 10`,
  dml: 'it needs Windows and a GPU with a driver for Direct3D 12',
  coreml: 'it needs macOS',
};

const ELSE = 'or run with provider=cpu (docs/gpu.md)';

/** The provider could not be opened. */
export function notOpened(provider: Provider, cause: unknown): MillraceError<'PROVIDER'> {
  // native messages begin with the place in the source
  const reason = messageOf(cause).split(' was false. ').at(-1)?.trim();
  return new MillraceError(
    'PROVIDER',
    `the provider ${provider} cannot be used here: ${reason}; ${NEEDS[provider]}, ${ELSE}`,
    { context: { provider }, cause },
  );
}

/** The provider computes something else than the CPU. */
export function notTrusted(
  provider: Provider,
  graph: string,
  what: string,
  context: Readonly<Record<string, unknown>>,
): MillraceError<'PROVIDER'> {
  return new MillraceError(
    'PROVIDER',
    `the provider ${provider} computes ${graph} wrongly: ${what}; update its driver, choose another provider, ${ELSE}`,
    { context: { provider, graph, ...context } },
  );
}
