/** Rollouts that act in an environment, over a small server that speaks OpenEnv's wire. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import {
  RecordedCalls as Recorded,
  type RecordedCalls,
  recordedTools,
} from '../../../jobs/replay/recordedTools.ts';
import { type CallTool, callTools } from '../../../operators/callTools.ts';
import { deepDialect } from '../../../operators/deepAgent/deepDialect.ts';
import { episodeTools } from '../../../operators/deepAgent/episodeTools.ts';
import { growEpisodes } from '../../../operators/deepAgent/growEpisodes.ts';
import { specOf } from '../../../operators/dialect/native/index.ts';
import { tagsDialect } from '../../../operators/dialect/tagsDialect.ts';
import { worldSuccess } from '../../../operators/metrics/deepAgent/taskScore.ts';
import { type Group, growGroup } from '../../../operators/rollout/growGroup.ts';
import type { RolloutOptions } from '../../../operators/rollout/options.ts';
import type { Branching } from '../../../operators/sampling/branching.ts';
import {
  EnvironmentSessions,
  type EnvironmentTools,
  environmentActions,
  environmentTools,
} from '../../../operators/tools/environment/index.ts';
import { type ScriptLine, scriptedPolicy } from '../../../testing/scriptedPolicy.ts';
import { type ToolCall, topics } from '../../../topics/index.ts';
import { byteBpe } from '../../support/byteBpe.ts';
import {
  type EnvironmentFakes,
  type EnvironmentServer,
  environmentServer,
} from '../../support/environmentServer.ts';
import { question } from '../../support/records.ts';
import { rolloutOptions } from '../../support/rolloutOptions.ts';
import { until } from '../../support/until.ts';

const signal = new AbortController().signal;
const tokenizer = byteBpe();
const clock = sleepClock(systemClock);
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function served(
  fakes: EnvironmentFakes = {},
): Promise<{ server: EnvironmentServer; tools: EnvironmentTools }> {
  const server = await environmentServer(fakes);
  const place = { url: server.url, key: '', clock, timeoutMs: 60_000 };
  const actions = await environmentActions({ ...place, form: 'auto', tool: 'act' }, signal);
  const sessions = new EnvironmentSessions({ ...place, sessionsMax: 9, waitMs: 1_000 });
  const tools = environmentTools({ sessions, actions, show: [], charactersMax: 200 });
  closing.push(
    () => tools.begin.close(),
    () => server.close(),
  );
  return { server, tools };
}

const none = { gold: null, functions: [], program: '', files: [], world: '' };
const inCorridor = (reset: object) =>
  question({
    id: 'q',
    question: 'Get it.',
    answers: [],
    task: { ...none, world: JSON.stringify({ reset }) },
  });

function optionsOf(
  script: (line: ScriptLine) => string,
  tools: CallTool,
  branching: Branching | null = null,
): RolloutOptions {
  const prompt = (text: string) => tokenizer.encode(`Q: ${text}\n`, { tags: false });
  return {
    ...rolloutOptions(script),
    engine: scriptedPolicy({ tokenizer, script, contextMax: 9_000 }),
    dialect: tagsDialect({ tokenizer, tools: ['act'], prompt }),
    tools,
    samples: () => 3,
    responseMax: 2_000,
    callLimit: 9,
    branching: () => branching,
  };
}

const act = (command: string): string => `<think>hm</think><act>${command}</act>`;
/** Goes to the end of a corridor of 2 and takes what is there. */
const walker = ({ context }: ScriptLine): string =>
  act(context.includes('You see a coin') ? 'take' : 'go');

const summary = (calls: readonly ToolCall[]) =>
  calls.map(({ rolloutId, turn, tool, input, output, step }) => [
    ...[rolloutId.split('/').at(-1), turn, tool],
    ...[tool === 'environment' ? '' : input, output, step?.reward, step?.done],
  ]);

