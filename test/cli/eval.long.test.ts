import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type EvalFlags, givenSettings } from '../../cli/eval/givenSettings.ts';
import { main } from '../../cli/program.ts';
import { EmbeddedEngine } from '../../model/rollout/embeddedEngine.ts';
import { engineServer } from '../support/engineServer.ts';
import { fakeIo } from './support/fakeIo.ts';

const base = fileURLToPath(new URL('../../examples/quickstart/base', import.meta.url));

let cwd: string;
let judge: Server;
let asked: string[] = [];

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'millrace-eval-'));
  const sums = [
    ['2 + 3', '5'],
    ['4 + 4', '8'],
    ['7 + 2', 'nine'],
  ];
  const rows = sums.map(([sum, answer], i) => `s-${i},sums,What is ${sum}?,${answer},math`);
  await writeFile(join(cwd, 'sums.csv'), ['id,source,question,answer,ability', ...rows].join('\n'));
  const fact = { question: 'Where was it founded?', answer: ['Jolham'] };
  await writeFile(join(cwd, 'hotpotqa.jsonl'), `${JSON.stringify(fact)}\n{"question": ""}\n`);
  judge = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      asked.push(body);
      const content = body.includes('redundant') ? '<answer>yes</answer>' : 'Correct';
      const message = { role: 'assistant', content };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ choices: [{ message, finish_reason: 'stop' }] }));
    });
  }).listen(0, '127.0.0.1');
});
afterAll(async () => {
  judge.close();
  await rm(cwd, { recursive: true });
});

async function millrace(...args: string[]) {
  const io = fakeIo(cwd, 5000);
  const code = await main(args, io);
  return { code, out: io.stdout(), err: io.stderr().join('\n') };
}

const evaluate = (...args: string[]) =>
  millrace('eval', '--tools', 'none', '--threads', '1', ...args);
const sums = ['--policy', base, '--questions', 'sums.csv'];

