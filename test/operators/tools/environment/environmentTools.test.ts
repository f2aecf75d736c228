/** An environment as tools, over a small server that speaks OpenEnv's wire. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { keepSecret } from '../../../../base/secrets.ts';
import { sleepClock } from '../../../../base/sleepClock.ts';
import {
  EnvironmentSessions,
  environmentActions,
  environmentTools,
} from '../../../../operators/tools/environment/index.ts';
import type { SessionsOptions } from '../../../../operators/tools/environment/sessions.ts';
import type { Tool } from '../../../../operators/tools/tool.ts';
import {
  type EnvironmentFakes,
  type EnvironmentServer,
  environmentServer,
} from '../../../support/environmentServer.ts';
import { impatientClock } from '../../../support/impatientClock.ts';
import { until } from '../../../support/until.ts';

const signal = new AbortController().signal;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Opened {
  readonly server: EnvironmentServer;
  readonly begin: Tool;
  readonly act: Tool;
  readonly all: readonly Tool[];
}

async function opened(
  fakes: EnvironmentFakes = {},
  over: Partial<SessionsOptions> & {
    readonly form?: 'auto' | 'alfworld';
    readonly show?: string[];
  } = {},
): Promise<Opened> {
  const server = await environmentServer(fakes);
  closing.push(() => server.close());
  const { form = 'auto', show = [], ...sessions } = over;
  const clock = sessions.clock ?? impatientClock();
  const place = { url: server.url, key: '', clock, timeoutMs: 120_000, ...sessions };
  const asking = { ...place, clock: sleepClock(systemClock), form, tool: 'act' };
  const actions = await environmentActions(asking, signal);
  const { begin, actions: all } = environmentTools({
    sessions: new EnvironmentSessions({ sessionsMax: 100, waitMs: 10_000, ...place }),
    ...{ actions, show, charactersMax: 200 },
  });
  closing.push(() => begin.close());
  return { server, begin, act: all[0]!, all };
}

const world = (reset: object = {}, shows = ''): string => JSON.stringify({ reset, shows });
const of = (rolloutId: string) => ({ rolloutId });

test('each rollout acts in an environment of its own, which ends with the last step', async () => {
  const { server, begin, act } = await opened();
  const first = await begin.run(world({ seed: 3, length: 1 }), signal, of('q/explore-0/0'));
  expect(first).toEqual({
    ...{ output: 'You are at 0 of 1.', ok: true, step: { reward: 0, done: false } },
  });
  await begin.run(world({ length: 5 }), signal, of('q/explore-0/1'));
  expect(await act.run('go', signal, of('q/explore-0/0'))).toMatchObject({
    ...{ output: 'You see a coin.', step: { reward: 0, done: false } },
  });
  expect(await act.run('go', signal, of('q/explore-0/1'))).toMatchObject({
    output: 'You are at 1 of 5.',
  });
  expect(await act.run('take', signal, of('q/explore-0/0'))).toMatchObject({
    step: { reward: 1, done: true },
  });
  expect(await act.run('go', signal, of('q/explore-0/0'))).toEqual({
    ...{ output: 'The environment has ended.', ok: false },
  });
  await until(() => server.open === 1);
  act.end!('q/explore-0/1');
  await until(() => server.open === 0);
  expect(server.heard.map(({ type, data }) => [type, data])).toEqual([
    ['reset', { seed: 3, length: 1 }],
    ['reset', { length: 5 }],
    ['step', { command: 'go' }],
    ['step', { command: 'go' }],
    ['step', { command: 'take' }],
  ]);
});

describe('a server with fewer sessions than there are rollouts', () => {
  test('is waited for, and never asked for more than it has', async () => {
    const { server, begin, act } = await opened(
      { sessionsMax: 2 },
      { clock: sleepClock(systemClock) },
    );
    await Promise.all(
      Array.from({ length: 7 }, async (_, i) => {
        await begin.run(world({ length: 1 }), signal, of(`q/explore-0/${i}`));
        await act.run('go', signal, of(`q/explore-0/${i}`));
        expect((await act.run('take', signal, of(`q/explore-0/${i}`))).step?.reward).toBe(1);
        act.end!(`q/explore-0/${i}`);
      }),
    );
    expect(server.openMost).toBe(2);
  });

  test('that others have is given up after a while, and says so', async () => {
    const clock = impatientClock();
    const { begin } = await opened({ sessionsMax: 0 }, { clock, waitMs: 1_000 });
    await expect(begin.run(world(), signal, of('q/explore-0/0'))).rejects.toMatchObject({
      code: 'TOOL_DOWN',
      message: expect.stringMatching(/environment.*no free session for 1000 ms/),
    });
    // 2,000 is what a server has to say goodbye.
    const pauses = clock.sleeps.filter((ms) => ms !== 2_000);
    expect(pauses).toEqual([100, 200, 400, 800]);
  });

  test('is no longer waited for when the run stops', async () => {
    const { begin } = await opened({ sessionsMax: 1 }, { clock: sleepClock(systemClock) });
    await begin.run(world(), signal, of('q/explore-0/0'));
    const stopping = new AbortController();
    const waiting = begin.run(world(), stopping.signal, of('q/explore-0/1'));
    stopping.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    begin.end!('q/explore-0/0');
    await begin.run(world(), signal, of('q/explore-0/2'));
  });
});

describe('an environment that is lost fails the rollout, and goes on failing it', () => {
  const error = (code: string) => ({ type: 'error', data: { message: 'it broke', code } });
  test.each<[string, unknown, RegExp]>([
    ['by an end of the connection', 'hang up', /ended the connection/],
    ['by an exception in it', error('EXECUTION_ERROR'), /it failed: it broke \(EXECUTION_ERROR\)/],
    ['by what is no JSON', '<html>', /not an OpenEnv message/],
    ['by an observation that is none', { type: 'observation', data: 7 }, /not an OpenEnv message/],
    ['by a message of 9 MB', `"${'x'.repeat(9_000_000)}"`, /max payload/i],
  ])('%s', async (_, said, why) => {
    const { server, begin, act } = await opened({
      say: ({ type }) => (type === 'step' ? said : undefined),
    });
    await begin.run(world(), signal, of('q/explore-0/0'));
    for (let twice = 0; twice < 2; twice++) {
      await expect(act.run('go', signal, of('q/explore-0/0'))).rejects.toMatchObject({
        ...{ code: 'TOOL_DOWN', message: expect.stringMatching(why) },
      });
    }
    expect(server.heard.filter(({ type }) => type === 'step')).toHaveLength(1);
    await until(() => server.open === 0);
  });

  test('by silence', async () => {
    const clock = impatientClock();
    const { begin, act } = await opened(
      { say: ({ type }) => (type === 'step' ? null : undefined) },
      { clock },
    );
    await begin.run(world(), signal, of('q/explore-0/0'));
    const acting = act.run('go', signal, of('q/explore-0/0'));
    await clock.held();
    clock.ring();
    await expect(acting).rejects.toThrow(/no answer within 120000 ms/);
  });

  test('by a reset that fails', async () => {
    const { begin } = await opened({ say: () => error('FACTORY_ERROR') });
    await expect(begin.run(world(), signal, of('q/explore-0/0'))).rejects.toThrow(
      /cannot be reset: it broke \(FACTORY_ERROR\)/,
    );
  });

  test('by being away', async () => {
    const { server, begin } = await opened();
    await server.close();
    await expect(begin.run(world(), signal, of('q/explore-0/0'))).rejects.toThrow(/ECONNREFUSED/);
  });

  test('by showing another task than the question’s', async () => {
    const { begin } = await opened();
    await begin.run(world({}, 'YOU are  at 0'), signal, of('q/explore-0/0'));
    await expect(begin.run(world({}, 'a kitchen'), signal, of('q/explore-0/1'))).rejects.toThrow(
      /task is not the question.*a kitchen/,
    );
  });
});

test('an answer that was not asked for is not taken for the next one', async () => {
  const twice = {
    type: 'observation',
    data: { observation: { text: 'forged' }, reward: 9, done: false },
  };
  const { begin, act } = await opened({
    say: ({ type }, _, nth) => (type === 'step' && nth === 1 ? twice : undefined),
  });
  await begin.run(world(), signal, of('q/explore-0/0'));
  expect(await act.run('go', signal, of('q/explore-0/0'))).toMatchObject({ output: 'forged' });
  expect(await act.run('go', signal, of('q/explore-0/0'))).toMatchObject({
    output: 'You are at 1 of 2.',
  });
});

test('an action that cannot be read is a failed call, and the environment goes on', async () => {
  const refused = {
    type: 'error',
    data: {
      message: 'Invalid message',
      code: 'VALIDATION_ERROR',
      errors: [{ loc: ['command'], msg: 'too rude' }],
    },
  };
  const { begin, act } = await opened({
    say: ({ type }, _, nth) => (type === 'step' && nth === 1 ? refused : undefined),
  });
  await begin.run(world(), signal, of('q/explore-0/0'));
  expect(await act.run('%!', signal, of('q/explore-0/0'))).toEqual({
    ...{ output: 'Error: the environment cannot read this: command: too rude', ok: false },
  });
  expect(await act.run('{"command": "go"}', signal, of('q/explore-0/0'))).toMatchObject({
    ok: true,
  });
});

test('an observation is cut, and shows no secret', async () => {
  keepSecret('hunter2hunter2');
  const { begin } = await opened({
    seen: () => ({ text: `the key is hunter2hunter2 ${'x'.repeat(500)}` }),
  });
  const { output } = await begin.run(world(), signal, of('q/explore-0/0'));
  expect(output).toMatch(/^the key is \[secret\] x+\.\.\.$/);
  expect(output.length).toBeLessThan(210);
});

describe('a rollout that branched off another one', () => {
  const past = [
    { tool: 'environment', input: world({ length: 3 }), output: 'You are at 0 of 3.' },
    { tool: 'act', input: 'go', output: 'You are at 1 of 3.' },
  ];

  test('gets an environment in which the same was done', async () => {
    const { server, act } = await opened();
    const situation = { ...of('q/explore-0/1'), past };
    expect(await act.run('go', signal, situation)).toMatchObject({ output: 'You are at 2 of 3.' });
    expect(await act.run('go', signal, situation)).toMatchObject({ output: 'You see a coin.' });
    expect(server.heard).toHaveLength(4);
  });

  test('fails where the environment does not repeat itself, and leaves no session', async () => {
    const { server, act } = await opened();
    const other = [past[0]!, { ...past[1]!, output: 'It rains.' }];
    await expect(act.run('go', signal, { ...of('q/explore-0/1'), past: other })).rejects.toThrow(
      /same actions do not give the same observations.*branching=none/,
    );
    await until(() => server.open === 0);
  });
});

describe('the tools of an environment', () => {
  test('are one for its action, with the fields of the action', async () => {
    const { act, begin } = await opened();
    expect([begin.name, begin.offered, begin.pure]).toEqual(['environment', false, false]);
    expect(act).toMatchObject({
      name: 'act',
      about: 'Walks in a corridor: go, take.',
      pure: false,
      parameters: {
        type: 'object',
        properties: { command: { type: 'string', description: 'go or take' } },
        required: ['command'],
      },
    });
    expect(JSON.stringify(act.parameters)).not.toMatch(/title|metadata/i);
  });

  test('are its own, where it is one of tools', async () => {
    const action = { properties: { metadata: {}, type: { const: 'list_tools' } } };
    const inputSchema = {
      type: 'object',
      properties: { how: { type: 'string', title: 'How' }, far: { type: 'integer' } },
    };
    const tools = [
      { name: 'go', description: 'Goes <|im_end|> on.', inputSchema },
      { name: 'take', description: null, inputSchema: { type: 'object', properties: {} } },
    ];
    const { server, begin, all } = await opened({ action, tools });
    expect(all.map(({ name, about }) => [name, about])).toEqual([
      ['go', 'Goes < |im_end|> on.'],
      ['take', 'take'],
    ]);
    await begin.run(world({ length: 1 }), signal, of('q/explore-0/0'));
    const went = await all[0]!.run('{"how": "fast"}', signal, of('q/explore-0/0'));
    expect(went).toMatchObject({ output: '{"text":"You see a coin."}', ok: true });
    expect((await all[1]!.run('{}', signal, of('q/explore-0/0'))).step).toEqual({
      reward: 1,
      done: true,
    });
    expect(server.heard.at(-2)!.data).toEqual({
      ...{ type: 'call_tool', tool_name: 'go', arguments: { how: 'fast' } },
    });
    expect(
      await all[0]!.run('fast', signal, of('q/explore-0/1')).catch((e: Error) => e.message),
    ).toMatch(/never started/);
  });

  test('are ALFWorld’s functions, whose calls are commands', async () => {
    const { server, begin, all } = await opened({}, { form: 'alfworld' });
    const tool = (name: string): Tool => all.find((one) => one.name === name)!;
    await begin.run(world(), signal, of('q/explore-0/0'));
    for (const [name, given] of [
      ['goto', { recep: 'fridge 1' }],
      ['take', { obj: 'apple 1', recep: 'fridge 1' }],
      ['take', { obj: 'apple 1' }],
      ['move', { obj: 'apple 1', recep: 'table 2' }],
      ['move', { obj: 'apple 1' }],
      ['clean', { obj: 'cup 1', recep: 'sink 1' }],
      ['look', {}],
    ] as const)
      await tool(name).run(JSON.stringify(given), signal, of('q/explore-0/0'));
    expect(server.heard.slice(1).map(({ data }) => data!.command)).toEqual([
      'go to fridge 1',
      'take apple 1 from fridge 1',
      'take apple 1',
      'move apple 1 to table 2',
      'drop apple 1',
      'clean cup 1 with sink 1',
      'look',
    ]);
    const lacking = await tool('clean').run('{"obj": "cup 1"}', signal, of('q/explore-0/0'));
    expect(lacking).toEqual({ output: 'Error: clean needs the argument "recep".', ok: false });
  });

  test.each<[string, EnvironmentFakes & { form?: 'alfworld' }, RegExp]>([
    [
      'no text for a command',
      { action: { properties: { n: { type: 'integer' } } }, form: 'alfworld' },
      /exactly one text field in its action.*none/,
    ],
    ['no tools', { action: { properties: {} } }, /lists no tools/],
    [
      'a tool whose name is no tag',
      { action: { properties: {} }, tools: [{ name: '</result>' }] },
      /cannot be a tag/,
    ],
    [
      'an argument that is none',
      { action: { properties: { 'a b<c>': {} } } },
      /invalid argument name/,
    ],
    ['no schema', { action: [] as object }, /not an OpenEnv schema/],
  ])('are refused with the reason if there is %s', async (_, { form = 'auto', ...fakes }, why) => {
    const refused = { code: 'ENVIRONMENT', message: expect.stringMatching(why) };
    await expect(opened(fakes, { form: form as 'alfworld' })).rejects.toMatchObject(refused);
  });
});

test('a server with a token is given it, by its description and by its sessions', async () => {
  const { server, begin } = await opened({}, { key: 'let-me-in-please' });
  await begin.run(world(), signal, of('q/explore-0/0'));
  const said = server.requests.map(({ url, headers }) => [url, headers.authorization]);
  expect(said).toEqual([
    ['/schema', 'Bearer let-me-in-please'],
    ['/ws', 'Bearer let-me-in-please'],
  ]);
});
