/** Sessions that arrive from outside, over a real gateway, a real log and real stages. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { sleepClock } from '../../base/index.ts';
import {
  gatewayServer,
  ServedSessions,
  SessionKeys,
  servedFeedback,
  servedInflight,
  servedRollouts,
} from '../../gateway/index.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import { openLog } from '../../streams/embedded/index.ts';
import { flow, type Log, recordsOf, source, stage, type Topic } from '../../streams/index.ts';
import { runFlow } from '../../streams/run/index.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { scriptedPolicy } from '../../testing/scriptedPolicy.ts';
import { topics } from '../../topics/index.ts';
import { hermesChat } from '../support/chatSession.ts';
import { temporaryFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';

const KEY = 'a key of sixteen or more characters';
const WINDOW = { rewardMs: 60_000, delayMs: 5_000 };
const IDLE_MS = 1_000;

let chat: PolicyChat;
const policies = temporaryFolder();
beforeAll(async () => {
  chat = await hermesChat(policies.path);
});
afterAll(() => policies.remove());

let folder = temporaryFolder();
let clock = manualClock();
let running: Served[] = [];
beforeEach(() => {
  folder = temporaryFolder();
  clock = manualClock();
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
  folder.remove();
});

interface Served {
  readonly url: string;
  readonly log: Log;
  readonly notes: readonly string[];
  stop(): Promise<void>;
}

/** A run of the gateway and of the stage that makes rollouts; once more on the same folder, it goes on. */
async function serving(over: { readonly sessionsMax?: number } = {}): Promise<Served> {
  const { sessionsMax = 8 } = over;
  const log = await openLog({ folder: folder.path, mode: 'write' });
  const notes: string[] = [];
  const waits = sleepClock(clock);
  let n = 0;
  const script = (): string => `answer ${n++}<|im_end|>`;
  const callsOf = async (id: string) => {
    const only = { keys: [id] };
    const tap$ = log.tap(topics.calls, { from: { kind: 'earliest' }, follow: false, only });
    return (await lastValueFrom(tap$.pipe(toArray()))).map(({ value }) => value);
  };
  const failed = (error: unknown): void => {
    notes.push(String(error));
  };
  const common = { chat, seed: 1, window: WINDOW, sessionsMax, callsOf };
  const sessions = new ServedSessions({
    ...{ ...common, model: 'policy', keys: new SessionKeys(KEY), clock: waits, failed },
    engine: scriptedPolicy({ tokenizer: chat.tokenizer, script, contextMax: 4096 }),
    sampling: { temperature: 1 },
    limits: { calls: 4, answerTokens: 100 },
    idleMs: IDLE_MS,
    commit: (record) => log.commit((tx) => tx.append(topics.calls, record)),
    see: () => undefined,
  });
  const stopping = new AbortController();
  let listening: (url: string) => void = () => undefined;
  const address = new Promise<string>((resolve) => {
    listening = resolve;
  });
  const items = servedFeedback({
    sessions,
    past: async function* () {
      const from = { kind: 'earliest' } as const;
      for await (const { value } of recordsOf(log, topics.feedback, { from })) yield value;
    },
    listen: () => gatewayServer({ sessions, clock: waits, failed }),
    listening,
  });
  const made = servedRollouts({ ...common, report: (line) => notes.push(line) });
  const ended = runFlow(
    flow(
      source('feedback', topics.feedback, items),
      stage('sessions', topics.feedback, topics.rollouts, made, {
        inflightMax: servedInflight(sessionsMax),
      }),
    ),
    { log, signal: stopping.signal, graceMs: 0 },
  );
  const served = {
    url: await Promise.race([address, ended.then(() => '')]),
    ...{ log, notes },
    async stop() {
      stopping.abort();
      await ended;
      await log.close();
      running = running.filter((one) => one !== served);
    },
  };
  running.push(served);
  return served;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const type = { 'content-type': 'application/json' };
  const answer = await fetch(url, {
    ...{ method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) },
  });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Opens a session; its key and its path. */
