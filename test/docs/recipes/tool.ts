/** The tool by its name in settings, called. */
import { tmpdir } from 'node:os';
import { toolSettings } from '../../../jobs/tools/toolSettings.ts';
import { toolsOf } from '../../../jobs/tools/toolsOf.ts';
import { callTools } from '../../../operators/callTools.ts';
import { manualClock } from '../../../testing/manualClock.ts';

export default async function run(): Promise<unknown> {
  const clock = manualClock();
  const tools = await toolsOf({
    settings: {
      tools: toolSettings.parse({ use: 'calculator', cache: 'none' }),
      ...{ corpus: '', searchTop: 1, searchCharacters: 100 },
    },
    ...{ folder: tmpdir(), seed: 1, clock, print: () => undefined, own: (one) => one },
  });
  const called = callTools(tools, { clock });
  const output = (input: string) => called.call('calculator', input, new AbortController().signal);
  return [await output('2+3*4'), await output('2+x')].map(({ output, ok }) => ({ output, ok }));
}
