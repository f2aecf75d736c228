import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { checkSettings, parseSetting } from '../../../cli/settings.ts';
import {
  configuredTextModel,
  samplingOf,
  textModelSettings,
} from '../../../model/text/configured.ts';
import { openReplies } from '../../../model/text/replyStore.ts';
import { scripted } from '../../../model/text/scripted.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { impatientClock } from '../../support/impatientClock.ts';
import { answer, scriptedServer } from '../../support/scriptedServer.ts';

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const job = z.object({ critic: textModelSettings.prefault({}) });
type Job = z.infer<typeof job>;

/** The critic's settings as a command line gives them. */
function set(...given: readonly string[]): Job['critic'] {
  return (checkSettings(job, given.map(parseSetting)) as Job).critic;
}

const parts = { own: () => scripted(() => 'own'), clock: impatientClock() };
const ask = { draws: [1], prompt: 'P', ...samplingOf(set()) };

describe('a configured model', () => {
  it('is the job’s own if no URL is set', async () => {
    expect(await configuredTextModel(set(), parts).complete(ask)).toBe('own');
  });

  it('is a server if a URL is set, and is asked nothing twice', async () => {
    const server = await scriptedServer(answer({ choices: [{ message: { content: 'theirs' } }] }));
    const folder = temporaryFolder();
    const replies = openReplies(join(folder.path, 'replies.mdb'));
    open.push(
      folder.remove,
      () => replies.close(),
      () => server.close(),
    );
    const settings = set(`critic.url=${server.url}/v1 , ${server.url}`, 'critic.model=judge');
    for (let start = 0; start < 2; start++) {
      const model = configuredTextModel(settings, { ...parts, replies });
      expect(await model.complete(ask)).toBe('theirs');
      await model.close();
    }
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]!.body).toMatchObject({ model: 'judge', messages: [{ content: 'P' }] });
  });

  it('samples as its settings say', () => {
    expect(samplingOf(set('critic.temperature=0.6', 'critic.topP=0.95', 'critic.topK=20'))).toEqual(
      {
        maxTokens: 1024,
        temperature: 0.6,
        topP: 0.95,
        topK: 20,
        minP: 0,
        repetitionPenalty: 1,
      },
    );
  });

  it.each([
    [['critic.url=http://h'], /model/],
    [['critic.url=h:1', 'critic.model=m'], /http/],
    [['critic.url=http://h', 'critic.model=m', 'critic.api=completions'], /template/],
    [['critic.url=http://h', 'critic.model=m', 'critic.keyEnv=MILLRACE_NO_KEY'], /MILLRACE_NO_KEY/],
  ])('says what is wrong with %j', (given, said) => {
    expect(() => configuredTextModel(set(...given), parts)).toThrow(said);
  });
});
