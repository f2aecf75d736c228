/** Sessions that a verifier behind HTTP judges, in both forms, and verifiers that fail. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { listenOn } from '../../base/http/index.ts';
import { type SleepClock, sleepClock, systemClock } from '../../base/index.ts';
import {
  functionAgent,
  gatewayServer,
  growSessions,
  httpVerifier,
  Sessions,
} from '../../gateway/index.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import { accuracy, sessionReward } from '../../operators/rewards/index.ts';
import { scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import type { Question, Rollout } from '../../topics/index.ts';
import { calling, hermesChat } from '../support/chatSession.ts';
import { temporaryFolder } from '../support/folder.ts';
import { question } from '../support/records.ts';
import { rolloutOptions } from '../support/rolloutOptions.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
let chat: PolicyChat;
beforeAll(async () => {
  chat = await hermesChat(folder.path);
});
const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0)) await each.close();
});

/** Waits for nothing between two tries. */
const hasty: SleepClock = {
  now: () => systemClock.now(),
  sleep: (ms, signal) => sleepClock(systemClock).sleep(ms < 10_000 ? 0 : ms, signal),
};

interface Asked {
  readonly path: string;
  readonly cookie: string;
  readonly body: Readonly<Record<string, unknown>>;
}
interface Said {
  readonly status?: number;
  readonly body: unknown;
  readonly cookie?: string;
}

/** A verifier that answers so. */
async function verifier(say: (asked: Asked, nth: number) => Said) {
  const heard: Asked[] = [];
  const server = await listenOn(
    { host: '127.0.0.1', port: 0, connectionsMax: 9 },
    async (from, to) => {
      const pieces: Buffer[] = [];
      for await (const piece of from) pieces.push(piece as Buffer);
      const body = JSON.parse(Buffer.concat(pieces).toString()) as Asked['body'];
      const asked = { path: from.url ?? '', cookie: from.headers.cookie ?? '', body };
      heard.push(asked);
      const { status = 200, body: answer, cookie } = say(asked, heard.length);
      if (cookie !== undefined) to.setHeader('set-cookie', cookie);
      to.writeHead(status).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
    },
  );
  closing.push(server);
  return { url: server.url, heard };
}

/** One rollout of an agent that calls a tool and then answers; `worked` = how often it ran. */
async function judged(
  url: string,
  form: 'plain' | 'nemo-gym',
  of: Question = question({ answers: [] }),
): Promise<{ readonly rollout: Rollout; readonly worked: number }> {
  let worked = 0;
  const ask = async (base: string, key: string, messages: readonly unknown[]) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const tools = [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }];
    const body = JSON.stringify({ model: 'm', messages, tools });
    const reply = await fetch(`${base}/v1/chat/completions`, { method: 'POST', headers, body });
    const { choices } = (await reply.json()) as {
      choices: { message: { content: string; tool_calls?: { id: string }[] } }[];
    };
    return choices[0]!.message;
  };
  const agent = functionAgent(async ({ question: { question: content }, baseUrl, key }) => {
    worked += 1;
    const messages: unknown[] = [{ role: 'user', content }];
    const called = await ask(baseUrl, key, messages);
    const id = called.tool_calls![0]!.id;
    messages.push(called, { role: 'tool', tool_call_id: id, content: '7' });
    return (await ask(baseUrl, key, messages)).content;
  });
  const script = ({ context }: { readonly context: string }): string =>
    context.includes('tool_response') ? 'It is 7.<|im_end|>' : calling('add', '{"a": 3, "b": 4}');
  const failed = (error: unknown): void => {
    throw error;
  };
  const sessions = new Sessions('policy');
  const clock = sleepClock(systemClock);
  const server = await gatewayServer({ sessions, clock, failed });
  const verdicts = httpVerifier({ url, form, timeoutMs: 10_000, clock: hasty });
  closing.push(server, verdicts);
  const grow = growSessions({
    ...{ agent, sessions, chat, clock, address: server.url, atOnce: 1, verifier: verdicts },
    limits: { calls: 9, answerTokens: 100 },
    commit: async () => undefined,
    past: async () => [],
    report: () => undefined,
  });
  const engine = scriptedPolicy({ tokenizer: chat.tokenizer, script });
  const options = rolloutOptions(script, { engine, samples: () => 1, responseMax: 4000 });
  const { rollouts } = await grow(of, options, new AbortController().signal);
  return { rollout: rollouts[0]!, worked };
}