test('a rollout begins its environment, acts in it, and ends when that ends', async () => {
  const { server, tools } = await served();
  const options = optionsOf(walker, callTools([...tools.actions, tools.begin], { clock }));
  expect(options.tools.tags).toEqual(['act']);
  const { rollouts, toolCalls } = await growGroup(inCorridor({ seed: 4 }), options, signal);
  for (const rollout of rollouts) {
    expect(rollout).toMatchObject({
      ...{ status: 'done', finish: 'stop', reason: '', toolCalls: 3 },
      world: { done: true, reward: 1, steps: 3 },
    });
    expect(tokenizer.decode(rollout.prompt)).toBe('Q: Get it.\n\nYou are at 0 of 2.\n');
    expect(rollout.text).toMatch(/<result>\nYou see a coin\.\n<\/result>$/);
  }
  expect(summary(toolCalls).slice(0, 4)).toEqual([
    ['0', -1, 'environment', '', 'You are at 0 of 2.', 0, false],
    ['0', 0, 'act', 'go', 'You are at 1 of 2.', 0, false],
    ['0', 1, 'act', 'go', 'You see a coin.', 0, false],
    ['0', 2, 'act', 'take', 'You see a coin.', 1, true],
  ]);
  expect(toolCalls).toHaveLength(12);
  await until(() => server.open === 0);
  const reward = worldSuccess(() =>
    rollouts.map(() => ({ score: 0, parts: { raw: 0, valid: 0 } })),
  );
  const group = {
    question: inCorridor({}),
    tools: ['act'],
    texts: rollouts.map(({ text }) => text),
    lengths: [],
    rollouts,
  };
  expect((await reward(group))[0]).toEqual({
    score: 1,
    parts: { raw: 1, valid: 0, success: 1, path: 1 },
  });
});

test('a rollout that a limit ends keeps what it got, and leaves no session', async () => {
  const { server, tools } = await served();
  const options = optionsOf(
    () => act('sing'),
    callTools([...tools.actions, tools.begin], { clock }),
  );
  const { rollouts } = await growGroup(inCorridor({}), { ...options, callLimit: 2 }, signal);
  expect(rollouts.map(({ finish, world }) => [finish, world])).toEqual(
    Array(3).fill(['callLimit', { done: false, reward: -0.5, steps: 2 }]),
  );
  await until(() => server.open === 0);
});

test('an environment that is lost fails its rollout alone, which is worth nothing', async () => {
  let lost = 0;
  const { server, tools } = await served({
    say: ({ type }) => (type === 'step' && lost++ === 1 ? 'hang up' : undefined),
  });
  const options = optionsOf(walker, callTools([...tools.actions, tools.begin], { clock }));
  const { rollouts } = await growGroup(inCorridor({}), options, signal);
  const [failed, ...others] = rollouts.toSorted((a, b) => (a.status < b.status ? 1 : -1));
  expect(failed).toMatchObject({
    status: 'failed',
    reason: expect.stringMatching(/environment.*ended the connection/),
  });
  expect(others.map(({ status, world }) => [status, world?.reward])).toEqual([
    ['done', 1],
    ['done', 1],
  ]);
  await until(() => server.open === 0);
});

test('a run that stops leaves no session', async () => {
  const { server, tools } = await served({
    say: ({ type }) => (type === 'step' ? null : undefined),
  });
  const options = optionsOf(walker, callTools([...tools.actions, tools.begin], { clock }));
  const stopping = new AbortController();
  const growing = growGroup(inCorridor({}), options, stopping.signal);
  await until(() => server.heard.some(({ type }) => type === 'step'));
  stopping.abort(new Error('stopped'));
  await expect(growing).rejects.toThrow('stopped');
  await until(() => server.open === 0);
});

/** One root, cloned at every chance. */
const cloning: Branching = {
  ...{ initialRollouts: 1, beamSize: 3, entropyTokens: 4 },
  stepEntropy: () => 0,
  decide: () => true,
};

/** The records of a group, as a replay reads them. */
function replayed(live: CallTool, { toolCalls }: Group): CallTool {
  const calls: RecordedCalls = new Recorded();
  for (const [i, call] of toolCalls.entries()) calls.add(call, i);
  const fetch = async (_: unknown, [place]: readonly [{ offset: number }]) => [
    {
      value: topics.toolCalls.codec.decode(topics.toolCalls.codec.encode(toolCalls[place.offset]!)),
    },
  ];
  return recordedTools(live, {
    ...{ log: { fetch } as never, calls, mode: 'recorded' },
    onStray: (strayed) => {
      throw new Error(JSON.stringify(strayed));
    },
  });
}

/** Its own rollouts go other ways at the first fork. */
const wanderer = (line: ScriptLine): string => {
  if (line.context.includes('You see a coin')) return act('take');
  return act(line.draws.integer(0, 3) === 0 ? 'sing' : 'go');
};

