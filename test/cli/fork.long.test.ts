/** `millrace fork` as a user runs it: on a run of an agent that is a program, by the gateway and its policy. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ModelCallRecord, Rollout } from '../../topics/index.ts';
import { built, ROOT } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { tinyRun } from '../support/tinyRun.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
const at = (...names: string[]): string => join(folder.path, ...names);
const AGENT = join(ROOT, 'test', 'support', 'askingAgent.mjs');
const CALLS = 3;

function started(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    ...{ cwd: folder.path, encoding: 'utf8' },
    env: { ...process.env, HEARD: at('heard') },
  });
  return { code: status, out: stdout, err: stderr };
}

function done(...args: readonly string[]): string {
  const { code, out, err } = started(...args);
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  return out;
}

function recorded<T>(topic: string): T[] {
  const out = done(built(), 'tap', topic, '--from', 'earliest', '-o', 'ndjson');
  return out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

const settings = {
  ...{ 'agent.command': `node "${AGENT}"`, policy: 'stock/start', questions: 'stock/train.csv' },
  ...{ heldOut: 1, evaluationRollouts: 1, explore: 2, rollouts: 2, rounds: 1, batchGroups: 2 },
  ...{ miniBatches: 1, promptMax: 300, responseMax: 300, 'agent.answerTokens': 12 },
};

/** The rollout that is forked, and what was answered in it. */
let rollout: string;
let answers: readonly string[];

beforeAll(async () => {
  const make = ['--import', 'tsx', join(ROOT, 'examples', 'stockModel', 'make.ts')];
  const { status, stderr } = spawnSync(process.execPath, [...make, at('stock'), '--lessons', '5'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  const sets = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  done(built(), 'run', 'agent', '--run', 'agent', ...sets);
  rollout = recorded<Rollout>('agent.rollouts').find(
    ({ question }) => question.phase === 'explore',
  )!.id;
  answers = recorded<ModelCallRecord>('agent.calls')
    .filter(({ sessionId }) => sessionId === rollout)
    .toSorted((a, b) => a.call - b.call)
    .map(({ content }) => content);
  expect(answers).toHaveLength(CALLS);
  await tinyRun(at('runs'), 'tiny');
});

const forked = (call: number, ...more: readonly string[]) =>
  started(built(), 'fork', 'agent', '--rollout', rollout, '--call', String(call), ...more);

describe('millrace fork', () => {
  beforeEach(() => writeFileSync(at('heard'), ''));

  /** What each of the agents heard, in order. */
  function heard(): string[][] {
    const lines = readFileSync(at('heard'), 'utf8').split('\n').filter(Boolean);
    const said = lines.map(
      (line) => JSON.parse(line) as { rollout: string; call: number; content: string },
    );
    const agents = [...new Set(said.map((one) => one.rollout))];
    return agents.map((agent) =>
      said
        .filter((one) => one.rollout === agent)
        .toSorted((a, b) => a.call - b.call)
        .map(({ content }) => content),
    );
  }

  test.each([1, 2, 3])(
    'answers the calls before %i from the record, and samples it and the later ones anew',
    (call) => {
      const before = readdirSync(at('runs'));
      const { code, out } = forked(call, '-n', '2', '--json');
      expect(code).toBe(0);
      const agents = heard();
      expect(agents).toHaveLength(2);
      for (const agent of agents) {
        expect(agent.slice(0, call - 1)).toEqual(answers.slice(0, call - 1));
        expect(agent).toHaveLength(CALLS);
        for (let later = call - 1; later < CALLS; later++) {
          expect(agent[later]).not.toBe(answers[later]);
        }
      }
      // Each by its own draws.
      expect(agents[0]![call - 1]).not.toBe(agents[1]![call - 1]);
      const { question, rollouts } = JSON.parse(out) as {
        readonly question: { readonly id: string };
        readonly rollouts: readonly { readonly status: string; readonly text: string }[];
      };
      expect(rollout.startsWith(`${question.id}/`)).toBe(true);
      expect(rollouts.map(({ status }) => status)).toEqual(['done', 'done']);
      // A text shows how an answer that ends amid a character goes on.
      for (const { text } of rollouts)
        for (const said of answers.slice(0, call - 1)) expect(text).toContain(said.slice(1, -1));
      expect(readdirSync(at('runs'))).toEqual(before);
    },
  );

  test('samples the same again with the same seed, other answers with another', () => {
    const texts = (seed: number) =>
      JSON.parse(forked(2, '--json', '--seed', String(seed)).out).rollouts[0].text as string;
    const first = texts(5);
    expect(texts(5)).toBe(first);
    expect(texts(6)).not.toBe(first);
  });

  test('shows people the question, what came of it and its reward', () => {
    const { code, out, err } = forked(CALLS);
    expect(code).toBe(0);
    expect(out).toMatch(/^question \S+: /);
    expect(out).toMatch(/\nrollout 1 of 1: \S.*\d+ tokens, 0 tool calls\n[\s\S]*\nreward: /);
    expect(err).not.toMatch(/error|warning/);
  });

  test.each([
    [
      ['agent', '--rollout', 'q/explore-1/7', '--call', '1'],
      /run agent has no rollout q\/explore-1\/7: see their ids with .* tap agent\.rollouts --key q$/,
    ],
    [
      ['agent', '--rollout', 'nobody', '--call', '1'],
      /run agent has no rollout nobody: see their ids with .* tap agent\.rollouts$/,
    ],
    [
      ['agent', '--rollout', '=', '--call', '4'],
      /^error: rollout = made 3 model calls: give --call a number from 1 to 3$/,
    ],
    [
      ['agent', '--rollout', '=', '--call', '0'],
      /'--call <N>' argument '0' is invalid\. It must be a whole number, 1 or more/,
    ],
    [['agent', '--rollout', '=', '--call', '1', '-n', '0'], /argument '0' is invalid/],
    [['agent', '--rollout', '='], /required option '--call <N>' not specified/],
    [
      ['tiny', '--rollout', 'TINY', '--call', '1'],
      /was not made by an agent: only sessions of agents can be forked/,
    ],
  ])('refuses %j with exit code 2, and starts no agent', (args, message) => {
    const tiny = (): string => recorded<Rollout>('tiny.rollouts')[0]!.id;
    const given = args.map((arg) => (arg === '=' ? rollout : arg === 'TINY' ? tiny() : arg));
    const { code, err } = started(built(), 'fork', ...given);
    expect(
      err
        .trim()
        .replaceAll(rollout, '=')
        .split('\n')
        .find((line) => message.test(line)),
    ).toBeDefined();
    expect(code).toBe(2);
    expect(heard()).toEqual([]);
  });

  test('of a run that is not there names those that are', () => {
    const { code, err } = started(built(), 'fork', 'agnet', '--rollout', rollout, '--call', '1');
    expect(err).toMatch(/no run "agnet" in .*Did you mean agent\?/);
    expect(code).not.toBe(0);
  });
});
