/**
 * The tools that settings name: what each needs is asked for before the first rollout, and a replay needs
 * none of it.
 */
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { sleepClock } from '../../../base/sleepClock.ts';
import { checkSettings, parseSetting } from '../../../cli/settings.ts';
import type { Replay } from '../../../jobs/defineJob.ts';
import { pythonOf } from '../../../jobs/tools/pythonOf.ts';
import { type ToolSettings, toolSettings } from '../../../jobs/tools/toolSettings.ts';
import { toolsOf } from '../../../jobs/tools/toolsOf.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { temporaryFolder } from '../../support/folder.ts';

const folder = temporaryFolder();
const owned: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of owned.splice(0).reverse()) await one.close();
  delete process.env.A_TEST_KEY;
  delete process.env.SERPER_API_KEY;
});
afterAll(() => folder.remove());

function settings(...given: readonly string[]): ToolSettings {
  const schema = z.object({ tools: toolSettings });
  const all = ['tools.cache=none', ...given].map(parseSetting);
  return (checkSettings(schema, all) as { tools: ToolSettings }).tools;
}

async function tools(given: readonly string[], replay?: Replay): Promise<readonly string[]> {
  const made = await toolsOf({
    settings: {
      ...{ tools: settings(...given), corpus: '', searchTop: 4, searchCharacters: 100 },
    },
    ...{ folder: folder.path, seed: 1, clock: manualClock(), print: () => undefined },
    own: (resource) => {
      owned.push(resource);
      return resource;
    },
    ...(replay === undefined ? {} : { replay }),
  });
  owned.push(...made);
  return made.map(({ name }) => name);
}

const searxng = ['tools.search.provider=searxng', 'tools.search.url=http://127.0.0.1:8888/search'];

const retriever = (where: string): readonly string[] => [
  'tools.search.provider=retriever',
  `tools.search.${where}`,
];

describe('the tools of a job', () => {
  test('are those that are named, and search if a search provider is set', async () => {
    expect(await tools([])).toEqual(['python']);
    expect(await tools(searxng)).toEqual(['python', 'search']);
    expect(await tools(['tools=none', ...searxng])).toEqual(['search']);
    expect(await tools([...searxng, 'tools=browse,search'])).toEqual(['browse', 'search']);
    expect(await tools(['tools=["browse"]'])).toEqual(['browse']);
  });

  test.each<[RegExp, ...string[]]>([
    [/needs documents .*corpus=FILE.*tools\.search\.provider/, 'tools=search'],
    [/searxng needs its URL/, 'tools.search.provider=searxng'],
    [/json needs the URL of the service/, 'tools.search.provider=json'],
    [/json needs the URL/, 'tools.search.provider=json', 'tools.search.url=ftp://a/{query}'],
    [/cache needs a cache/, 'tools.search.provider=cache'],
    [/retriever needs either the folder of an index/, 'tools.search.provider=retriever'],
    [
      /needs either the folder of an index/,
      ...retriever('url=http://127.0.0.1:1'),
      'tools.search.index=x',
    ],
    [/not a valid URL for a retriever/, ...retriever('url=ftp://a')],
    [/nowhere does not exist: give the folder of an index/, ...retriever('index=nowhere')],
    [/give the folder of the encoder/, ...retriever('index=qdrant://127.0.0.1:1/wiki')],
    [/has no collection/, ...retriever('index=qdrant://127.0.0.1:1')],
    [/A_TEST_KEY is empty/, ...retriever('url=http://a'), 'tools.search.keyEnv=A_TEST_KEY'],
    [/SERPER_API_KEY is empty/, 'tools.search.provider=serper'],
    [/A_TEST_KEY is empty/, 'tools.search.provider=bing', 'tools.search.keyEnv=A_TEST_KEY'],
    [/carries credentials/, 'tools.python.url=http://a:b@c'],
    [/need the folder .* set tools\.files\.folder/, 'tools=process_file'],
    [/nowhere is not a folder/, 'tools=process_file', 'tools.files.folder=nowhere'],
    [
      /needs a vision model: set tools\.vision\.url/,
      'tools=visual_question_answering',
      'tools.files.folder=.',
    ],
    [
      /tools\.vision\.api=completions does not accept images/,
      ...['tools=visual_question_answering', 'tools.files.folder=.'],
      ...['tools.vision.url=http://127.0.0.1:1', 'tools.vision.api=completions'],
    ],
    [/timeoutMs.*3600000/, 'tools.python.timeoutMs=3600001'],
    [/memoryMaxMiB/, 'tools.python.memoryMaxMiB=10'],
    [/characters/, 'tools.python.characters=0'],
    [
      /tools\.packages has no effect/,
      'tools.python.url=http://127.0.0.1:1',
      'tools.packages=sympy',
    ],
    [
      /tools\.cachePython=true cannot be used/,
      'tools.python.url=http://127.0.0.1:1',
      'tools.cachePython=true',
    ],
    [/A_TEST_KEY is empty/, 'tools.python.url=http://a', 'tools.python.keyEnv=A_TEST_KEY'],
    [/contains a password/, 'tools.search.provider=searxng', 'tools.search.url=http://a:b@c'],
    [
      /A_TEST_KEY is empty/,
      'tools=browse',
      'tools.pages.provider=reader',
      'tools.pages.keyEnv=A_TEST_KEY',
    ],
  ])('%s: %s', async (why, ...given) => {
    await expect(tools(given)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringMatching(why),
    });
  });

  test('state for the policy the limits of Python programs', async () => {
    const { python } = settings('tools.python.timeoutMs=120000', 'tools.python.characters=400');
    const clock = sleepClock(manualClock());
    const tool = await pythonOf(python, [], { clock, print: () => undefined });
    owned.push(tool);
    expect(tool.about).toContain('A program may take 120 s; 400 characters of what it gives');
  });

  test('need no key on a replay, which makes no requests', async () => {
    const replay: Replay = { engine: (live) => live, tools: (live) => live, keepAll: false };
    expect(await tools(['tools.search.provider=serper'], replay)).toEqual(['python', 'search']);
    expect(await tools(retriever('index=nowhere'), replay)).toEqual(['python', 'search']);
  });

  test('share one file of cached results', async () => {
    const cache = join(folder.path, 'kept.mdb');
    const given = ['tools.search.provider=cache', `tools.cache=${cache}`, 'tools=python,browse'];
    expect(await tools([...given, 'tools.cachePython=true'])).toEqual([
      'python',
      'browse',
      'search',
    ]);
  });
});

test('the list of tools of an older run is combined with other settings', () => {
  const schema = z.object({ tools: toolSettings });
  const given = ['tools.search.top=3'].map(parseSetting);
  const { tools: both } = checkSettings(schema, given, { tools: ['search'] }) as {
    tools: ToolSettings;
  };
  expect([both.use, both.search.top]).toEqual([['search'], 3]);
});
