/** The routes by which vLLM and SGLang load and unload LoRA adapters: the same except for their paths. */
import type { AdapterWire } from './serverWire.ts';

/** `root` is `''` or a path: `/v1`. */
export function adaptersBelow(root: string): AdapterWire {
  return {
    load: (name, folder) => ({
      path: `${root}/load_lora_adapter`,
      body: { lora_name: name, lora_path: folder },
    }),
    unload: (name) => ({ path: `${root}/unload_lora_adapter`, body: { lora_name: name } }),
    isLoaded: (reason) => /already been loaded|is already loaded/.test(reason),
    isLost: (reason) => /adapter that has never been loaded|adapters are not loaded/.test(reason),
  };
}
