/**
 * What is checked before a policy is loaded: where it is, whether it fits, and whether the questions'
 * prompts do.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { SIZES, withFeatures } from '../../../cli/model/sizes.ts';
import { checkMemory, memoryNeeded } from '../../../jobs/parts/memory.ts';
import { findPolicy } from '../../../jobs/parts/policyPlace.ts';
import {
  checkEngineFits,
  checkPromptFits,
  checkVocabulary,
  withinPrompt,
} from '../../../jobs/parts/promptLimit.ts';
import { digestAt } from '../../../model/checkpoints/digest.ts';
import type { PolicyEngine } from '../../../model/engine.ts';
import type { QuestionItem } from '../../../sources/questions.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { topics } from '../../../topics/index.ts';
import { byteBpe } from '../../support/byteBpe.ts';
import { freshFolders } from '../../support/folder.ts';
import { weights } from '../../support/weights.ts';

const fresh = freshFolders();

async function cacheWith(model: string, commit: string): Promise<string> {
  const home = fresh();
  const folder = join(home, 'hub', `models--${model.replace('/', '--')}`);
  const snapshot = join(folder, 'snapshots', commit);
  await mkdir(join(folder, 'refs'), { recursive: true });
  await mkdir(snapshot, { recursive: true });
  await writeFile(join(folder, 'refs', 'main'), `${commit}\n`);
  await writeFile(join(snapshot, 'config.json'), '{}');
  return home;
}

describe('a policy by its name', () => {
  test('is found in the Hugging Face cache, at its main revision or another', async () => {
    const home = await cacheWith('Qwen/Qwen2.5-3B-Instruct', 'abc123');
    const folder = join(home, 'hub', 'models--Qwen--Qwen2.5-3B-Instruct', 'snapshots', 'abc123');
    const named = { name: 'Qwen/Qwen2.5-3B-Instruct', path: folder, folder, promptIn: folder };
    expect(await findPolicy('Qwen/Qwen2.5-3B-Instruct', { HF_HOME: home })).toEqual(named);
    const cache = join(home, 'hub');
    const at = await findPolicy('Qwen/Qwen2.5-3B-Instruct@abc123', { HF_HUB_CACHE: cache });
    expect(at.path).toBe(folder);
  });

  test.each([
    ['model_world_size_4_rank_0.pt', 'python -m verl.model_merger merge --backend fsdp'],
    ['__0_0.distcp', 'accelerate merge-weights'],
  ])(
    'that is a checkpoint in shards (%s) is refused with the command that merges it',
    async (file, command) => {
      const folder = fresh();
      await writeFile(join(folder, file), '');
      await writeFile(join(folder, 'config.json'), '{}');
      await expect(findPolicy(folder)).rejects.toMatchObject({
        code: 'POLICY',
        message: expect.stringContaining(command),
      });
      await writeFile(join(folder, 'model.safetensors'), '');
      expect((await findPolicy(folder)).path).toBe(folder);
    },
  );

  test('that is not in the cache is refused with the command that downloads it', async () => {
    const env = { HF_HOME: fresh() };
    await expect(findPolicy('Qwen/Qwen3-8B@v2', env)).rejects.toMatchObject({
      code: 'POLICY',
      message: expect.stringContaining('millrace model pull Qwen/Qwen3-8B@v2'),
    });
    await expect(findPolicy('./models/none', env)).rejects.toMatchObject({
      message: expect.stringMatching(/models\/none does not exist; give/),
    });
    await expect(findPolicy('models/none', env)).rejects.toMatchObject({
      message: expect.stringMatching(/^\/.*models\/none does not exist; give/),
    });
    await expect(findPolicy('test/none', env)).rejects.toMatchObject({
      message: expect.stringMatching(/test\/none does not exist; give/),
    });
    await expect(findPolicy('a/b@../../x', env)).rejects.toMatchObject({ code: 'POLICY' });
  });

  test('that is a path is read from there', async () => {
    const folder = fresh();
    await expect(findPolicy(folder)).rejects.toMatchObject({
      message: expect.stringContaining('has no config.json'),
    });
    await writeFile(join(folder, 'policy.safetensors'), '');
    expect((await findPolicy(folder)).path).toBe(join(folder, 'policy.safetensors'));
    await writeFile(join(folder, 'config.json'), '{}');
    expect((await findPolicy(folder)).path).toBe(folder);
  });
});

describe('a policy that a run trained', () => {
  test('is checked against its manifest before anything begins from it', async () => {
    const folder = join(fresh(), 'first');
    const uri = 'weights/000001.safetensors';
    await mkdir(join(folder, 'weights'), { recursive: true });
    await writeFile(join(folder, uri), 'weights');
    const began = fresh();
    await writeFile(join(began, 'config.json'), '{}');
    await writeFile(join(folder, 'run.json'), JSON.stringify({ settings: { policy: began } }));
    const log = await openLog({ folder: join(folder, 'log'), mode: 'write' });
    const digest = await digestAt(join(folder, uri));
    await log.commit((tx) => tx.append(topics.weights, { ...weights(1, 1), uri, digest }));
    await log.close();
    expect((await findPolicy(folder)).path).toBe(join(folder, uri));
    await writeFile(join(folder, uri), 'Weights');
    await expect(findPolicy(`${folder}@1`)).rejects.toMatchObject({
      code: 'DIGEST',
      message: expect.stringMatching(
        /000001.safetensors of version 1 of run first has digest.*first@N/,
      ),
    });
  });
});

describe('memory', () => {
  const config = withFeatures(SIZES['0.5b']!);
  const trains = { kind: 'full', recompute: false } as const;
  const both = { generates: { rows: 16 }, trains, contextMax: 512 };
  const policy = { name: 'a policy', config };

  test('is estimated at 4 bytes a parameter to generate and 16 to train at least, or 4 with an adapter', () => {
    const parameters = 494_032_768; // Qwen2.5-0.5B
    const generating = memoryNeeded(config, { ...both, trains: null });
    // 24 layers x 2 heads x 64, keys and values, of 16 rows and 256 kept beginnings of 512 tokens.
    const caches = 4 * 2 * 24 * 2 * 64 * (16 + 256) * 512;
    expect(generating).toEqual({ least: 4 * parameters, peak: 22 * parameters + caches });
    const { least, peak } = memoryNeeded(config, both);
    expect(least).toBe(20 * parameters);
    expect((peak - caches) / parameters - 22).toBeGreaterThan(28);
    const adapter = { kind: 'adapter', recompute: false } as const;
    expect(memoryNeeded(config, { ...both, trains: adapter }).least).toBe(8 * parameters);
  });

  test('that does not suffice is reported with the arithmetic and a remedy', () => {
    expect(() => checkMemory(policy, both, 8 * 2 ** 30)).toThrow(
      /a policy has 494\.0 million parameters; to generate and train in this process takes at least 9\.2 GiB \(20 bytes each\) and about 2\d\.\d GiB.* has 8\.0 GiB.*engine\.server/s,
    );
    expect(checkMemory(policy, both, 16 * 2 ** 30)).toMatch(/which may not be enough$/);
    expect(checkMemory(policy, both, 32 * 2 ** 30)).toBeNull();
  });
});

describe('prompts', () => {
  const prompt = (question: string) => new Int32Array(10 + question.length);
  const rows = ['short', 'far too long'].map((question, i): QuestionItem => {
    return { value: { id: `${i}`, question, answers: ['a'], source: 's', ability: 'qa' } };
  });

  test('that are too long turn their questions into dead letters', async () => {
    const items: QuestionItem[] = [];
    const limit = { prompt, promptMax: 16 };
    for await (const item of withinPrompt(rows, 'q.csv', {
      ...limit,
      episodes: false,
      worlds: false,
    }))
      items.push(item);
    expect(items).toMatchObject([
      { value: { id: '0' } },
      {
        deadLetter: {
          origin: 'q.csv',
          key: '1',
          field: 'question',
          reason: 'makes a prompt of 22 tokens, but promptMax is 16',
        },
      },
    ]);
  });

  test('of questions without an answer are for jobs that score calls alone', async () => {
    const row = { id: '0', question: 'short', answers: [], source: 's', ability: 'qa' } as const;
    const unanswered: readonly QuestionItem[] = [{ value: row }];
    const limit = { prompt, promptMax: 16 };
    const of = async (episodes: boolean): Promise<readonly QuestionItem[]> => {
      const items: QuestionItem[] = [];
      for await (const item of withinPrompt(unanswered, 'q.csv', {
        ...limit,
        episodes,
        worlds: false,
      }))
        items.push(item);
      return items;
    };
    expect(await of(true)).toEqual(unanswered);
    expect(await of(false)).toMatchObject([{ deadLetter: { key: '0', field: 'answers' } }]);
  });

  test('that leave no room for any question are an error', () => {
    expect(() => checkPromptFits({ prompt, promptMax: 10 })).toThrow(/has 10 tokens/);
    checkPromptFits({ prompt, promptMax: 11 });
  });

  test('with a token that the policy lacks are an error, which names it', () => {
    const tokenizer = byteBpe();
    const id = tokenizer.id('<|im_start|>');
    const dialect = { tokenizer, prompt: () => Int32Array.of(65, id) };
    expect(() => checkVocabulary(dialect, id)).toThrow(
      new RegExp(`token ${id} \\("<\\|im_start\\|>"\\), but .* ends at ${id}: .*resize_token`),
    );
    checkVocabulary(dialect, id + 1);
    checkVocabulary(dialect, undefined);
  });

  test('that fill all of a server’s context are an error', () => {
    const engine = { contextMax: 10 } as PolicyEngine;
    expect(() => checkEngineFits(10, engine)).toThrow(/has 10 tokens.*of 10: .*--max-model-len/);
    checkEngineFits(9, engine);
  });
});
