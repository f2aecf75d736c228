/** `millrace try` on a tiny policy: what it shows of one question, and that it is what a run would make. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import { topics } from '../../topics/index.ts';
import { writeByteBpe } from '../support/byteBpe.ts';
import { temporaryFolder } from '../support/folder.ts';
import { fakeIo } from './support/fakeIo.ts';

const TEMPLATE = `{%- for message in messages %}{{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}`;
const folder = temporaryFolder();
const at = (...names: string[]): string => join(folder.path, ...names);

async function millrace(...args: string[]) {
  const io = fakeIo(folder.path, 5000);
  const code = await main(args, io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const settings = () =>
  Object.entries({
    ...{
      policy: at('stock'),
      questions: at('questions.csv'),
      tools: 'none',
      rounds: 1,
      explore: 2,
    },
    ...{ heldOut: 1, rollouts: 2, batchGroups: 1, responseMax: 8, threads: 1, branching: 'none' },
  }).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
const attempt = (...args: string[]) => millrace('try', 'arpo', ...settings(), ...args);

beforeAll(async () => {
  await mkdir(at('tokenizer'));
  writeByteBpe(at('tokenizer'), TEMPLATE);
  await millrace('model', 'init', at('stock'), '--size', 'tiny', '--tokenizer', at('tokenizer'));
  const rows = [1, 2, 3, 4].map((i) => `q-${i},sums,What is ${i} + 1?,${i + 1},math`);
  await writeFile(at('questions.csv'), ['id,source,question,answers,ability', ...rows].join('\n'));
});
afterAll(() => folder.remove());

describe('millrace try', () => {
  test('shows prompt, rollouts and rewards of a question, and keeps nothing', async () => {
    const { code, out } = await attempt('--id', 'q-2', '-n', '2');
    expect(code).toBe(0);
    expect(out).toContain('question q-2: What is 2 + 1?\nright:    3\n');
    expect(out).toContain('  What is 2 + 1?<|im_end|>\n  <|im_start|>assistant\n');
    expect(out).toMatch(/rollout 2 of 2: cut off at responseMax, 8 tokens, 0 tool calls\n/);
    expect(out).toMatch(/answer: none was read\nform: {3}there is no <think> block\nreward: -1\n/);
    expect(out).toMatch(/\n {2}raw +0\n/);
    expect(await readdir(at('runs')).catch(() => [])).toEqual([]);
  });

  test('makes the rollouts that a run of this seed makes first', async () => {
    const run = await millrace('run', 'arpo', '--run', 'first', '--seed', '5', ...settings());
    expect(run.code).toBe(0);
    const log = await openLog({ folder: at('runs', 'first', 'log'), mode: 'read' });
    const made = new Map<string, string>();
    for await (const { value } of recordsOf(log, topics.rollouts, { from: { kind: 'earliest' } }))
      if (value.question.phase !== 'evaluate' && value.version === 0)
        made.set(`${value.question.id}/${value.index}`, value.text);
    await log.close();
    const [first] = made.keys();
    const id = first!.split('/')[0]!;
    const { out } = await attempt('--id', id, '-n', '2', '--seed', '5', '--json');
    const { rollouts } = JSON.parse(out) as { rollouts: { text: string; parts: object }[] };
    expect(rollouts.map(({ text }) => text)).toEqual([made.get(`${id}/0`), made.get(`${id}/1`)]);
    expect(rollouts[0]!.parts).toHaveProperty('raw', 0);
  });

  test('asks a question of one’s own', async () => {
    const { out } = await attempt('--question', 'And 7 + 7?', '--answer', '14', '--json');
    expect(JSON.parse(out)).toMatchObject({
      question: { question: 'And 7 + 7?', answers: ['14'], ability: 'math' },
      prompt: expect.stringContaining('And 7 + 7?'),
      rollouts: [{ status: 'done', finish: 'length', answer: '' }],
    });
  });

  test('says what is wrong with its arguments', async () => {
    const wrong = async (...args: string[]) => (await attempt(...args)).err;
    expect(await wrong('--id', 'q-9')).toContain('the job has no question with the id q-9');
    expect(await wrong('--id', 'q-1', '--question', 'x')).toContain('exclude each other');
    expect(await wrong('--answer', '3')).toContain('give both');
    expect(await wrong('-n', '0')).toContain('It must be a whole number, 1 or more.');
  });
});
