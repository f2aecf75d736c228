/**
 * Exports in verl's form are held against what our reader reads of them, and pandas and verl's own reader
 * where Python has them (MILLRACE_PYTHON).
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../../cli/program.ts';
import { writeRunRecord } from '../../../cli/runRecord.ts';
import { logFolder } from '../../../cli/runs.ts';
import { writePrompt } from '../../../jobs/parts/promptRecord.ts';
import { readDataset } from '../../../sources/datasets.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import type { Position } from '../../../streams/index.ts';
import { type Selected, topics } from '../../../topics/index.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { batch, question, rollout } from '../../support/records.ts';
import { scored } from '../../support/scored.ts';
import { fakeIo } from '../support/fakeIo.ts';
import { record } from '../support/syntheticRun.ts';

const folder = temporaryFolder();
const asked = [1, 2, 3].map((i) =>
  question({
    ...{ id: `q${i}`, question: `What is ${i} + ${i}?`, ability: i === 3 ? 'qa' : 'math' },
    ...{ answers: i === 3 ? ['six', '6'] : [String(2 * i)], round: i === 2 ? 2 : 1 },
  }),
);
const nowhere: Position = { partition: 0, offset: 0 };

beforeAll(async () => {
  const run = join(folder.path, 'runs', 'first');
  await mkdir(run, { recursive: true });
  await writeRunRecord(run, record);
  await writePrompt(run, {
    ...{ dialect: 'tags', system: 'Think.', tools: [], prompt: '<s>Think.\n{question}<a>' },
  });
  const log = await openLog({ folder: logFolder(run), mode: 'write', clock: { now: () => 5000 } });
  await log.commit((tx) => {
    for (const [i, one] of asked.entries()) {
      const verdict: Selected = {
        ...{ question: one, objectives: [1, 1], front: 0, distance: null, kept: true },
        ...{ why: 'selected', index: i, of: 3, version: 0, scored: nowhere },
      };
      tx.append(topics.selected, verdict);
    }
    tx.append(topics.selected, {
      ...{ question: question({ id: 'left' }), objectives: [0, 0], front: 1, distance: null },
      ...{ kept: false, why: 'uniform', index: -1, of: 3, version: 0, scored: nowhere },
    });
  });
  const at: Position[] = [];
  await log.commit((tx) => {
    for (const index of [0, 1])
      tx.append(
        topics.rollouts,
        rollout({ id: `q1/${index}`, question: asked[0]!, index, text: `answer ${index}` }),
      );
  });
  await log.tap(topics.rollouts, { from: { kind: 'earliest' }, follow: false }).forEach((one) => {
    at.push(one.position);
  });
  const rewards = [0.5, 1].map((score) => ({ score, parts: { raw: score } }));
  await log.commit((tx) =>
    tx.append(topics.scored, scored({ question: asked[0]!, rewards, rollouts: at })),
  );
  const groups: { questionId: string; scored: Position }[] = [];
  await log.tap(topics.scored, { from: { kind: 'earliest' }, follow: false }).forEach((one) => {
    groups.push({ questionId: 'q1', scored: one.position });
  });
  await log.commit((tx) => tx.append(topics.batches, batch({ step: 7, groups, kind: 'policy' })));
  await log.close();
});
afterAll(() => folder.remove());

async function millrace(...args: readonly string[]) {
  const io = fakeIo(folder.path);
  const code = await main(['export', ...args], io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const PANDAS = `
import sys, pandas
print(pandas.read_parquet(sys.argv[1]).to_json(orient='records'))
`;
const python = process.env.MILLRACE_PYTHON ?? 'python3';
const hasPandas =
  spawnSync(python, ['-c', 'import pandas, pyarrow'], { stdio: 'ignore' }).status === 0;

const VERL = `
import sys, json
from omegaconf import OmegaConf
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
bpe = Tokenizer(models.BPE(vocab={one: i for i, one in enumerate(letters)}, merges=[]))
bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe)
tokenizer.chat_template = '{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}'
config = OmegaConf.create({'max_prompt_length': 64, 'filter_overlong_prompts_workers': 1, 'cache_dir': sys.argv[1]})
data = RLHFDataset(data_files=sys.argv[2:], tokenizer=tokenizer, config=config)
batch = collate_fn([data[i] for i in range(len(data))])
rows = zip(batch['raw_prompt'], batch['reward_model'], batch['index'])
print(json.dumps([[p, r['ground_truth'], i] for p, r, i in rows]))
`;
const hasVerl =
  hasPandas && spawnSync(python, ['-c', 'import verl, datasets'], { stdio: 'ignore' }).status === 0;

describe('millrace export --schema verl', () => {
  test('writes what Pareto sampling kept, one file a round', async () => {
    const { code, out } = await millrace('first.questions', '--schema', 'verl', '--out', 'data');
    expect([code, out]).toEqual([
      0,
      'data/train_processed_stage1.parquet: 2 rows\ndata/train_processed_stage2.parquet: 1 row\n',
    ]);
    const read = async (name: string) => {
      const found: string[] = [];
      for await (const item of readDataset(join(folder.path, 'data', name)))
        if ('value' in item) {
          const { question: text, ability, answers, source } = item.value;
          found.push(JSON.stringify([text, ability, answers, source]));
        }
      return found.sort();
    };
    expect(await read('train_processed_stage1.parquet')).toEqual([
      JSON.stringify(['What is 1 + 1?', 'math', ['2'], 'math_effi_rl']),
      JSON.stringify(['What is 3 + 3?', 'qa', ['six', '6'], 'qa_effi_rl']),
    ]);
    expect(await read('train_processed_stage2.parquet')).toHaveLength(1);
    expect(await readdir(join(folder.path, 'data'))).toHaveLength(2);
  });

  (hasPandas ? test : test.skip)(
    `has the columns of the released file${hasPandas ? '' : ` (skipped: ${python} lacks pandas or pyarrow)`}`,
    () => {
      const path = join(folder.path, 'data/train_processed_stage2.parquet');
      const out = execFileSync(python, ['-c', PANDAS, path], { encoding: 'utf8' });
      expect(JSON.parse(out)).toEqual([
        {
          data_source: 'math_effi_rl',
          prompt: [
            { content: 'Think.', role: 'system' },
            { content: 'What is 2 + 2?', role: 'user' },
          ],
          ability: 'math',
          reward_model: { ground_truth: ['4'], style: 'rule' },
          extra_info: {
            ...{ index: 0, need_tools_kwargs: true, question: 'What is 2 + 2?', split: 'train' },
          },
          metadata: null,
        },
      ]);
    },
  );

  (hasVerl ? test : test.skip)(
    `is read by verl${hasVerl ? '' : ` (skipped: ${python} lacks verl or datasets)`}`,
    () => {
      const files = [1, 2].map((n) => join(folder.path, `data/train_processed_stage${n}.parquet`));
      const args = ['-c', VERL, join(folder.path, 'cache'), ...files];
      const env = { ...process.env, HF_HUB_OFFLINE: '1', HF_HOME: join(folder.path, 'hf') };
      const out = execFileSync(python, args, { encoding: 'utf8', env, stdio: 'pipe' });
      const rows = JSON.parse(out.trim().split('\n').at(-1)!) as readonly unknown[];
      const asks = (question: string) => [
        { content: 'Think.', role: 'system' },
        { content: question, role: 'user' },
      ];
      expect(rows).toHaveLength(3);
      expect(rows).toEqual(
        expect.arrayContaining([
          [asks('What is 1 + 1?'), ['2'], 0],
          [asks('What is 3 + 3?'), ['six', '6'], 1],
          [asks('What is 2 + 2?'), ['4'], 0],
        ]),
      );
    },
    300_000,
  );

  test('dumps the rollouts of each step', async () => {
    const { code, out } = await millrace('first.rollouts', '--schema', 'verl', '--out', 'dump');
    expect([code, out]).toEqual([0, 'dump/7.jsonl and on: 1 step, 2 rollouts\n']);
    const lines = (await readFile(join(folder.path, 'dump/7.jsonl'), 'utf8')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      [0.5, 1].map((score, i) => ({
        ...{ input: '<s>Think.\nWhat is 1 + 1?<a>', output: `answer ${i}` },
        ...{ score, step: 7, raw: score },
      })),
    );
  });

  test('writes rollouts as ATIF, a line each', async () => {
    const { code, out } = await millrace('first.rollouts', '--schema', 'atif', '--out', 'dump');
    expect([code, out]).toEqual([0, 'dump/first.atif.jsonl: 2 rollouts\n']);
    const text = await readFile(join(folder.path, 'dump/first.atif.jsonl'), 'utf8');
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject(
      [0, 1].map((i) => ({
        trajectory_id: `q1/${i}`,
        steps: [
          { step_id: 1, message: 'What is 1 + 1?' },
          { step_id: 2, message: `answer ${i}` },
        ],
      })),
    );
    expect((await millrace('first.metrics', '--schema', 'atif')).err).toContain('is for rollouts');
  });

  test('is for questions and rollouts', async () => {
    const { code, err } = await millrace('first.metrics', '--schema', 'verl');
    expect(code).toBe(2);
    expect(err).toContain('--schema verl is for questions and rollouts, not metrics');
  });
});
