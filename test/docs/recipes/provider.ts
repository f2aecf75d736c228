/** The provider by its name in settings, over a server that answers as Wikipedia does. */
import { tmpdir } from 'node:os';
import { toolSettings } from '../../../jobs/tools/toolSettings.ts';
import { toolsOf } from '../../../jobs/tools/toolsOf.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { answer, scriptedServer } from '../../support/scriptedServer.ts';

const page = {
  ...{ ns: 0, title: 'Mill race', pageid: 20, timestamp: '2025-03-02T10:00:00Z' },
  snippet: 'A <span class="searchmatch">mill</span> race drives a wheel.',
};

export default async function run(): Promise<unknown> {
  const server = await scriptedServer(answer({ query: { search: [page] } }));
  const owned: { close(): Promise<void> }[] = [];
  const search = { provider: 'wikipedia', url: server.url, top: 3 };
  const tools = await toolsOf({
    settings: {
      tools: toolSettings.parse({ use: 'none', search, cache: 'none' }),
      ...{ corpus: '', searchTop: 1, searchCharacters: 100 },
    },
    ...{ folder: tmpdir(), seed: 1, clock: manualClock(), print: () => undefined },
    own(one) {
      owned.push(one);
      return one;
    },
  });
  const { output, ok } = await tools[0]!.run('mill race', new AbortController().signal);
  for (const one of [...tools, ...owned]) await one.close();
  await server.close();
  return { output, ok, asked: server.seen.map(({ path }) => path) };
}
