/** How a policy is asked, from its first run on: fine-tuning, RL, evaluation, conversion. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { main } from '../../cli/program.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { recordsOf } from '../../streams/recordsOf.ts';
import { topics } from '../../topics/index.ts';
import { writeByteBpe } from '../support/byteBpe.ts';
import { temporaryFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { fakeIo } from './support/fakeIo.ts';

const TEMPLATE = `{%- for message in messages %}{{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}`;
const SYSTEM = 'You add small numbers.\nAnswer in a box.';
const QUESTION = 'What is 2 + 2?';

const folder = temporaryFolder();
const at = (...names: string[]): string => join(folder.path, ...names);

async function millrace(...args: string[]) {
  const io = fakeIo(folder.path, 5000);
  const code = await main(args, io);
  const err = io.stderr().join('\n');
  if (code !== 0) throw new Error(`millrace ${args.join(' ')}: ${err}`);
  return { out: io.stdout(), err };
}

const set = (settings: Record<string, string | number>): string[] =>
  Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);

const training = { tokensMax: 512, size: 2, epochs: 1, threads: 1 };
const rollouts = {
  ...{ questions: 'questions.csv', tools: 'none', rounds: 1, explore: 2, heldOut: 1 },
  ...{ rollouts: 2, batchGroups: 1, responseMax: 8, threads: 1, branching: 'none' },
};
const sft = (run: string, more: Record<string, string | number>) =>
  millrace('run', 'sft', '--run', run, ...set({ ...training, policy: at('stock'), ...more }));
const arpo = (run: string, more: Record<string, string | number>) =>
  millrace(
    'run',
    'arpo',
    '--run',
    run,
    ...set({ ...rollouts, questions: at('questions.csv'), ...more }),
  );
const evaluation = (run: string, ...more: string[]) =>
  millrace(
    ...['eval', '--run', run, '--questions', 'questions.csv', '--limit', '1'],
    ...['--tools', 'none', '--response-max', '4', '--threads', '1', ...more],
  );

/** The prompts that a run's rollouts had, as text, without repeats. */
async function prompts(run: string): Promise<readonly string[]> {
  const { loadTokenizer } = await import('../../model/tokenizers/loadTokenizer.ts');
  const tokenizer = await loadTokenizer(at('stock'));
  const log = await openLog({ folder: at('runs', run, 'log'), mode: 'read' });
  const found = new Set<string>();
  const from = { kind: 'earliest' } as const;
  for await (const { value } of recordsOf(log, topics.rollouts, { from })) {
    found.add(tokenizer.decode(value.prompt).replace(value.question.question, '{question}'));
  }
  await log.close();
  return [...found];
}

const promptWith = (system: string): string =>
  `${system === '' ? '' : `<|im_start|>system\n${system}<|im_end|>\n`}<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n`;

beforeAll(async () => {
  await mkdir(at('tokenizer'));
  writeByteBpe(at('tokenizer'), TEMPLATE);
  await millrace('model', 'init', at('stock'), '--size', 'tiny', '--tokenizer', at('tokenizer'));
  await writeFile(at('system.txt'), `${SYSTEM}\n`);
  const questions = [0, 1, 2, 3].map(
    (i) => `q-${i},sums,${i === 0 ? QUESTION : `What is ${i} + 1?`},4,math`,
  );
  await writeFile(
    at('questions.csv'),
    ['id,source,question,answers,ability', ...questions].join('\n'),
  );
  const row = (system?: string) => ({
    instruction: QUESTION,
    output: 'It is 4.',
    ...(system === undefined ? {} : { system }),
  });
  const file = (...rows: unknown[]) => rows.map((one) => JSON.stringify(one)).join('\n');
  await writeFile(at('plain.jsonl'), file(row(), row()));
  await writeFile(at('told.jsonl'), file(row(SYSTEM), row(SYSTEM)));
  await writeFile(at('mixed.jsonl'), file(row(SYSTEM), row('Be brief.')));
  await sft('cold', { data: at('plain.jsonl'), prompt: 'policy', system: at('system.txt') });
});
afterAll(() => folder.remove());