async function opened(url: string, named = ''): Promise<{ id: string; key: string; path: string }> {
  const { status, body } = await post(
    `${url}/v1/sessions`,
    {},
    { ...bearer(KEY), ...(named === '' ? {} : { 'idempotency-key': named }) },
  );
  expect({ status, body }).toMatchObject({ status: 200 });
  const { id, key, path } = body as { id: string; key: string; path: string };
  return { id, key, path };
}

type Turn = { readonly role: string; readonly content: string };
const first: readonly Turn[] = [{ role: 'user', content: 'What now?' }];

async function asked(url: string, messages: readonly Turn[] = first): Promise<Answer> {
  return post(`${url}/v1/chat/completions`, { model: 'm', messages });
}
const said = ({ body }: Answer): string =>
  (body.choices as { message: { content: string } }[])[0]!.message.content;

const all = async <T>(log: Log, topic: Topic<T>): Promise<readonly T[]> => {
  const tap$ = log.tap(topic, { from: { kind: 'earliest' }, follow: false });
  return (await lastValueFrom(tap$.pipe(toArray()))).map(({ value }) => value);
};
const rolloutIn = (log: Log) => until(async () => (await all(log, topics.rollouts)).at(-1));
const deadIn = (log: Log, count: number) =>
  until(async () => {
    const letters = await all(log, topics.deadLetters);
    return letters.length >= count && letters;
  });

test('a reward that comes after the end counts once, however often it is sent', async () => {
  const { url, log, notes } = await serving();
  const { id, path } = await opened(url);
  const before = await asked(`${url}${path}`);
  const next = [
    ...first,
    { role: 'assistant', content: said(before) },
    { role: 'user', content: 'And?' },
  ];
  await asked(`${url}${path}`, next);
  expect((await post(`${url}${path}/v1/end`, {})).status).toBe(200);
  expect((await asked(`${url}${path}`)).body).toMatchObject({ error: { code: 'session_ended' } });
  clock.advance(50_000);
  const reward = { value: 0.5, reason: 'thumbs up' };
  const twice = await Promise.all(
    [1, 2].map(() => post(`${url}${path}/v1/reward`, reward, { 'idempotency-key': 'click 7' })),
  );
  expect(twice.map(({ status }) => status)).toEqual([200, 200]);
  await post(`${url}${path}/v1/reward`, reward, { 'idempotency-key': 'click 7' });

  const rollout = await rolloutIn(log);
  expect(rollout).toMatchObject({ id, status: 'done', groupSize: 1 });
  expect(rollout.question).toMatchObject({ question: 'What now?', source: 'served' });
  expect(rollout.session).toMatchObject({ reward: 0.5, rewardReason: 'thumbs up' });
  expect(rollout.session?.calls).toHaveLength(2);
  expect((await all(log, topics.calls)).map(({ join }) => join)).toEqual(['first', 'continued']);
  expect((await all(log, topics.feedback)).map(({ kind }) => kind)).toEqual([
    ...['opened', 'ended', 'reward'],
  ]);
  expect(notes).toEqual([]);
});

test('sessions go on where the gateway was stopped: calls, ends, rewards', async () => {
  const one = await serving();
  const open = await opened(one.url, 'chat 1');
  const done = await opened(one.url);
  const before = await asked(`${one.url}${open.path}`);
  await asked(`${one.url}${done.path}`);
  await post(`${one.url}${done.path}/v1/end`, {});
  await one.stop();

  const { url, log } = await serving();
  expect(await opened(url, 'chat 1')).toEqual(open);
  // The same request is answered from the record, the next goes on from it.
  expect(said(await asked(`${url}${open.path}`))).toBe(said(before));
  const next = [
    ...first,
    { role: 'assistant', content: said(before) },
    { role: 'user', content: 'And?' },
  ];
  await asked(`${url}${open.path}`, next);
  await post(`${url}${open.path}/v1/reward`, { value: 1 });
  await post(`${url}${done.path}/v1/reward`, { value: 0 });
  const made = await until(async () => {
    const rollouts = await all(log, topics.rollouts);
    return rollouts.length === 2 && rollouts;
  });
  expect(made.map(({ id, session }) => [id, session?.reward, session?.calls.length])).toEqual([
    [open.id, 1, 2],
    [done.id, 0, 1],
  ]);
  const joins = (await all(log, topics.calls)).filter(({ sessionId }) => sessionId === open.id);
  expect(joins.map(({ call, join }) => [call, join])).toEqual([
    [0, 'first'],
    [1, 'continued'],
  ]);
});

