/**
 * A training run and an evaluation in an environment, as a researcher runs them: a real OpenEnv server and the
 * built command line, with the quickstart's small policy, whose searches are its actions.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from '@jest/globals';
import { builtMillrace, type Ended, ROOT, sets } from '../support/commandLine.ts';
import { environmentServer } from '../support/environmentServer.ts';
import { temporaryFolder } from '../support/folder.ts';
import { pythonServer, withOpenEnv } from '../support/openEnv.ts';

const corridor = fileURLToPath(
  new URL('../operators/tools/environment/servers/corridor.py', import.meta.url),
);
const folder = temporaryFolder();
const home = folder.path;
afterAll(() => folder.remove());

const millrace = (...args: readonly string[]): Promise<Ended> => builtMillrace(home, ...args).ended;

const rows = Array.from({ length: 12 }, (_, i) => ({
  id: `walk-${i}`,
  question: 'Where was Balmia Coswick born?',
  task: { world: { reset: { seed: i, length: 2 } } },
}));
writeFileSync(join(home, 'walks.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));

const settings = {
  policy: join(ROOT, 'examples/quickstart/base'),
  questions: 'walks.jsonl',
  ...{ rounds: 1, explore: 4, heldOut: 2, rollouts: 4, batchGroups: 2, initialRollouts: 2 },
  ...{
    promptMax: 256,
    responseMax: 160,
    callLimit: 4,
    tools: 'none',
    'environment.tool': 'search',
  },
};

async function records<T>(of: string): Promise<T[]> {
  const { out } = await millrace('tap', of, '-o', 'ndjson');
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line).value ?? JSON.parse(line)) as T);
}

interface Call {
  readonly rolloutId: string;
  readonly tool: string;
  readonly turn: number;
  readonly step: { readonly reward: number } | null;
}
interface Rollout {
  readonly id: string;
  readonly status: string;
  readonly reason: string;
  readonly parent: object | null;
  readonly world: { readonly reward: number; readonly steps: number } | null;
}
interface Scored {
  readonly rewards: readonly { readonly score: number }[];
}

/** Trains, is killed off from its server, and is repeated without it. */
async function trained(url: string, stop: () => Promise<void>, run: string): Promise<void> {
  const asked = sets({ ...settings, 'environment.url': url });
  const ran = await millrace('run', 'arpo', ...asked, '--run', run);
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('done;')]);
  expect(ran.err).toContain(`tools of the environment at ${url}: search`);
  const table = await millrace(
    'eval',
    '--policy',
    run,
    '--questions',
    'walks.jsonl',
    '--limit',
    '3',
    '--json',
    '--run',
    `${run}-table`,
  );
  expect([table.code, table.err]).toEqual([0, expect.stringContaining('starting')]);
  expect(JSON.parse(table.out).rows).toMatchObject([{ measure: 'task', questions: 3 }]);
  await stop();
  const rollouts = await records<Rollout>(`${run}.rollouts`);
  expect(rollouts.filter(({ status }) => status !== 'done')).toEqual([]);
  expect(rollouts.every(({ world }) => world !== null)).toBe(true);
  expect(rollouts.some(({ world }) => world!.steps > 0)).toBe(true);
  const calls = await records<Call>(`${run}.tool-calls`);
  const begun = calls.filter(({ tool }) => tool === 'environment');
  expect(begun.map(({ rolloutId }) => rolloutId)).toEqual(
    expect.arrayContaining(rollouts.filter(({ parent }) => parent === null).map(({ id }) => id)),
  );
  expect(begun.every(({ turn, step }) => turn === -1 && step !== null)).toBe(true);
  const scored = await records<Scored>(`${run}.scored`);
  const scores = scored.flatMap(({ rewards }) => rewards.map(({ score }) => score)).sort();
  expect(scores).toEqual(rollouts.map(({ world }) => world!.reward).sort());
  for (const each of [run, `${run}-table`]) {
    const verified = await millrace('replay', each, '--verify');
    expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('bit for bit')]);
  }
}

describe('a run in an environment', () => {
  withOpenEnv(['openenv'])(
    'trains on a real OpenEnv server, and is repeated without it',
    async () => {
      const server = await pythonServer(corridor, 'commands', '3');
      await trained(server.url, () => server.kill(), 'real');
    },
  );

  test('trains on a small server of ours, and is repeated without it', async () => {
    const server = await environmentServer({ sessionsMax: 3 });
    await trained(server.url, () => server.close(), 'small');
  });

  test('is refused where there is no server, and where its calls would go through topics', async () => {
    const away = await millrace(
      'run',
      'arpo',
      ...sets({ ...settings, 'environment.url': 'http://127.0.0.1:9' }),
      '--run',
      'away',
    );
    expect([away.code, away.err]).toEqual([
      1,
      expect.stringMatching(/environment at http:\/\/127\.0\.0\.1:9 does not answer/),
    ]);
    const topics = await millrace(
      'run',
      'arpo',
      ...sets({ ...settings, 'environment.url': 'http://127.0.0.1:9', toolCalls: 'topics' }),
      '--run',
      'topics',
    );
    expect([topics.code, topics.err]).toEqual([
      2,
      expect.stringMatching(/cannot be combined with toolCalls=topics/),
    ]);
    const none = await millrace('run', 'arpo', ...sets(settings), '--run', 'none');
    expect([none.code, none.err]).toEqual([
      1,
      expect.stringMatching(/walk-0 needs an environment.*but none is set/),
    ]);
    const flywheel = await millrace(
      'run',
      'et-agent',
      ...sets({ ...settings, 'environment.url': 'http://127.0.0.1:9' }),
      '--run',
      'wheel',
    );
    expect([flywheel.code, flywheel.err]).toEqual([
      2,
      expect.stringMatching(/flywheel\.questions=0/),
    ]);
  });
});
