/**
 * Questions as rows of the parquet file that the papers' RL scripts train on (ET-Agent §7.6): the columns of
 * `make_parquet_datas`, with its types.
 */
import { shuffled } from '../../base/index.ts';
import type { Question } from '../../topics/index.ts';

/** As an Avro contract, so that the tables' own Parquet types apply. */
export const verlSchema = {
  type: 'record',
  name: 'Row',
  fields: [
    { name: 'data_source', type: 'string' },
    {
      name: 'prompt',
      type: {
        type: 'array',
        items: {
          type: 'record',
          name: 'Message',
          fields: [
            { name: 'content', type: 'string' },
            { name: 'role', type: 'string' },
          ],
        },
      },
    },
    { name: 'ability', type: 'string' },
    {
      name: 'reward_model',
      type: {
        type: 'record',
        name: 'RewardModel',
        fields: [
          { name: 'ground_truth', type: { type: 'array', items: 'string' } },
          { name: 'style', type: 'string' },
        ],
      },
    },
    {
      name: 'extra_info',
      type: {
        type: 'record',
        name: 'ExtraInfo',
        fields: [
          { name: 'index', type: 'long' },
          { name: 'need_tools_kwargs', type: 'boolean' },
          { name: 'question', type: 'string' },
          { name: 'split', type: 'string' },
        ],
      },
    },
    { name: 'metadata', type: ['null', 'string'] },
  ],
};

/**
 * The rows of one stage, shuffled by the seed, as theirs are without one. `system` = '' leaves the message
 * out.
 */
export function verlRows(
  questions: readonly Question[],
  {
    system,
    seed,
    stage,
  }: { readonly system: string; readonly seed: number; readonly stage: number },
): readonly object[] {
  const rows = questions.map(({ question, ability, answers }, index) => ({
    data_source: `${ability}_effi_rl`,
    prompt: [
      ...(system === '' ? [] : [{ content: system, role: 'system' }]),
      { content: question, role: 'user' },
    ],
    ability,
    reward_model: { ground_truth: answers, style: 'rule' },
    extra_info: { index, need_tools_kwargs: true, question, split: 'train' },
    metadata: null,
  }));
  return shuffled(rows, 'verl', seed, stage);
}
