import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { open as lmdb } from 'lmdb';
import { type CachedOptions, cached, keyOf } from '../../../model/text/cached.ts';
import { openReplies, type ReplyStore } from '../../../model/text/replyStore.ts';
import { type Script, scripted } from '../../../model/text/scripted.ts';
import type { TextRequest } from '../../../model/text/textModel.ts';
import { temporaryFolder } from '../../support/folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
let replies: ReplyStore;
const open = () => openReplies(join(folder.path, 'deep', 'replies.mdb'));
beforeEach(() => {
  folder = temporaryFolder();
  replies = open();
});
afterEach(async () => {
  await replies.close();
  folder.remove();
});

/** A cached model, and how often the underlying model was asked. */
function counted(script: Script, options: Partial<CachedOptions> = {}) {
  let asked = 0;
  const model = cached(
    scripted((each) => {
      asked++;
      return script(each);
    }),
    { id: 'm', replies, ...options },
  );
  return { model, asked: () => asked };
}

const ask: TextRequest = {
  draws: [1, 'q', 'a'],
  prompt: 'P',
  maxTokens: 5,
  temperature: 1,
};

describe('a cached model', () => {
  it('asks nothing twice, even after a restart', async () => {
    const { model, asked } = counted(({ prompt }) => `on ${prompt}: äöü\n`);
    expect(await model.complete(ask)).toBe('on P: äöü\n');
    expect(await model.complete(ask)).toBe('on P: äöü\n');
    expect(asked()).toBe(1);
    await replies.close();
    replies = open();
    const after = counted(() => 'another');
    expect(await after.model.complete(ask)).toBe('on P: äöü\n');
    expect(after.asked()).toBe(0);
  });

  it('takes no changed reply and no truncated file', async () => {
    const { model } = counted(() => 'a reply of many words');
    await model.complete(ask);
    await replies.close();
    const path = join(folder.path, 'deep', 'replies.mdb');
    const bytes = readFileSync(path);
    bytes[bytes.lastIndexOf('many')]! ^= 1;
    writeFileSync(path, bytes);
    replies = open();
    await expect(counted(() => 'another').model.complete(ask)).rejects.toMatchObject({
      code: 'DAMAGED',
      message: expect.stringMatching(
        /replies\.mdb holds a reply whose checksum does not match.*delete it/,
      ),
    });
    await replies.close();
    writeFileSync(path, bytes.subarray(0, 9000));
    expect(open).toThrow(/replies\.mdb is cut short.*requested again/);
    writeFileSync(path, '');
    replies = open();
    expect(await counted(() => 'again').model.complete(ask)).toBe('again');
  });

  it('reads replies kept before checksums were introduced', async () => {
    await replies.close();
    const path = join(folder.path, 'deep', 'replies.mdb');
    const file = lmdb({ path, noSubdir: true, encoding: 'string', overlappingSync: false });
    await file.put(keyOf('m', ask), 'as it was');
    await file.close();
    replies = open();
    expect(await counted(() => 'another').model.complete(ask)).toBe('as it was');
  });

  it('keeps an empty reply', async () => {
    const { model, asked } = counted(() => '');
    expect([await model.complete(ask), await model.complete(ask)]).toEqual(['', '']);
    expect(asked()).toBe(1);
  });

  it.each<Partial<TextRequest>>([
    { draws: [1, 'q', 'b'] },
    { system: '' },
    { prompt: 'Q' },
    { continuation: 'C' },
    { stop: ['s'] },
    { maxTokens: 6 },
    { temperature: 0 },
    { topP: 0.9 },
    { topK: 5 },
    { minP: 0.1 },
    { repetitionPenalty: 1.1 },
  ])('asks again for another request: %j', async (more) => {
    const { model, asked } = counted(() => 'said');
    await model.complete(ask);
    await model.complete({ ...ask, ...more });
    expect(asked()).toBe(2);
  });

  it('asks again for another model, but not for another session', async () => {
    const { model } = counted(() => 'first');
    await model.complete(ask);
    expect(
      await model.complete({ ...ask, session: 's', continuation: '', topP: 1, stop: [] }),
    ).toBe('first');
    expect(await counted(() => 'second', { id: 'n' }).model.complete(ask)).toBe('second');
  });

  it('does not remember that a model gave up', async () => {
    const said = [null, 'now'];
    const { model } = counted(() => said.shift()!);
    expect([await model.complete(ask), await model.complete(ask)]).toEqual([null, 'now']);
  });

  it('asks once for equal requests at the same time, and again when the first one fails', async () => {
    const once = counted(async () => {
      await new Promise(setImmediate);
      return 'said';
    });
    const both = [once.model.complete(ask), once.model.complete(ask)];
    expect(await Promise.all(both)).toEqual(['said', 'said']);
    expect(once.asked()).toBe(1);

    let failed = false;
    const twice = counted(async () => {
      await new Promise(setImmediate);
      if (failed) return 'said';
      failed = true;
      throw new Error('down');
    });
    const other = { ...ask, prompt: 'Q' };
    const outcomes = await Promise.allSettled([
      twice.model.complete(other),
      twice.model.complete(other),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('fails on a request that is not recorded if it may not ask', async () => {
    await counted(() => 'said').model.complete(ask);
    const { model, asked } = counted(() => 'again', { missing: 'fail' });
    expect(await model.complete(ask)).toBe('said');
    await expect(model.complete({ ...ask, prompt: 'Q' })).rejects.toMatchObject({
      code: 'MODEL_UNRECORDED',
      message: expect.stringContaining('1/q/a'),
    });
    expect(asked()).toBe(0);
  });
});