describe('millrace eval', () => {
  it('prints a table with a row for each benchmark, and writes a page', async () => {
    const { code, out, err } = await evaluate(...sums, 'hotpotqa.jsonl', '--run', 'first');
    expect(code).toBe(0);
    expect(out).toContain('4 questions · 1 rollout each · greedy · no tools · no judge');
    expect(out).toMatch(
      /\nbenchmark +questions +by +correct +95 % +effi +calls +executed +length\n/,
    );
    expect(out).toMatch(/\nsums +3 +equal +\d/);
    expect(out).toMatch(/\nhotpotqa +1 +F1 +\d/);
    expect(out).toMatch(/\nmean of mathematics .*\nmean of knowledge .*\nmean of all /);
    expect(out).toContain('1 row could not be read (npx millrace dlq ls first)');
    expect(err).toMatch(/starting run first/);
    const page = await readFile(join(cwd, 'runs/first/evaluation.html'), 'utf8');
    expect(page).toMatch(/^<!doctype html>/);
    // conciseness needs a jury, and with four of the five numbers there is no radar
    expect(page).not.toContain('class="radar"');
    expect(page).toContain('<td class="left">hotpotqa</td>');
    expect(page).not.toMatch(/<script|<link|<img|@import|url\(|\bhref=|\bsrc=|\bon\w+=/i);
  });

  it('prints a finished evaluation again without running it, and refuses other settings', async () => {
    const before = (await stat(join(cwd, 'runs/first/run.json'))).mtimeMs;
    const { code, out, err } = await evaluate('--run', 'first', '--json');
    expect(code).toBe(0);
    expect(err).not.toMatch(/starting|resuming/);
    expect(out.trimEnd().split('\n')).toHaveLength(1);
    const report = JSON.parse(out);
    expect(report).toMatchObject({
      run: 'first',
      status: 'done',
      seed: 1,
      questions: 4,
      rollouts: 1,
      judge: null,
      policy: { name: base, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      rows: [
        { source: 'sums', measure: 'equality' },
        { source: 'hotpotqa', measure: 'f1' },
      ],
    });
    expect(report.averages.all.correctness).toBeCloseTo(
      (report.averages.math.correctness + report.averages.qa.correctness) / 2,
    );
    expect((await stat(join(cwd, 'runs/first/run.json'))).mtimeMs).toBe(before);
    expect(await evaluate('--run', 'first', '--limit', '1')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/different settings; it was started with\n {2}limit: 500, not 1/),
    });
  });

  it('evaluates the weights of a run with the tokenizer of that run', async () => {
    const { out } = await evaluate(
      '--policy',
      'first@0',
      '--questions',
      'sums.csv',
      ...['--rollouts', '2', '--top-p', '0.95', '--repetition-penalty', '1.1'],
    );
    expect(out).toContain(
      'first@0 · 3 questions · 2 rollouts each · temperature 1, top-p 0.95, repetition penalty 1.1',
    );
    expect(out).toMatch(/pass@1 +pass@2 +best@2 +maj@2\n/);
    const path = join(cwd, 'runs/first/run.json');
    const before = await readFile(path, 'utf8');
    const { digest: _, ...record } = JSON.parse(before);
    record.settings.tools = { use: ['python'], python: { timeoutMs: 1234, spares: 0 } };
    await writeFile(path, JSON.stringify(record));
    await evaluate('--policy', 'first@0', '--questions', 'sums.csv', '--run', 'limits');
    const given = async (flags: Partial<EvalFlags> = {}) => {
      await writeFile(path, JSON.stringify(record));
      const all = { runs: 'runs', data: 'data', policy: 'first@0', ...flags };
      const settings = await givenSettings(all, fakeIo(cwd, 5000));
      return Object.fromEntries(settings.map(({ key, text }) => [key, text]));
    };
    record.settings = { ...record.settings, promptMax: 9, searchTop: 3, dialect: 'tags' };
    const promptIn = join(cwd, 'runs/first');
    expect(await given()).toMatchObject({ promptIn, searchTop: '3', tools: '["python"]' });
    const other = await given({ dialect: 'tags', system: 'mine.txt' });
    expect(other).toMatchObject({ dialect: 'tags', system: join(cwd, 'mine.txt') });
    expect(await given({ system: 'none' })).toMatchObject({ system: 'none' });
    record.job.name = 'mine';
    delete record.settings.dialect;
    await expect(given()).rejects.toThrow(/first is a run of mine.*millrace report first/);
    await writeFile(path, before);
    const { settings } = JSON.parse(await readFile(join(cwd, 'runs/limits/run.json'), 'utf8'));
    expect(settings.python).toMatchObject({ timeoutMs: 1234, spares: 0, characters: 1000 });
    const unknown = await evaluate('--policy', 'first@7', '--questions', 'sums.csv');
    expect(unknown).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /error \(POLICY\): run first no longer has weights of version 7; available versions: 0 /,
      ),
    });
    await mkdir(join(cwd, 'copy'));
    for (const one of ['policy.safetensors', 'tokenizer.json', 'chat_template.jinja']) {
      await copyFile(join(base, one), join(cwd, 'copy', one));
    }
    await evaluate('--policy', 'copy', ...sums.slice(2), '--limit', '1', '--run', 'copied');
    const file = join(cwd, 'copy/policy.safetensors');
    const whole = await readFile(file);
    await writeFile(
      file,
      whole.map((byte, i) => (i === whole.length - 1 ? byte ^ 1 : byte)),
    );
    expect(await evaluate('--policy', 'copied', '--questions', 'sums.csv')).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /error \(DIGEST\): \S+policy.safetensors of version 0 of run copied has digest/,
      ),
    });
  });

  it('asks a judge what equality leaves open, and votes on calls if asked to', async () => {
    const { port } = judge.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    asked = [];
    const judged = ['--judge', url, '--judge-model', 'm', '--run', 'judged', '--json'];
    const long = ['--judge-max-tokens', '77'];
    const { out, code } = await evaluate(...sums, ...judged, ...long, '--conciseness');
    expect(code).toBe(0);
    const report = JSON.parse(out);
    expect(report.rows[0]).toMatchObject({ measure: 'judge', correctness: 1, judgeFailures: 0 });
    expect(report.rows[0].conciseness).not.toBeNull();
    expect(asked.some((body) => body.includes('nine'))).toBe(true);
    expect(asked.some((body) => JSON.parse(body).max_tokens === 77)).toBe(true);
    expect((await evaluate('--run', 'judged')).out).toContain('LJ');
  });

  it('evaluates a policy on a server with the same answers as in this process', async () => {
    const clock = { now: () => 0 };
    const engine = await EmbeddedEngine.create({
      ...{ weights: join(base, 'policy.safetensors'), threads: 1, contextMax: 1024, clock },
    });
    const server = await engineServer({ engine });
    try {
      const here = await evaluate(...sums, '--run', 'here', '--json');
      const served = ['--policy', server.url, '--tokenizer', base, '--questions', 'sums.csv'];
      const there = await evaluate(...served, '--model', 'base', '--run', 'there', '--json');
      expect(there.err).toContain('starting run there');
      expect(there.code).toBe(0);
      const [ours, theirs] = [here, there].map(({ out }) => JSON.parse(out));
      expect(theirs.rows).toEqual(ours.rows);
      expect(theirs.policy.name).toBe(`base at ${server.url}`);
      expect((await evaluate('--run', 'there')).code).toBe(0);
      const wrong = await evaluate(...served, '--model', 'other', '--run', 'other');
      expect(wrong.err).toMatch(/MODEL_OTHER/);
    } finally {
      await server.close();
      await engine.close();
    }
  });

  it.each([
    [
      ['--policy', 'http://host:1', '--questions', 'sums.csv'],
      /a policy on a server needs --tokenizer FOLDER/,
    ],
    [
      ['--policy', 'http://host:1', '--tokenizer', base, '--questions', 'sums.csv'],
      /a policy on vLLM needs --model NAME, one of those that http:\/\/host:1\/v1\/models lists/,
    ],
    [[...sums, '--model', 'm'], /--model needs a policy on a server/],
    [[...sums, '--judge-max-tokens', '5'], /no judge is set/],
    [['--questions', 'sums.csv'], /give --policy and --questions/],
    [[...sums, '--greedy', '--temperature', '1'], /give --greedy or --temperature, not both/],
    [
      [...sums, '--greedy', '--rollouts', '2'],
      /2 greedy rollouts of a question would all be the same/,
    ],
    [[...sums, '--judge', 'http://x'], /--judge needs --judge-model/],
    [[...sums, '--conciseness'], /no judge is set/],
    [[...sums, '--tools', 'search'], /the search tool needs documents: give --corpus/],
    [[...sums, '--tools', 'calculator'], /unknown tool calculator/],
    [[...sums, '--rollouts', '0'], /1 or more/],
    [[...sums, '--temperature', 'hot'], /a number, 0 or more/],
    [[...sums, '--top-p', '0'], /above 0 and at most 1/],
    [[...sums, '--repetition-penalty', '-1'], /above 0/],
  ])('refuses %j with 2', async (args, message) => {
    const { code, err } = await millrace('eval', ...args);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  it.each([
    [['--policy', 'nosuch', '--questions', 'sums.csv'], /NO_RUN.*no run "nosuch"/],
    [['--policy', './nosuch', '--questions', 'sums.csv'], /POLICY.*nosuch does not exist/],
    [['--policy', 'sums.csv', '--questions', 'sums.csv'], /POLICY.*is not a policy; give/],
    [
      ['--policy', '.', '--questions', 'sums.csv'],
      /POLICY.*contains neither policy\.safetensors nor/,
    ],
    [['--policy', base, '--questions', 'nosuch'], /QUESTIONS_FILE.*no questions at nosuch/],
    [
      ['--policy', base, '--questions', 'sums.csv', '--tokenizer', '.'],
      /POLICY.*--tokenizer FOLDER/,
    ],
  ])('fails at %j with advice', async (args, message) => {
    const { code, err } = await evaluate(...args);
    expect(code).toBe(1);
    expect(err).toMatch(message);
  });

  it('evaluates a policy whose tags are not tokens, and says if it has no chat template', async () => {
    const folder = join(cwd, 'speechless');
    await mkdir(folder);
    await copyFile(join(base, 'policy.safetensors'), join(folder, 'policy.safetensors'));
    await copyFile(join(base, 'chat_template.jinja'), join(folder, 'chat_template.jinja'));
    const words = await readFile(join(base, 'tokenizer.json'), 'utf8');
    await writeFile(join(folder, 'tokenizer.json'), words.replace('"</python>"', '"</reckon>"'));
    const given = ['--policy', folder, '--questions', 'sums.csv', '--threads', '1'];
    const { code, out } = await millrace('eval', ...given, '--dialect', 'tags');
    expect(code).toBe(0);
    expect(out).toContain('3 questions · 1 rollout each · greedy · tools python · no judge');
    await rm(join(folder, 'chat_template.jinja'));
    const mute = await evaluate('--policy', folder, '--questions', 'sums.csv');
    expect(mute.err).toMatch(/CHAT_TEMPLATE.*add one as chat_template\.jinja/);
  });

  it('explains itself', async () => {
    const { code, out } = await millrace('eval', '--help');
    expect(code).toBe(0);
    for (const part of ['--policy', '--questions', '--judge', '--json', 'Examples:']) {
      expect(out).toContain(part);
    }
  });
});
