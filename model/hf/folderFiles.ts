/** The names of the files of a Hugging Face folder, and its digest. */
import { createHash } from 'node:crypto';

export const CONFIG_FILE = 'config.json';
export const WEIGHTS_FILE = 'model.safetensors';
export const INDEX_FILE = 'model.safetensors.index.json';
/** PEFT's name for the file that holds rank, alpha and modules. */
export const ADAPTER_CONFIG = 'adapter_config.json';
/** PEFT's name for the file that holds the factors. */
export const ADAPTER_WEIGHTS = 'adapter_model.safetensors';

/**
 * The digest of a folder: sha256 over `<sha256> <name>\n` of `config.json` and the weight files in the order
 * of their names, as `sha256sum config.json *.safetensors | sha256sum` prints it.
 */
export function digestOf(files: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const [name, sha256] of [...files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${sha256}  ${name}\n`);
  return hash.digest('hex');
}