test('a session without a reward in time is not trained on, and a reward after that is a dead letter', async () => {
  const { url, log, notes } = await serving();
  const { id, path } = await opened(url);
  await asked(`${url}${path}`);
  clock.advance(IDLE_MS);
  await until(async () => (await all(log, topics.feedback)).some(({ note }) => note === 'idle'));
  clock.advance(WINDOW.rewardMs + WINDOW.delayMs);
  const rollout = await rolloutIn(log);
  expect(rollout).toMatchObject({ id, status: 'cancelled' });
  expect(rollout.reason).toContain('no reward came within 60 s');
  for (const value of [1, 2]) await post(`${url}${path}/v1/reward`, { value });
  const letters = await deadIn(log, 2);
  expect(letters.map(({ origin, key }) => [origin, key])).toEqual([
    ['feedback', id],
    ['feedback', id],
  ]);
  expect(notes.filter((line) => line.includes('too late'))).toHaveLength(1);
});

test('a second reward is a dead letter, and one of a time after the window does not count', async () => {
  const { url, log } = await serving();
  const one = await opened(url);
  await asked(`${url}${one.path}`);
  for (const value of [1, 0]) await post(`${url}${one.path}/v1/reward`, { value });
  expect(await deadIn(log, 1)).toHaveLength(1);
  const two = await opened(url);
  await asked(`${url}${two.path}`);
  await post(`${url}${two.path}/v1/end`, {});
  const endedMs = clock.now();
  clock.advance(WINDOW.rewardMs + 2);
  const at = endedMs + WINDOW.rewardMs + 1;
  await post(`${url}${two.path}/v1/reward`, { value: 1, at });
  const late = await until(async () =>
    (await all(log, topics.rollouts)).find(({ id }) => id === two.id),
  );
  expect(late).toMatchObject({ status: 'cancelled', session: { reward: null } });
  const ahead = { value: 1, at: new Date(clock.now() + 1000).toISOString() };
  expect((await post(`${url}${two.path}/v1/reward`, ahead)).status).toBe(400);
});

test('a key is good for its own session alone', async () => {
  const { url, log } = await serving();
  const mine = await opened(url);
  const other = await opened(url);
  const reward = { value: 1 };
  const [, name] = other.key.split('-');
  const forged = mine.key.replace(/^mr-[0-9a-f]+/, `mr-${name}`);
  const tries = [
    post(`${url}/s/${forged}/v1/reward`, reward),
    post(`${url}/v1/reward`, reward, bearer(forged)),
    post(`${url}${other.path}/v1/reward`, reward, bearer(mine.key)),
    post(`${url}/s/${forged}/v1/end`, {}),
    post(`${url}/v1/reward`, reward, bearer(KEY)),
    post(`${url}/v1/sessions`, {}, bearer(mine.key)),
    post(`${url}/v1/sessions`, {}),
  ];
  const answers = await Promise.all(tries);
  expect(answers.map(({ status }) => status)).toEqual(tries.map(() => 404));
  expect((await all(log, topics.feedback)).map(({ kind }) => kind)).toEqual(['opened', 'opened']);
});

test('sessions beyond the bound are asked to come later, and a session has its limits', async () => {
  const { url, log } = await serving({ sessionsMax: 1 });
  const { path } = await opened(url);
  const refused = await post(`${url}/v1/sessions`, {}, bearer(KEY));
  expect(refused.status).toBe(429);
  for (let i = 0; i < 4; i++) await asked(`${url}${path}`, [{ role: 'user', content: `${i}` }]);
  const more = await asked(`${url}${path}`, [{ role: 'user', content: 'more' }]);
  expect(more.body).toMatchObject({ error: { code: 'limit_reached' } });
  await post(`${url}${path}/v1/reward`, { value: 0 });
  expect(await rolloutIn(log)).toMatchObject({ status: 'done', finish: 'callLimit' });
  await opened(url);
});