describe('a policy that was fine-tuned with a system prompt of its own', () => {
  test('is evaluated with that prompt, and the evaluation says so', async () => {
    const { err } = await evaluation('measured', '--policy', 'cold');
    expect(await prompts('measured')).toEqual([promptWith(SYSTEM)]);
    expect(err).toContain(
      'using the prompt of cold@1: dialect tags, system prompt "You add small numbers."',
    );
  });

  test('passes that prompt on to RL that begins from it, and to whatever begins from that', async () => {
    const first = await arpo('second', { policy: at('runs/cold') });
    expect(first.err).toContain(`using the prompt of ${at('runs/cold')}: dialect tags`);
    expect(await prompts('second')).toEqual([promptWith(SYSTEM)]);
    await rm(at('system.txt'));
    await arpo('third', { policy: `${at('runs/second')}@0` });
    expect(await prompts('third')).toEqual([promptWith(SYSTEM)]);
    await sft('fourth', { policy: at('runs/third@0'), data: at('plain.jsonl'), prompt: 'policy' });
    const { out } = await millrace('run', '--run', 'fourth', '--show-prompt');
    expect(out).toBe(`${promptWith(SYSTEM)}\n`);
    await writeFile(at('system.txt'), `${SYSTEM}\n`);
  });

  test('is asked with another prompt if that is set, and both first lines are shown', async () => {
    await writeFile(at('other.txt'), 'You add small numbers.\nThink first.');
    const { err } = await evaluation('other', '--policy', 'cold', '--system', 'other.txt');
    expect(await prompts('other')).toEqual([promptWith('You add small numbers.\nThink first.')]);
    expect(err).toContain(
      [
        "the policy's prompt differs from that in cold@1 (--show-prompt prints the whole prompt):",
        '  system prompt there, line 2: "Answer in a box."',
        '  system prompt here, line 2: "Think first."',
      ].join('\n'),
    );
    const none = await evaluation('none', '--policy', 'cold', '--system', 'none');
    expect(await prompts('none')).toEqual([promptWith('')]);
    expect(none.err).toMatch(
      / {2}system prompt there: "You add small numbers."\n {2}system prompt here: none/,
    );
    const usual = await evaluation('usual', '--policy', 'cold', '--system', 'default');
    expect(usual.err).toMatch(/ {2}system prompt here: "Solve the question step by step/);
  });

  test('keeps that prompt when it is resumed, whatever has happened to the run it came from', async () => {
    const io = fakeIo(folder.path, 5000);
    const begun = set({
      ...rollouts,
      questions: at('questions.csv'),
      policy: at('runs/cold'),
      rounds: 2,
    });
    const running = main(['run', 'arpo', '--run', 'stopped', ...begun], io);
    await until(() => io.stderr().some((line) => /step 1/.test(line)));
    io.interrupt();
    await running;
    const note = at('runs/cold/millrace-prompt.json');
    const before = await readFile(note, 'utf8');
    await writeFile(note, before.replace('small', 'large'));
    const { err } = await millrace('run', '--run', 'stopped');
    await writeFile(note, before);
    expect(await prompts('stopped')).toEqual([promptWith(SYSTEM)]);
    expect(err).not.toContain('the policy is asked');
    await millrace('replay', 'stopped', '--verify');
  });

  test('keeps that prompt when converted to a folder; a single file says that it is lost', async () => {
    await millrace('model', 'convert', at('runs/cold'), at('tuned'));
    await evaluation('converted', '--policy', at('tuned'));
    expect(await prompts('converted')).toEqual([promptWith(SYSTEM)]);
    await arpo('from-folder', { policy: at('tuned') });
    expect(await prompts('from-folder')).toEqual([promptWith(SYSTEM)]);
    const { err } = await millrace('model', 'convert', at('runs/cold'), at('tuned.safetensors'));
    expect(err).toMatch(/a single file does not record the policy’s prompt/);
  });

  test('is asked with the prompt of its settings if its run recorded none', async () => {
    const note = at('runs/cold/millrace-prompt.json');
    const kept = await readFile(note, 'utf8');
    await rm(note);
    const record = JSON.parse(await readFile(at('runs/cold/run.json'), 'utf8'));
    await writeFile(
      at('runs/cold/run.json'),
      JSON.stringify({
        ...record,
        digest: undefined,
        settings: { ...record.settings, dialect: 'tags' },
      }),
    );
    await evaluation('old', '--policy', 'cold');
    expect(await prompts('old')).toEqual([promptWith(SYSTEM)]);
    await rm(at('system.txt'));
    await expect(evaluation('lost', '--policy', 'cold')).rejects.toThrow(
      /the system prompt of cold@1 was in .*system\.txt, which no longer exists/,
    );
    await evaluation('given', '--policy', 'cold', '--system', 'none');
    await writeFile(at('system.txt'), `${SYSTEM}\n`);
    await writeFile(note, kept);
  });
});

describe('a policy that was fine-tuned on conversations as they are', () => {
  test('is asked with the system prompt that all conversations share', async () => {
    await sft('told', { data: at('told.jsonl') });
    await evaluation('as-told', '--policy', 'told');
    expect(await prompts('as-told')).toEqual([promptWith(SYSTEM)]);
    await sft('bare', { data: at('plain.jsonl') });
    await arpo('as-bare', { policy: at('runs/bare') });
    expect(await prompts('as-bare')).toEqual([promptWith('')]);
  });

  test('is reported to have learnt several prompts if they differ', async () => {
    await sft('mixed', { data: at('mixed.jsonl') });
    const { err } = await evaluation('as-mixed', '--policy', 'mixed');
    expect(err).toMatch(/system prompt there: unknown or not unique; here: "Solve the question/);
    await expect(millrace('run', '--run', 'mixed', '--show-prompt')).rejects.toThrow(
      /there is no single prompt to show: the data has more than one system prompt/,
    );
  });

  test('has a warning for the system prompt that it does not use', async () => {
    const unused = await sft('unused', { data: at('told.jsonl'), system: at('system.txt') });
    expect(unused.err).toMatch(/system is not used: conversations keep their own/);
    const { err } = await sft('left-out', { data: at('told.jsonl'), prompt: 'policy' });
    expect(err).toMatch(
      /ignoring the system prompts in the data \(prompt=policy\):\n.*in the data: "You add small numbers\."\n.*of the policy: none/,
    );
  });
});

describe('--show-prompt', () => {
  test('writes the prompt of a job to a file, and runs nothing', async () => {
    const given = set({
      ...rollouts,
      questions: at('questions.csv'),
      policy: at('stock'),
      tools: 'python',
    });
    const { err } = await millrace(
      'run',
      'arpo',
      '--run',
      'shown',
      ...given,
      '--show-prompt',
      'prompt.txt',
    );
    const text = await readFile(at('prompt.txt'), 'utf8');
    expect(text).toMatch(
      /^<\|im_start\|>system\nSolve the question[\s\S]*<python>…<\/python>[\s\S]*user\n\{question\}<\|im_end\|>/,
    );
    expect(err).toContain('wrote prompt.txt: the prompt of arpo in dialect tags');
    expect(existsSync(at('runs/shown'))).toBe(false);
    const evaluated = await millrace(
      'eval',
      ...['--policy', at('stock'), '--questions', 'questions.csv', '--tools', 'python'],
      '--show-prompt',
    );
    expect(evaluated.out).toBe(`${text}\n`);
  });
});
