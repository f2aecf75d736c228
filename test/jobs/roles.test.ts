import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { textRoles } from '../../jobs/roles.ts';
import { textModelSettings } from '../../model/text/configured.ts';
import type { CompletionRequest } from '../../operators/evolve/models.ts';
import { temporaryFolder } from '../support/folder.ts';
import { impatientClock } from '../support/impatientClock.ts';
import { answer, scriptedServer } from '../support/scriptedServer.ts';

const open: { close(): Promise<unknown> | unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

it('a process that never asks a role on a server does not open the file of its replies', async () => {
  const server = await scriptedServer(answer({ choices: [{ message: { content: 'a fault' } }] }));
  const { path: folder, remove } = temporaryFolder();
  open.push({ close: remove }, server);
  const file = join(folder, 'replies.mdb');
  const roleOf = textRoles({
    folder,
    clock: impatientClock(),
    print: () => undefined,
    own: (resource) => {
      open.push(resource);
      return resource;
    },
  });

  const critic = roleOf(textModelSettings.parse({ url: server.url, model: 'judge' }));
  expect(existsSync(file)).toBe(false);

  const request: CompletionRequest = {
    role: 'critic',
    name: 'find',
    draws: ['critic'],
    prompt: 'P',
    continuation: '',
    stop: [],
  };
  const { signal } = new AbortController();
  expect(await critic(request, signal)).toBe('a fault');
  expect(existsSync(file)).toBe(true);
});
