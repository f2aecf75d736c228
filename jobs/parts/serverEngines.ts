/** `engine.server=vllm` and the like: inference servers, each by its wire (model/remote/wires). */
import { MillraceError, placeSetting } from '../../base/index.ts';
import { serverEngine, serverSettings } from '../../model/remote/index.ts';
import { type ServerName, serverNames } from '../../model/remote/wires/index.ts';
import type { EngineKind } from './places.ts';

/** The settings of all wires. */
export const engineOnServers = {
  ...serverSettings,
  urls: placeSetting(serverSettings.urls),
  keyEnv: placeSetting(serverSettings.keyEnv),
  receivers: placeSetting(serverSettings.receivers),
  receiverKeyEnv: placeSetting(serverSettings.receiverKeyEnv),
  timeoutMs: placeSetting(serverSettings.timeoutMs),
  awayMaxMs: placeSetting(serverSettings.awayMaxMs),
};

function onServers(server: ServerName): EngineKind<typeof engineOnServers> {
  return {
    settings: engineOnServers,
    open(chosen, place) {
      if (chosen.urls === '') {
        throw new MillraceError(
          'USAGE',
          `engine.server=${server} needs engine.urls, such as http://127.0.0.1:8000`,
        );
      }
      const awayMaxMs = Math.min(chosen.awayMaxMs, place.patienceMs);
      return serverEngine(server, { ...chosen, awayMaxMs }, place);
    },
  };
}

/** By the server's name. */
export const serverEngines = Object.fromEntries(
  serverNames.map((server) => [server, onServers(server)]),
) as Readonly<Record<ServerName, EngineKind<typeof engineOnServers>>>;
