/** `run --check` on a job whose engine and trainer are fakes: what it says, and that it keeps nothing. */
import { readdirSync } from 'node:fs';
import { afterAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { checkStart } from '../../cli/checkStart.ts';
import { defineJob, type OpenedLoop } from '../../jobs/defineJob.ts';
import { flow } from '../../streams/flow.ts';
import { temporaryFolder } from '../support/folder.ts';
import { fakeIo } from './support/fakeIo.ts';

const runs = temporaryFolder();
afterAll(() => runs.remove());

/** What the engine says of each of its tokens. */
const SAID = -1.5;

function jobWith(trainerSays: number, sampled = [7, 8]) {
  const closed: string[] = [];
  const asked: string[] = [];
  /** In the folder of runs meanwhile. */
  const folders: string[] = [];
  const loop = {
    base: '/models/policy',
    engine: {
      contextMax: 20,
      load: async () => void asked.push('load'),
      generate: async ({ tokens, maxTokens }: { tokens: Int32Array; maxTokens: number }) => {
        asked.push(`${tokens.length} and ${maxTokens}`);
        folders.push(...readdirSync(runs.path));
        return {
          tokens: Int32Array.from(sampled),
          logProbs: Float32Array.from(sampled, () => SAID),
        };
      },
    },
    trainer: {
      score: async ([whole]: readonly Int32Array[]) => [
        { logProbs: new Float32Array(whole!.length).fill(trainerSays) },
      ],
    },
    dialect: {
      name: 'tags',
      tokenizer: { endToken: 0 },
      prompt: (question: string) => new Int32Array(question.length),
    },
    questions: { train: 12, heldOut: 3 },
    first: { version: 0, uri: '/models/policy', digest: null },
    question: 'How many?',
  } as unknown as OpenedLoop;
  const job = defineJob({
    name: 'fake',
    about: 'A job of fakes.',
    settings: z.object({}),
    async build(context) {
      context.own({ close: async () => void closed.push('engine') });
      await context.opened?.(loop);
      return flow();
    },
  });
  return { of: { job, settings: {}, seed: 1, runs: runs.path }, closed, asked, folders };
}

test('says what a run would begin with, closes everything and keeps nothing', async () => {
  const io = fakeIo(process.cwd());
  const { of, closed, asked, folders } = jobWith(SAID - 0.001);
  expect(await checkStart(of, io)).toBe(0);
  expect(asked).toEqual(['load', '9 and 11']);
  expect(io.stdout()).toMatch(
    /^job {8}fake\npolicy {5}\/models\/policy\nprompt {5}9 tokens, dialect tags .*\nquestions {2}12 questions to train on, 3 held out\nengine {5}2 tokens in .*\ntrainer {4}agrees with the engine within 0\.0010 nats a token \(mean 0\.0010\)\ndisk {7}[\d.]+ GiB free for /,
  );
  expect(closed).toEqual(['engine']);
  // A name that the next command recognises if this one is killed.
  expect(folders).toEqual([expect.stringMatching(/^\.start-fake-/)]);
  expect(readdirSync(runs.path)).toEqual([]);
});

test.each([
  ['other weights', SAID - 0.4, /disagree by 0\.40 nats a token/],
  ['NaN', Number.NaN, /disagree by NaN nats a token/],
])('fails where the trainer has %s', async (_, says, message) => {
  const { of, closed } = jobWith(says);
  await expect(checkStart(of, fakeIo(process.cwd()))).rejects.toMatchObject({
    code: 'WEIGHTS_WRONG',
    message: expect.stringMatching(message),
  });
  expect(closed).toEqual(['engine']);
});

test('says so if the engine samples nothing', async () => {
  const { of } = jobWith(SAID, []);
  const checking = checkStart(of, fakeIo(process.cwd()));
  await expect(checking).rejects.toMatchObject({ code: 'MODEL_REPLY' });
});