test('a group branches in an environment, and is replayed without a server', async () => {
  const { server, tools } = await served();
  const live = callTools([...tools.actions, tools.begin], { clock });
  const options = optionsOf(wanderer, live, cloning);
  const group = await growGroup(inCorridor({ seed: 1 }), options, signal);
  const clones = group.rollouts.filter(({ parent }) => parent !== null);
  expect(clones.length).toBeGreaterThan(0);
  for (const { status, reason, world, toolCalls } of group.rollouts) {
    expect([status, reason]).toEqual(['done', '']);
    const sung = toolCalls - 3;
    expect(world).toEqual({ done: true, reward: 1 - 0.25 * sung, steps: toolCalls });
  }
  await until(() => server.open === 0);
  await server.close();
  const again = await growGroup(
    inCorridor({ seed: 1 }),
    { ...options, tools: replayed(live, group) },
    signal,
  );
  const plain = ({ rollouts }: Group) =>
    rollouts.map(({ startedMs: _, endedMs: __, ...rest }) => rest);
  expect(plain(again)).toEqual(plain(group));
});

test('a group branches only in an environment that repeats itself', async () => {
  let shown = 0;
  const { server, tools } = await served({
    seen: () => ({ text: `It is ${shown++} o'clock. You see a coin?` }),
  });
  const live = callTools([...tools.actions, tools.begin], { clock });
  const script = (line: ScriptLine) =>
    line.context.split('<act>').length > 3 ? 'So be it.<|im_end|>' : act('go');
  const { rollouts } = await growGroup(inCorridor({}), optionsOf(script, live, cloning), signal);
  const [root, ...clones] = rollouts;
  expect(root).toMatchObject({ status: 'done' });
  for (const { status, reason } of clones)
    expect([status, reason]).toEqual([
      'failed',
      expect.stringMatching(/same actions do not give the same observations/),
    ]);
  await until(() => server.open === 0);
});

test('a question that needs an environment fails in a job that has none', async () => {
  const options = optionsOf(walker, callTools([], { clock }));
  const { rollouts } = await growGroup(inCorridor({}), options, signal);
  expect(rollouts[0]).toMatchObject({
    ...{
      status: 'failed',
      reason: expect.stringMatching(/needs an environment, and there is none/),
    },
  });
});

describe('an episode of one continued thought', () => {
  const call = (command: string): string =>
    `Hm.<tool_call>${JSON.stringify({ name: 'act', arguments: { command } })}</tool_call>`;

  test('acts in an environment, may do the same twice, and ends when that ends', async () => {
    const { server, tools } = await served();
    const dialect = deepDialect({
      ...{ tokenizer, form: 'open', mode: 'repaired' },
      prompt: (message) => tokenizer.encode(message, { tags: false }),
    });
    const library = new Map(tools.actions.map((tool) => [tool.name, tool]));
    const docs = tools.actions.map((tool) => {
      const { name, about: description, parameters } = specOf(tool);
      return { name, description, parameters };
    });
    const script = ({ context }: ScriptLine): string =>
      call(context.includes('You see a coin') ? 'take' : 'go');
    const auxiliary = { auxiliary: async () => null, auxiliaryMax: 1, memoryCharacters: 99 };
    const episode = episodeTools({
      mode: 'repaired',
      seed: 1,
      library,
      retriever: null,
      top: 1,
      ...auxiliary,
    });
    const options: RolloutOptions = {
      ...optionsOf(script, callTools([...episode, tools.begin], { clock })),
      dialect,
      samples: () => 1,
    };
    const grow = growEpisodes({
      ...{ dialect, mode: 'repaired', actionLimit: 9, foldLimit: 0, contextLimit: 5_000 },
      ...{ searchCharacters: 999, callCharacters: 999, memoryCharacters: 99 },
      docs: new Map(docs.map((doc) => [doc.name, doc])),
      listed: () => docs,
      formOf: () => 'environment',
    });
    const { rollouts, toolCalls } = await grow(inCorridor({}), options, signal);
    const [rollout] = rollouts;
    expect(rollout).toMatchObject({
      ...{ status: 'done', finish: 'stop', reason: '' },
      world: { done: true, reward: 1, steps: 3 },
    });
    expect(rollout!.episode!.actions.map(({ response, ok, turn }) => [response, ok, turn])).toEqual(
      [
        ['You are at 1 of 2.', true, 0],
        ['You see a coin.', true, 1],
        ['You see a coin.', true, 2],
      ],
    );
    const prompt = tokenizer.decode(rollout!.prompt);
    expect(prompt).toMatch(
      /^You act in an environment[\s\S]*Task: Get it\.\n\nYou are at 0 of 2\.\n\nTools:/,
    );
    expect(toolCalls.map(({ turn, tool }) => [turn, tool])).toEqual([
      [-1, 'environment'],
      [0, 'tool_call'],
      [1, 'tool_call'],
      [2, 'tool_call'],
    ]);
    await until(() => server.open === 0);
  });
});
