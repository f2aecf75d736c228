/**
 * Weights that stay where they are: the manifest of a Hugging Face folder that a run reads and does not copy. Its digest is
 * in the manifest, so an engine refuses the folder once it has changed.
 */
import { stat } from 'node:fs/promises';
import { relative } from 'node:path';
import { openPolicy, passOver } from '../model/hf/loadPolicy.ts';
import type { Weights } from '../streams/records.ts';

/** Version 0 at `path`, a folder; `file` of the manifest is relative to the run folder, as always. */
export async function linkedWeights(path: string, runFolder: string): Promise<Weights> {
  const policy = await openPolicy(path);
  try {
    const sha256 = await passOver(path, policy, true, () => undefined);
    const sizes = await Promise.all(policy.files.map((file) => stat(file.path)));
    return {
      ...{ version: 0, parent: -1, step: 0, roundsDone: 0, sha256, optimiser: '', consumed: null },
      file: relative(runFolder, path),
      bytes: sizes.reduce((sum, { size }) => sum + size, 0),
    };
  } finally {
    await policy.close();
  }
}
