/** Success and path of an episode by what its question says. */
import { expect, test } from '@jest/globals';
import { taskSuccess } from '../../../operators/metrics/deepAgent/taskScore.ts';
import { toolPo } from '../../../operators/rewards/toolPo/toolPo.ts';
import type { Action, Gold, Rollout, Task, WorldEnd } from '../../../topics/index.ts';
import { question, rollout } from '../../support/records.ts';

type Calls = readonly (readonly [name: string, given: object, response: string])[];
type World = WorldEnd | null;

const none: Task = { gold: null, functions: [], program: '', files: [], world: '' };

function episode(calls: Calls, world: World = null): Rollout {
  const actions = calls.map(
    ([name, given, response], i): Action => ({
      ...{ kind: 'call', start: i, end: i + 1, name, input: JSON.stringify(given), response },
      ...{ ok: true, offered: true, fault: '', turn: i },
    }),
  );
  return rollout({ episode: { mode: 'repaired', actions, folds: [], limits: [] }, world });
}

async function scored(task: Task | null, calls: Calls, text = '', world: World = null) {
  const asked = question({ answers: ['Ada'], ability: 'qa', task });
  const plain = () => [{ score: 0.25, parts: { raw: 0.25 } }];
  const group = { question: asked, tools: [], texts: [text], lengths: [9], policyLengths: [9] };
  const reward = toolPo({ success: taskSuccess(plain) });
  const [{ score, parts }] = (await reward({ ...group, rollouts: [episode(calls, world)] })) as [
    Awaited<ReturnType<typeof reward>>[number],
  ];
  return { score, success: parts.success, path: parts.path, right: parts.right };
}

const gold = (kind: Gold['kind'], ...items: readonly string[]): Task => ({
  ...none,
  gold: { kind, items },
});

test.each<[string, Task | null, Calls, string, World, object]>([
  ['nothing', null, [['a', {}, '']], '', null, { score: 0.25, success: undefined, right: 1 }],
  [
    'tools',
    gold('tools', 'a', 'b'),
    [
      ['a', {}, ''],
      ['a', {}, ''],
    ],
    '',
    null,
    { score: 0, success: 0, path: 0.5, right: 1 },
  ],
  [
    'endpoints',
    gold('endpoints', 'GET /movie/{id}/keywords', 'GET /me'),
    [
      ['get_movie_id_keywords', {}, ''],
      ['call_api', { endpoint_name: 'GET /me' }, ''],
      ['get_me', {}, ''],
    ],
    '',
    null,
    { score: 1, success: 1, path: 1, right: 2 },
  ],
  [
    'calls',
    gold('calls', '{"name":"a","arguments":{"x":1}}', '{"name":"a","arguments":{"x":2}}'),
    [
      ['a', { x: 2 }, ''],
      ['a', { x: 3 }, ''],
    ],
    '',
    null,
    { score: 0, success: 0, path: 0.5, right: 1 },
  ],
  [
    'answers',
    gold('answers', 'Ulm', 'Ada'),
    [['a', {}, '{"response":"Ulm"}']],
    '<answer>\\boxed{ ada }</answer>',
    null,
    { score: 1, success: 1, path: 0.5, right: 1 },
  ],
  [
    'answers that a tool boxes',
    gold('answers', 'Ulm'),
    [['a', {}, '\\boxed{Ada}']],
    '<result>\\boxed{Ada}</result>',
    null,
    { score: 0, success: 0, path: 0, right: 0 },
  ],
  [
    'patterns',
    gold('patterns', 'You cool the pan \\d', 'You open'),
    [['cool', {}, 'you COOL the pan 1']],
    '',
    { done: true, reward: 1, steps: 3 },
    { score: 1, success: 1, path: 0.5, right: 1 },
  ],
  [
    'an environment',
    { ...none, world: '{}' },
    [['search', {}, 'x']],
    '',
    { done: true, reward: 0.5, steps: 2 },
    { score: 0.5, success: 0, path: 0.5, right: 1 },
  ],
  [
    'an environment that was left with more than one reward',
    { ...none, world: '{}' },
    [['search', {}, 'x']],
    '',
    { done: true, reward: 1.5, steps: 2 },
    { score: 1.5, success: 1, path: 1.5, right: 1 },
  ],
])('of %s', async (_, task, calls, text, world, expected) => {
  expect(await scored(task, calls, text, world)).toMatchObject(expected);
});
