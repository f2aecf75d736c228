/**
 * The tools for files as settings open them: a server that sees gets the image and the question, and is asked
 * once; an answer is untrusted.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { toolSettings } from '../../../jobs/tools/toolSettings.ts';
import { toolsOf } from '../../../jobs/tools/toolsOf.ts';
import type { Tool } from '../../../operators/tools/tool.ts';
import { manualClock } from '../../../testing/manualClock.ts';
import { ROOT } from '../../support/exports.ts';
import { freshFolders } from '../../support/folder.ts';
import { answer, type ScriptedServer, scriptedServer } from '../../support/scriptedServer.ts';

const fresh = freshFolders();
const owned: { close(): Promise<void> }[] = [];
let server: ScriptedServer | null = null;
afterEach(async () => {
  for (const one of owned.splice(0).reverse()) await one.close();
  await server?.close();
  server = null;
});

const { signal } = new AbortController();

async function seeing(url: string): Promise<Tool> {
  const folder = fresh();
  for (const name of ['red.png', 'report.pdf']) {
    copyFileSync(join(ROOT, 'test/operators/tools/files/fixtures', name), join(folder, name));
  }
  const tools = toolSettings.parse({
    use: ['visual_question_answering'],
    files: { folder },
    vision: { url, model: 'eyes', server: 'openai' },
    cache: join(folder, 'cache.mdb'),
  });
  const [tool] = await toolsOf({
    settings: { tools, corpus: '', searchTop: 1, searchCharacters: 1 },
    ...{ folder, seed: 1, clock: manualClock(), print: () => undefined },
    own: (resource) => {
      owned.push(resource);
      return resource;
    },
  });
  owned.push(tool!);
  return tool!;
}

const files = ['red.png', 'report.pdf'];

test('a model that sees answers a question about an image, once for all who ask', async () => {
  const said = { choices: [{ message: { content: ' It is \u200bred. ' }, finish_reason: 'stop' }] };
  server = await scriptedServer(answer(said));
  const tool = await seeing(server.url);
  const asked = 'red.png\nWhich colour?';
  const both = await Promise.all([1, 2].map(() => tool.run(asked, signal, { files })));
  expect(both).toEqual(Array(2).fill({ output: 'It is red.', ok: true }));
  const json = JSON.stringify({ image_name: 'red.png', question: 'Which colour?' });
  expect(await tool.run(json, signal, { files })).toEqual(both[0]);
  expect(server.seen).toHaveLength(1);
  expect(server.seen[0]!.body).toMatchObject({
    ...{ model: 'eyes', max_tokens: 5000 },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Which colour?' },
          {
            type: 'image_url',
            image_url: { url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) },
          },
        ],
      },
    ],
  });
});

test('what is no image, and no question, is not sent', async () => {
  server = await scriptedServer(answer({}));
  const tool = await seeing(server.url);
  const told = async (input: string) => (await tool.run(input, signal, { files })).output;
  expect(await told('report.pdf\nWhich colour?')).toMatch(/report\.pdf is not an image/);
  expect(await told('red.png')).toBe('Error: write a question about the image.');
  expect(await told('../red.png\nWhich colour?')).toMatch(/this question has no file/);
  expect(server.seen).toHaveLength(0);
});

test('a server that says nothing is a failed call', async () => {
  server = await scriptedServer(answer({ error: { message: 'no images' } }, 400));
  const tool = await seeing(server.url);
  expect(await tool.run('red.png\nWhich colour?', signal, { files })).toEqual({
    output: 'Error: the vision model gave no answer.',
    ok: false,
  });
});
