/**
 * A GGUF file as a policy to convert: its network and weights, and, in a folder that is removed
 * afterwards, the files that its metadata gives a Hugging Face folder.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGguf } from '../../model/gguf/index.ts';
import type { OpenPolicy } from '../../model/hf/index.ts';
import { loadTokenizer } from '../../model/tokenizers/index.ts';

export interface GgufPolicy {
  readonly policy: Pick<OpenPolicy, 'config' | 'tensors' | 'read' | 'close'> & {
    readonly kind: 'gguf';
  };
  readonly folder: string;
  remove(): Promise<void>;
}

/** Tests its own tokenizer before any weights are written. Rejects like `openGguf` and `loadTokenizer`. */
export async function ggufPolicy(path: string, withTokenizer: boolean): Promise<GgufPolicy> {
  const policy = await openGguf(path);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-gguf-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    for (const [name, json] of policy.sideFiles(withTokenizer))
      await writeFile(join(folder, name), `${JSON.stringify(json, null, 2)}\n`);
    if (withTokenizer) await loadTokenizer(folder);
    return { policy: { ...policy, kind: 'gguf' }, folder, remove };
  } catch (error) {
    await policy.close();
    await remove();
    throw error;
  }
}
