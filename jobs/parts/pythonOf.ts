/** The Python tool as settings: its limits, and who runs the programs. */

import { z } from 'zod';
import { MillraceError } from '../../base/errors.ts';
import { type AddressWords, addressSetting, serverAddress } from '../../base/http/serverAddress.ts';
import type { SleepClock } from '../../base/sleepClock.ts';
import { pythonTool } from '../../operators/tools/python/pythonTool.ts';
import type { Tool } from '../../operators/tools/tool.ts';
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
    .describe('time of one program; the papers allow 30 to 120 seconds'),
  memoryMaxMiB: z
    .union([z.literal(0), positiveInt.min(64).max(4096)])
    .default(0)
    .describe(
      'most memory of one program in MiB, from 64 to 4096; 0 = 256 here, and on a server what it has',
    ),
  characters: positiveInt
    .max(1_000_000)
    .default(1000)
    .describe('most characters of what a program gives'),
  processes: positiveInt
    .max(64)
    .default(1)
    .describe('programs that may run at once, here each in a process of about 250 MiB'),
  spares: z
    .number()
    .int()
    .min(0)
    .max(64)
    .default(1)
    .describe('more such processes, kept ready for when a program breaks its own'),
  url: addressSetting(PYTHON_SERVER)
    .default('')
    .describe(
      'server with SandboxFusion’s interface (POST /run_code) that runs the programs; empty = this machine, in a sandbox',
    ),
  keyEnv: z.string().default('').describe('environment variable with that server’s API key'),
  tries: positiveInt.default(3).describe('tries of a program, where that server does not answer'),
  retryDelayMs: z.number().nonnegative().default(1000).describe('wait between tries'),
});

/** `pythonSettings` with all defaults filled in. */
export type PythonSettings = z.infer<typeof pythonSettings>;

interface Situation {
  readonly clock: SleepClock;
  readonly print: (line: string) => void;
  readonly replay?: Replay;
}

/** The tool, with packages that were added. Fails with `USAGE` and as `pythonPackages` does. */
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
    if (added.length > 0) print(`the Python tool has ${added.map(({ name }) => name).join(', ')}`);
    return pythonTool({ ...limits, spares, packages: added });
  }
  if (packages !== 'all' && packages.length > 0) {
    throw new MillraceError(
      'USAGE',
      'tools.packages says nothing where tools.python.url names a server: it has packages of its own',
    );
  }
  const { keyEnv, tries: triesMax, retryDelayMs } = settings;
  const key = keyOf(situation, keyEnv, 'the Python server’s');
  print(`Python programs run on ${url}`);
  const server = { url: serverAddress(url, PYTHON_SERVER), key, clock, triesMax, retryDelayMs };
  return pythonTool({ ...limits, server });
}
