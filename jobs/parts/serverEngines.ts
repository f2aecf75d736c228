/** `engine.server=vllm` and `engine.server=sglang`: inference servers (model/remote/serverEngine.ts). */
import { MillraceError } from '../../base/errors.ts';
import { type ServerName, serverEngine, serverSettings } from '../../model/remote/serverEngine.ts';
import type { EngineKind } from './places.ts';

function onServers(server: ServerName): EngineKind<typeof serverSettings> {
  return {
    settings: serverSettings,
    open(settings, place) {
      if (settings.urls === '') {
        throw new MillraceError(
          'USAGE',
          `engine.server=${server} needs engine.urls: http://127.0.0.1:8000, say`,
        );
      }
      return serverEngine(server, settings, place);
    },
  };
}

/** vLLM: adapters, or all weights by its development routes. */
export const vllmEngine = onServers('vllm');
/** SGLang: adapters, or all weights. */
export const sglangEngine = onServers('sglang');
