/**
 * Providers as they are on this machine. The WebGPU test takes a Vulkan driver from MILLRACE_VULKAN. One that
 * needs no GPU is SwiftShader, in Debian's package chromium-common:
 * /usr/lib/chromium/vk_swiftshader_icd.json.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MillraceError } from '../../../base/errors.ts';
import { savePolicy } from '../../../model/policyFile.ts';
import { EmbeddedEngine } from '../../../model/rollout/embeddedEngine.ts';
import type { Provider } from '../../../model/runtime/provider.ts';
import { EmbeddedTrainer } from '../../../model/train/trainer.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { strongWeights, TINY } from '../rollout/tinyPolicy.ts';

const folder = temporaryFolder();
const policy = join(folder.path, 'policy.safetensors');
beforeAll(() => savePolicy(policy, { config: TINY, tensors: strongWeights(TINY, 1) }));
afterAll(() => folder.remove());

const driver = process.env.MILLRACE_VULKAN ?? '';

/** What a process of its own says: drivers are found once a process. */
function onProvider(provider: Provider, vulkan: string) {
  const script = fileURLToPath(new URL('children/onProvider.ts', import.meta.url));
  const { stdout } = spawnSync(
    process.execPath,
    ['--import', 'tsx', script, provider, policy, folder.path],
    {
      encoding: 'utf8',
      // one that hangs fails instead of hanging the tests
      ...({ timeout: 800_000, killSignal: 'SIGKILL' } as const),
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        ...process.env,
        VK_ICD_FILENAMES: vulkan,
        VK_DRIVER_FILES: vulkan,
        LD_LIBRARY_PATH: [process.env.LD_LIBRARY_PATH, dirname(vulkan)].filter(Boolean).join(':'),
      },
    },
  );
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

const installed = createRequire(import.meta.url).resolve('onnxruntime-node/package.json');
const libraries = join(dirname(installed), 'bin/napi-v6', process.platform, process.arch);
const hasCuda = existsSync(join(libraries, 'libonnxruntime_providers_cuda.so'));
const linux = process.platform === 'linux';

(linux && !hasCuda ? test : test.skip)(
  'CUDA without its libraries is refused by engine and trainer, which say how to get them',
  async () => {
    const clock = { now: () => 0 };
    const starts = [
      () => EmbeddedEngine.create({ weights: policy, provider: 'cuda', threads: 1, clock }),
      () => EmbeddedTrainer.create({ policy, provider: 'cuda' }),
    ];
    for (const start of starts) {
      const error = await start().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(MillraceError);
      expect(error).toMatchObject({
        code: 'PROVIDER',
        message: expect.stringMatching(
          /^the provider cuda cannot be used here: .*; on Linux x64 run 'node node_modules\/onnxruntime-node\/script\/install'.* CUDA 12 and cuDNN 9 .*provider=cpu \(docs\/gpu\.md\)$/,
        ),
      });
    }
  },
);

(linux ? test : test.skip)('so is a provider of another system', async () => {
  await expect(EmbeddedTrainer.create({ policy, provider: 'dml' })).rejects.toMatchObject({
    code: 'PROVIDER',
    message: expect.stringContaining('it needs Windows'),
  });
});

(linux ? test : test.skip)(
  'WebGPU without a driver is refused, and the driver named that it needs',
  () => {
    const { there } = onProvider('webgpu', '/dev/null');
    expect(there.error).toMatchObject({
      code: 'PROVIDER',
      message: expect.stringMatching(
        /^the provider webgpu cannot be used here: Failed to get a WebGPU adapter.*libvulkan1.*provider=cpu \(docs\/gpu\.md\)$/,
      ),
    });
  },
);

const title = 'on WebGPU engine and trainer, at once, do what they do on the CPU';
(driver === '' ? test.skip : test)(
  driver === '' ? `${title} (skipped: name a Vulkan driver's JSON file in MILLRACE_VULKAN)` : title,
  () => {
    const { there, here } = onProvider('webgpu', driver);
    expect(there.error).toBeUndefined();
    // what a policy trained there says of its own tokens, by the engine's graphs and by the trainer's
    for (const [row, { logProbs }] of there.later.entries())
      expect(furthest(logProbs, there.scored[row])).toBeLessThan(1e-3);
    expect(there.loss).toBeCloseTo(here.loss, 3);
    expect(Math.abs(there.gradNorm / here.gradNorm - 1)).toBeLessThan(1e-3);
    for (const [row, { tokens, logProbs }] of there.generated.entries()) {
      expect(tokens).toEqual(here.generated[row].tokens);
      expect(furthest(logProbs, here.generated[row].logProbs)).toBeLessThan(1e-3);
    }
  },
  900_000,
);

function furthest(a: readonly number[], b: readonly number[]): number {
  expect(a.length).toBe(b.length);
  return Math.max(...a.map((value, i) => Math.abs(value - (b[i] as number))));
}
