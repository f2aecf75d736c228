/** math-verify in the sandbox, from the wheels in the folder MILLRACE_WHEELS. */
import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MathVerifier, mathVerifier } from '../../operators/rewards/mathVerify.ts';
import type { VerifyAnswer } from '../../operators/rewards/toolStar.ts';
import { packageCompiler } from '../../operators/tools/python/packages/compile.ts';
import { pyodideLock, withNeeded } from '../../operators/tools/python/packages/lock.ts';
import type { NamedPackage } from '../../operators/tools/python/pythonTool.ts';

export interface WheelVerifier {
  /** Null without the wheels. */
  verify(): Promise<VerifyAnswer | null>;
  close(): Promise<void>;
}

const wheels = process.env.MILLRACE_WHEELS ?? '';
const needed = withNeeded(pyodideLock(), ['math-verify']);

/** Whether all that it needs is there. */
export const hasVerifier =
  wheels !== '' && needed.every(({ file }) => readdirSync(wheels).includes(file));

/** Opened by the first that asks. */
export function verifierOfWheels(): WheelVerifier {
  let opened: Promise<{ readonly verifier: MathVerifier; readonly folder: string }> | null = null;
  return {
    async verify() {
      if (!hasVerifier) return null;
      opened ??= open();
      return (await opened).verifier.verify;
    },
    async close() {
      if (opened === null) return;
      const { verifier, folder } = await opened;
      await verifier.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-verifier-'));
  const compiler = packageCompiler();
  try {
    const packages: NamedPackage[] = [];
    for (const { name, version, file, native, imports } of needed) {
      const path = join(folder, `${name}-${version}.zip`);
      await writeFile(path, await compiler.archive(name, await readFile(join(wheels, file))));
      packages.push({ name, path, native, imports });
    }
    return { verifier: mathVerifier({ packages }), folder };
  } finally {
    await compiler.close();
  }
}
