/** `engine.server=vllm` and `engine.server=sglang`: inference servers (model/remote/serverEngine.ts). */
import { MillraceError, placeSetting } from '../../base/index.ts';
import { type ServerName, serverEngine, serverSettings } from '../../model/remote/index.ts';
import type { EngineKind } from './places.ts';

const settings = {
  ...serverSettings,
  urls: placeSetting(serverSettings.urls),
  keyEnv: placeSetting(serverSettings.keyEnv),
  timeoutMs: placeSetting(serverSettings.timeoutMs),
  awayMaxMs: placeSetting(serverSettings.awayMaxMs),
};

function onServers(server: ServerName): EngineKind<typeof settings> {
  return {
    settings,
    open(chosen, place) {
      if (chosen.urls === '') {
        throw new MillraceError(
          'USAGE',
          `engine.server=${server} needs engine.urls, such as http://127.0.0.1:8000`,
        );
      }
      return serverEngine(server, chosen, place);
    },
  };
}

/** vLLM: adapters, or all weights by its development routes. */
export const vllmEngine = onServers('vllm');
/** SGLang: adapters, or all weights. */
export const sglangEngine = onServers('sglang');
