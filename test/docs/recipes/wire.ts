/**
 * The server by its name in settings, over one that answers as the wire says: a generation, then other
 * weights.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { engineSettings } from '../../../jobs/parts/engines.ts';
import { publishFromDisk } from '../../../model/remote/publish.ts';
import { RemoteEngine } from '../../../model/remote/remoteEngine.ts';
import { serverEngine, serverSettings } from '../../../model/remote/serverEngine.ts';
import { type ServerName, serverWires } from '../../../model/remote/wires/wires.ts';
import { scriptedPolicy } from '../../../testing/scriptedPolicy.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { answer, scriptedServer } from '../../support/scriptedServer.ts';
import { tinyWords } from '../../support/tinyWords.ts';

const name = 'acme' as ServerName;

interface Asked {
  readonly prompt: readonly number[];
  readonly max: number;
  readonly stop: readonly number[];
  readonly temperature: number;
  readonly top: number;
  readonly seed: number;
}

const policy = scriptedPolicy({
  tokenizer: tinyWords,
  script: () => 'one<|end|>',
  topLogProbs: () => [-0.5, -2],
});

export default async function run(folder: string): Promise<unknown> {
  let weights = 'first';
  const server = await scriptedServer(async (seen, response) => {
    if (seen.path === '/about') return answer({ longest: 300 })(seen, response);
    if (seen.path === '/weights') {
      weights = String(seen.body?.label);
      return answer({})(seen, response);
    }
    const { prompt, max, stop, temperature, top, seed } = seen.body as unknown as Asked;
    const made = await policy.generate({
      ...{ tokens: Int32Array.from(prompt), maxTokens: max, stopTokens: stop, temperature },
      ...{ topLogProbs: top, draws: ['acme', seed] },
    });
    const nats = [...made.logProbs];
    return answer({ ids: [...made.tokens], nats, top: made.topLogProbs, weights })(seen, response);
  });
  const settings = engineSettings.parse({ server: name, urls: server.url, publish: 'none' });
  const place = {
    ...{ policy: null, policyName: 'x', tokenizer: tinyWords, contextMax: 100 },
    ...{ folder, clock: impatientClock(), print: () => undefined },
  };
  const served = await serverEngine(name, z.object(serverSettings).parse(settings), place);
  const request = {
    ...{ tokens: Int32Array.of(1, 2), maxTokens: 4, temperature: 1, draws: ['x', 0] },
    ...{ stopTokens: [tinyWords.endToken], topLogProbs: 0 },
  };
  const made = await served.generate(request);
  await served.close();
  const engine = await RemoteEngine.create({
    ...{ wire: serverWires[name], urls: [server.url], clock: impatientClock(), version: 0 },
    publisher: publishFromDisk(({ uri }) => uri),
  });
  const uri = join(folder, 'v1');
  writeFileSync(uri, 'weights');
  await engine.load({ version: 1, uri, digest: null });
  const { version } = await engine.generate(request);
  await engine.close();
  await server.close();
  return {
    server: settings.server,
    contextMax: served.contextMax,
    text: tinyWords.decode([...made.tokens]),
    version,
  };
}
