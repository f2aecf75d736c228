/** Real OpenEnv servers: one that takes commands, one of tools, and TextWorld as the example serves it. */
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { sleepClock } from '../../../../base/sleepClock.ts';
import {
  EnvironmentSessions,
  environmentActions,
  environmentTools,
} from '../../../../operators/tools/environment/index.ts';
import type { Tool } from '../../../../operators/tools/tool.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import {
  type PythonServer,
  pythonSays,
  pythonServer,
  withOpenEnv,
} from '../../../support/openEnv.ts';

const corridor = fileURLToPath(new URL('servers/corridor.py', import.meta.url));
const textWorld = fileURLToPath(
  new URL('../../../../examples/textWorld/server.py', import.meta.url),
);
const signal = new AbortController().signal;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function opened(...args: readonly string[]) {
  const server = await pythonServer(...args);
  closing.push(() => server.kill());
  const place = { url: server.url, key: '', clock: sleepClock(systemClock), timeoutMs: 300_000 };
  const actions = await environmentActions({ ...place, form: 'auto', tool: 'act' }, signal);
  const sessions = new EnvironmentSessions({ ...place, sessionsMax: 32, waitMs: 60_000 });
  const { begin, actions: all } = environmentTools({
    sessions,
    actions,
    show: [],
    charactersMax: 4_000,
  });
  closing.push(() => begin.close());
  const of = (i: number) => ({ rolloutId: `q/explore-0/${i}` });
  const tool = (name: string): Tool => all.find((one) => one.name === name)!;
  return {
    server: server as PythonServer,
    begin: (i: number, reset: object) => begin.run(JSON.stringify({ reset }), signal, of(i)),
    call: (i: number, name: string, given: object) =>
      tool(name).run(JSON.stringify(given), signal, of(i)),
    end: (i: number) => begin.end!(of(i).rolloutId),
    all,
  };
}

describe('on a real OpenEnv server', () => {
  const real = withOpenEnv(['openenv', 'fastmcp']);

  real('rollouts act at once in environments of their own, and wait for its sessions', async () => {
    const { begin, call, end, all } = await opened(corridor, 'commands', '2');
    expect(all).toMatchObject([
      {
        name: 'act',
        about: 'Walks in a corridor: go, take.',
        parameters: { properties: { command: { type: 'string' } }, required: ['command'] },
      },
    ]);
    await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const { output } = await begin(i, { seed: i, length: 1 + (i % 3) });
        expect(output).toBe(`You are at 0 of ${1 + (i % 3)}.`);
        for (let step = 0; step < 1 + (i % 3); step++) await call(i, 'act', { command: 'go' });
        expect(await call(i, 'act', { command: 'sing' })).toMatchObject({
          step: { reward: -0.25, done: false },
        });
        expect(await call(i, 'act', { command: 'take' })).toEqual({
          ...{ output: 'You see a coin.', ok: true, step: { reward: 1, done: true } },
        });
        end(i);
      }),
    );
  });

  real('an exception in it, and its death, are a lost environment', async () => {
    const { server, begin, call } = await opened(corridor, 'commands', '4');
    await begin(0, {});
    await begin(1, {});
    await expect(call(0, 'act', { command: 'break' })).rejects.toMatchObject({
      ...{
        code: 'TOOL_DOWN',
        message: expect.stringMatching(/the floor gives way \(EXECUTION_ERROR\)/),
      },
    });
    expect(await call(1, 'act', { command: 'go' })).toMatchObject({ ok: true });
    await server.kill();
    await expect(call(1, 'act', { command: 'go' })).rejects.toMatchObject({ code: 'TOOL_DOWN' });
  });

  real('its tools are those of the policy, with rewards', async () => {
    const { begin, call, all } = await opened(corridor, 'tools', '4');
    expect(all.map(({ name, about }) => [name, about])).toEqual([
      ['walk', 'Goes on.'],
      ['grab', 'Takes what is there.'],
    ]);
    await begin(0, { length: 3 });
    expect(await call(0, 'walk', { how: 'fast', far: 2 })).toMatchObject({
      output: 'You are at 2 of 3. (fast)',
      ok: true,
    });
    expect(await call(0, 'walk', { far: 'x' })).toMatchObject({
      ok: false,
      output: expect.stringMatching(/far/),
    });
    expect(await call(0, 'walk', {})).toMatchObject({ output: 'You see a coin. (slowly)' });
    expect(await call(0, 'grab', {})).toMatchObject({
      output: 'You see a coin.',
      step: { reward: 1, done: true },
    });
  });
});

describe('on TextWorld behind OpenEnv', () => {
  const real = withOpenEnv(['openenv', 'textworld']);

  real('a game is the same for its seed, and is won by the commands that win it', async () => {
    const games = temporaryFolder();
    closing.push(async () => games.remove());
    const [first] = pythonSays(textWorld, '--questions', '2').split('\n');
    expect(JSON.parse(first!)).toMatchObject({
      id: 'game-0',
      task: { world: { reset: { seed: 0 } } },
    });
    const { begin, call } = await opened(
      textWorld,
      '--port',
      '0',
      '--folder',
      games.path,
      '--sessions',
      '4',
    );
    const [one, same, other] = [
      await begin(0, { seed: 5 }),
      await begin(1, { seed: 5 }),
      await begin(2, { seed: 6 }),
    ];
    expect(one.output).toMatch(/TextWorld[\s\S]*-= .* =-/);
    expect(one.output).not.toContain('\n>');
    expect(same.output).toBe(one.output);
    expect(other.output).not.toBe(one.output);
    const solved =
      'import sys, textworld; print("\\n".join(textworld.Game.load(sys.argv[1]).metadata["walkthrough"]))';
    const commands = pythonSays('-c', solved, `${games.path}/5-3-4-3.json`).trim().split('\n');
    let reward = 0;
    let done = false;
    for (const command of commands) {
      const { step } = await call(0, 'act', { command });
      reward += step!.reward;
      done = step!.done;
    }
    expect([reward, done]).toEqual([1, true]);
    expect(await call(1, 'act', { command: 'dance' })).toMatchObject({
      ok: true,
      step: { reward: 0, done: false },
    });
  });
});
