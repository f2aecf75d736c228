/** The Python tool as settings: its limits, and what runs the programs. */

import { z } from 'zod';
import { type AddressWords, addressSetting, serverAddress } from '../../base/http/index.ts';
import { MillraceError, type SleepClock } from '../../base/index.ts';
import type { Tool } from '../../operators/tools/index.ts';
import { pythonTool } from '../../operators/tools/python/index.ts';
import type { Replay } from '../defineJob.ts';
import { positiveInt } from '../policySettings.ts';
import { keyOf } from './keyOf.ts';
import { pythonPackages } from './pythonPackages.ts';

const PYTHON_SERVER: AddressWords = { what: 'a Python server', suffix: '/run_code' };

/** The settings of the Python tool. */
export const pythonSettings = z.object({
  timeoutMs: positiveInt
    .max(3_600_000)
    .default(10_000)
    .describe('time limit per program; the papers allow 30 to 120 seconds'),
  memoryMaxMiB: z
    .union([z.literal(0), positiveInt.min(64).max(4096)])
    .default(0)
    .describe(
      'memory limit per program in MiB, 64 to 4096; 0 = 256 here, or the server’s own limit',
    ),
  characters: positiveInt
    .max(1_000_000)
    .default(1000)
    .describe('maximum characters of a program’s output'),
  processes: positiveInt
    .max(64)
    .default(1)
    .describe('concurrent programs; here each takes a process of about 250 MiB'),
  spares: z
    .number()
    .int()
    .min(0)
    .max(64)
    .default(1)
    .describe('spare processes, ready to replace one that a program crashes'),
  url: addressSetting(PYTHON_SERVER)
    .default('')
    .describe(
      'server with SandboxFusion’s API (POST /run_code) that runs the programs; empty = a sandbox on this machine',
    ),
  keyEnv: z.string().default('').describe('environment variable that holds that server’s API key'),
  tries: positiveInt.default(3).describe('attempts per program if that server does not answer'),
  retryDelayMs: z.number().nonnegative().default(1000).describe('wait between attempts'),
});

/** `pythonSettings` with all defaults filled in. */
export type PythonSettings = z.infer<typeof pythonSettings>;

interface Situation {
  readonly clock: SleepClock;
  readonly print: (line: string) => void;
  readonly replay?: Replay;
}

/** The tool, with packages that were added. Fails with `USAGE` and like `pythonPackages`. */
export async function pythonOf(
  settings: PythonSettings,
  packages: 'all' | readonly string[],
  situation: Situation,
): Promise<Tool> {
  const { timeoutMs, memoryMaxMiB, characters: outputMax, processes, spares, url } = settings;
  const limits = { timeoutMs, outputMax, processes, ...(memoryMaxMiB > 0 && { memoryMaxMiB }) };
  const { clock, print } = situation;
  if (url === '') {
    const added = await pythonPackages(packages);
    if (added.length > 0)
      print(`packages of the Python tool: ${added.map(({ name }) => name).join(', ')}`);
    return pythonTool({ ...limits, spares, packages: added });
  }
  if (packages !== 'all' && packages.length > 0) {
    throw new MillraceError(
      'USAGE',
      'tools.packages has no effect with tools.python.url: the server has its own packages',
    );
  }
  const { keyEnv, tries: triesMax, retryDelayMs } = settings;
  const key = keyOf(situation, keyEnv, 'the Python server’s');
  print(`running Python programs on ${url}`);
  const server = { url: serverAddress(url, PYTHON_SERVER), key, clock, triesMax, retryDelayMs };
  return pythonTool({ ...limits, server });
}