test('a verifier gets the session whole, and its reward has parts', async () => {
  const { url, heard } = await verifier(() => ({
    body: { reward: 0.5, reason: 'half of it', tests: 3, note: 'not a number', raw: 9 },
  }));
  const { rollout } = await judged(url, 'plain');
  expect(heard).toHaveLength(1);
  expect(heard[0]?.body).toMatchObject({
    rollout_id: rollout.id,
    question: { id: 'q1', question: 'How many?' },
    final_message: 'It is 7.',
    answer: 'It is 7.',
    calls: [
      { call: 0, parent: null, finish: 'calls', tool_calls: [{ name: 'add' }] },
      { call: 1, parent: 0, finish: 'stop', content: 'It is 7.' },
    ],
    tool_results: [{ before_call: 1, content: '7' }],
    exit_code: null,
  });
  expect(rollout).toMatchObject({
    status: 'done',
    session: { reward: 0.5, rewardReason: 'half of it', rewardParts: { tests: 3 } },
  });
  const texts = [rollout.text];
  const group = { question: rollout.question, tools: [], texts, own: texts, rollouts: [rollout] };
  const [reward] = await sessionReward(accuracy())({ ...group, lengths: [1], policyLengths: [1] });
  expect(reward).toMatchObject({ score: 0.5, parts: { tests: 3, raw: 0.5, session: 0.5 } });
});

test('a resources server of NeMo-Gym is told the row before, keeps its cookies, and judges the response', async () => {
  const row = {
    responses_create_params: { input: [{ role: 'user', content: 'How many?' }] },
    expected_answer: '7',
  };
  const { url, heard } = await verifier(({ path }) =>
    path === '/seed_session'
      ? { body: {}, cookie: 'session=a1; path=/; expires=Fri, 27 Nov 2026 00:00:00 GMT' }
      : { body: { ...row, reward: 1, reward_components: { exact: 1 } } },
  );
  const world = { gold: null, functions: [], program: '', files: [], world: JSON.stringify(row) };
  const { rollout } = await judged(url, 'nemo-gym', question({ answers: [], task: world }));
  expect(heard.map(({ path, cookie }) => [path, cookie])).toEqual([
    ['/seed_session', ''],
    ['/verify', 'session=a1'],
  ]);
  expect(heard[0]?.body).toEqual(row);
  expect(heard[1]?.body).toMatchObject({
    expected_answer: '7',
    responses_create_params: { input: [{ content: 'How many?' }], tools: [{ name: 'add' }] },
    response: {
      object: 'response',
      output: [
        { type: 'function_call', name: 'add', arguments: '{"a":3,"b":4}' },
        { type: 'function_call_output', output: '7' },
        { type: 'message', content: [{ type: 'output_text', text: 'It is 7.' }] },
      ],
    },
  });
  expect(rollout.session).toMatchObject({ reward: 1, rewardParts: { exact: 1 } });
});

test('a verifier that is away for a while is asked again', async () => {
  const { url, heard } = await verifier((_, nth) =>
    nth < 3 ? { status: 503, body: 'starting' } : { body: { reward: 1 } },
  );
  expect((await judged(url, 'plain')).rollout.session?.reward).toBe(1);
  expect(heard).toHaveLength(3);
});

test.each([
  ['stays away', { status: 503, body: 'gone' }, 'answered 503: gone'],
  ['refuses', { status: 422, body: 'no field x' }, 'answered 422: no field x'],
  ['says no number', { body: { reward: 'good' } }, 'no finite reward'],
  ['says nothing', { body: 'oops' }, 'no finite reward'],
])('a verifier that %s is a failed rollout, and no reward', async (_, said, why) => {
  const { url } = await verifier(() => said);
  const { rollout } = await judged(url, 'plain');
  expect(rollout).toMatchObject({ status: 'failed', session: { reward: null } });
  expect(rollout.reason).toContain(`the verifier at ${url}`);
  expect(rollout.reason).toContain(why);
  expect(rollout.session?.calls).toHaveLength(2);
});

test('without its session at the verifier an agent is not started', async () => {
  const { url } = await verifier(() => ({ status: 404, body: 'no such thing' }));
  const { rollout, worked } = await judged(url, 'nemo-gym');
  expect(rollout).toMatchObject({ status: 'failed', tokens: new Int32Array(0) });
  expect(rollout.reason).toContain('answered 404');
  expect(worked).toBe(0);
});
