/**
 * A ready job as a researcher runs it: a Hugging Face folder, a file of questions, and the built command line
 * in processes of its own. Settings come from a preset, a file and the command line; the run is stopped, goes
 * on, is looked at, verified and evaluated; and the job that `millrace init` copies out makes the same run.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { builtMillrace, type Ended, ROOT } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';

const SMALL = `# small enough for a test
policy: policy
questions: questions.jsonl
tools: python,search
corpus: corpus.jsonl
flywheel: { questions: 4 }
finetune: { demonstrationsMin: 0 }
rounds: 2
explore: 8
keep: 4
mixedOnly: false
heldOut: 4
batchGroups: 2
miniBatches: 1
rollouts: 4
initialRollouts: 2
promptMax: 512
responseMax: 48
concurrency: 8
`;
const folder = temporaryFolder();
const home = folder.path;

const millrace = (...args: readonly string[]): Promise<Ended> => builtMillrace(home, ...args).ended;
const recordOf = (run: string) =>
  JSON.parse(readFileSync(join(home, 'runs', run, 'run.json'), 'utf8'));

async function weightsOf(run: string): Promise<readonly string[]> {
  const { out } = await millrace('tap', `${run}.weights`, '-o', 'ndjson', '--fields', 'digest');
  return out.split('\n').filter(Boolean);
}

function lines(count: number, of: (i: number) => object): string {
  return Array.from({ length: count }, (_, i) => `${JSON.stringify(of(i))}\n`).join('');
}

beforeAll(async () => {
  cpSync(join(ROOT, 'test/model/hf/fixtures/tokenizer'), join(home, 'tokenizer'), {
    recursive: true,
  });
  // As stock models have it: the tags of tools and thinking are many tokens each.
  const file = join(home, 'tokenizer', 'tokenizer.json');
  const { added_tokens: added, ...tokenizer } = JSON.parse(readFileSync(file, 'utf8'));
  const special = added.filter((token: { special: boolean }) => token.special);
  writeFileSync(file, JSON.stringify({ ...tokenizer, added_tokens: special }));
  const asked = (i: number) => ({
    ...{ id: `q${i}`, source: 'mill', ability: 'math', answers: [`${2 * i}`] },
    question: i === 7 ? 'And again. '.repeat(200) : `What is ${i} + ${i}?`,
  });
  writeFileSync(join(home, 'questions.jsonl'), lines(24, asked));
  const document = (i: number) => ({ id: `d${i}`, title: `River ${i}`, text: `It is ${i} long.` });
  writeFileSync(join(home, 'corpus.jsonl'), lines(6, document));
  writeFileSync(join(home, 'small.yaml'), SMALL);
  const shape = ['--size', 'tiny', '--architecture', 'qwen2', '--tokenizer', 'tokenizer'];
  const made = await millrace('model', 'init', 'policy', ...shape);
  expect([made.code, made.err]).toEqual([0, '']);
});
afterAll(() => folder.remove());

describe('a ready job on a Hugging Face folder', () => {
  test('runs by settings alone, stops, and is resumed by its name alone', async () => {
    const args = ['--preset', 'et-agent-3b', '--settings', 'small.yaml', '--set', 'rounds=1'];
    const begun = builtMillrace(home, 'run', 'et-agent', ...args, '--run', 'first');
    const first = await begun.signalAt(/the base policy/, 'SIGINT').ended;
    expect(first.err).toMatch(/preset et-agent-3b: the paper’s numbers for 7B/);
    expect(first.err).toMatch(/stopped; resume with: .* run et-agent --run first\n$/);
    expect(recordOf('first')).toMatchObject({
      job: { name: 'et-agent', file: 'et-agent' },
      preset: 'et-agent-3b',
      settingsFile: 'small.yaml',
      settings: { rounds: 1, lr: 1e-6, lengthWeight: 1, flywheel: { questions: 4, extraCalls: 4 } },
    });
    writeFileSync(join(home, 'small.yaml'), SMALL.replace('rounds: 2', 'rounds: 3'));
    const other = await millrace('run', 'et-agent', '--settings', 'small.yaml', '--run', 'first');
    expect(other.err).toMatch(/it was started with\n {2}rounds: 1, not 3/);
    writeFileSync(join(home, 'small.yaml'), SMALL);
    const second = await millrace('run', '--run', 'first');
    expect([second.code, second.err]).toEqual([0, expect.stringMatching(/resuming run first/)]);
    expect(second.err).toMatch(/1 dead letter; list them with: .* dlq ls first\n/);
    expect(recordOf('first').status).toBe('done');
  });

  test('is reported, verified, compared and evaluated like any run', async () => {
    const told = await Promise.all([
      millrace('report', 'first', '--json'),
      millrace('dlq', 'ls', 'first'),
      millrace('top', 'first', '--once'),
    ]);
    expect(told.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(told[1].out).toMatch(/makes a prompt of \d+ tokens, but promptMax is 512/);
    const verified = await millrace('replay', 'first', '--verify');
    expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('bit for bit')]);
    const evaluated = await millrace(
      ...['eval', '--policy', 'first', '--questions', 'questions.jsonl', '--limit', '3'],
      ...['--tools', 'search', '--json'],
    );
    expect([evaluated.code, evaluated.err]).toEqual([0, expect.anything()]);
  });

  test('is copied out, and the copy makes the same run', async () => {
    const made = await millrace('init', 'et-agent', 'mine');
    expect([made.code, made.out]).toEqual([
      0,
      expect.stringContaining('wrote job.ts, settings.yaml, package.json'),
    ]);
    expect((await millrace('init', 'et-agent', 'mine')).err).toMatch(/already exists/);
    const source = readFileSync(join(home, 'mine', 'job.ts'), 'utf8');
    expect(source).toMatch(/from 'millrace\/jobs'/);
    expect(source).not.toMatch(/from '\.\.?\//);
    // As `npm install` would: the package under its name, and what it needs next to it.
    const modules = join(home, 'mine', 'node_modules');
    cpSync(join(ROOT, 'package.json'), join(modules, 'millrace', 'package.json'));
    symlinkSync(join(ROOT, 'dist'), join(modules, 'millrace', 'dist'));
    symlinkSync(join(ROOT, 'node_modules', 'zod'), join(modules, 'zod'));
    const args = ['--preset', 'et-agent-3b', '--settings', 'small.yaml', '--set', 'rounds=1'];
    const ran = await millrace('run', 'mine/job.ts', ...args, '--run', 'copy');
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('done;')]);
    const digests = await weightsOf('copy');
    expect(digests.length).toBeGreaterThan(2);
    expect(digests).toEqual(await weightsOf('first'));
  });

  test.each<[string, readonly string[], RegExp]>([
    ['a tool without documents', ['--set', 'corpus='], /the search tool needs documents/],
    ['a prompt that fills the context', ['--set', 'promptMax=20'], /has \d+ tokens, but promptMax/],
    [
      'a context that the policy has not',
      ['--set', 'responseMax=4000'],
      /has a context of 2048 tokens/,
    ],
    [
      'no policy',
      ['--set', 'policy=Qwen/Qwen2.5-3B-Instruct'],
      /model pull Qwen\/Qwen2\.5-3B-Instruct/,
    ],
    ['no such version', ['--set', 'policy=runs/first@99'], /has no weights of version 99/],
    ['no such questions', ['--set', 'questions=none.csv'], /none\.csv/],
    ['no preset', ['--preset', 'et-agent-8b'], /its presets: et-agent-3b, et-agent-7b/],
  ])('says what is wrong with %s before the first rollout', async (_, args, message) => {
    const wrong = await millrace('run', 'et-agent', '--settings', 'small.yaml', ...args);
    expect(wrong.err).toMatch(message);
    expect(wrong.code).not.toBe(0);
  });

  test('begins from what another run trained', async () => {
    const small = [
      '--settings',
      'small.yaml',
      '--set',
      'flywheel.questions=0',
      '--set',
      'rounds=1',
    ];
    const args = ['--set', 'policy=runs/first', '--run', 'second'];
    const second = await millrace('run', 'et-agent', ...small, ...args);
    expect([second.code, second.err]).toEqual([0, expect.stringContaining('done;')]);
    expect((await weightsOf('second'))[0]).toBe((await weightsOf('first')).at(-1));
  });

  test.each(['arpo', 'aepo', 'tool-star', 'tool-light', 'cold-start'])(
    'runs as %s too',
    async (job) => {
      const common = SMALL.split('\n').filter(
        (line) => !/^(flywheel|finetune|keep|mixedOnly)/.test(line),
      );
      const own: Readonly<Record<string, readonly string[]>> = {
        'tool-star': ['rounds', 'explore', 'initialRollouts'],
        'tool-light': [
          'rounds',
          'explore',
          'initialRollouts',
          'rollouts',
          'batchGroups',
          'miniBatches',
        ],
      };
      const left = common.filter((line) => !(own[job] ?? []).includes(line.split(':')[0]!));
      const more: Readonly<Record<string, string>> = {
        'tool-star':
          'coldStart: { questions: 6 }\nfinetune: { demonstrationsMin: 0 }\nhardMin: 4\nhardMax: 4\ncriticQuestions: 2\n',
        'cold-start': 'own: { questions: 4, attempts: 2 }\nfinetune: { demonstrationsMin: 0 }\n',
        'tool-light': 'candidates: 6\nsourceMin: 4\nloops: 1\nprefer: { samples: 3 }\n',
      };
      writeFileSync(join(home, `${job}.yaml`), left.join('\n') + (more[job] ?? ''));
      const ran = await millrace('run', job, '--settings', `${job}.yaml`, '--run', job);
      expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('done;')]);
    },
  );
});
