/**
 * What the gateway keeps in front of every policy, wherever that computes: agents in each protocol whose
 * policy has been taught to call a function, over the gateway's own server.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Listening } from '../../base/http/index.ts';
import { sleepClock, systemClock } from '../../base/index.ts';
import { growSessions } from '../../gateway/growSessions.ts';
import { functionAgent, gatewayServer, Sessions } from '../../gateway/index.ts';
import type { PolicyChat } from '../../gateway/sessions/policyChat.ts';
import { Session } from '../../gateway/sessions/session.ts';
import type { Checkpoint, PolicyEngine, TrainerEngine } from '../../model/engine.ts';
import type { ModelCallRecord } from '../../topics/index.ts';
import type { CutLine } from './cutLine.ts';
import { type ProtocolName, protocolClients, type ReadCall, type Said } from './protocolClients.ts';
import { question } from './records.ts';
import { rolloutOptions } from './rolloutOptions.ts';
import { SUM, teach } from './toolLessons.ts';
import { until } from './until.ts';

export interface GatewayBackend {
  readonly chat: PolicyChat;
  readonly engine: PolicyEngine;
  readonly trainer: TrainerEngine;
  /** For teaching it. */
  readonly lr: number;
  /** Folder for versions. */
  readonly folder: string;
  /** Log-probs of a call may be so far from the trainer's (nats, a token). */
  readonly apartMax: number;
  /** The way to the policy's server; left out = it computes in this process. */
  readonly line?: CutLine;
  close(): Promise<void>;
}

const MINUTES = 15 * 60_000;
const MIB = 1024 * 1024;
const clock = sleepClock(systemClock);
const limits = { calls: 9, answerTokens: 120 };
const asked = [{ role: 'user', content: SUM }];

const json = { 'content-type': 'application/json' };
const post = (
  url: string,
  body: string,
  { key = 'EMPTY', signal }: { readonly key?: string; readonly signal?: AbortSignal } = {},
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${key}` },
    body,
    ...(signal === undefined ? {} : { signal }),
  });

/**
 * `open` opens an untrained policy. `remote` = it has a server; `compares` = its weights are compared with the
 * trainer's when they are published.
 */
export function gatewayContract(
  name: string,
  { remote, compares }: { readonly remote: boolean; readonly compares: boolean },
  open: () => Promise<GatewayBackend>,
): void {
  const overServer = remote ? test : test.skip;
  const compared = compares ? test : test.skip;
  describe(`the gateway over ${name}`, () => {
    let backend: GatewayBackend;
    let engine: PolicyEngine;
    let server: Listening;
    let generations = 0;
    let newest: Checkpoint;
    const sessions = new Sessions('policy');
    const failures: unknown[] = [];

    const publish = async (version: number): Promise<void> => {
      const { trainer, folder } = backend;
      newest = (await trainer.save({ version, folder })).weights;
      await backend.engine.load(newest);
    };

    beforeAll(async () => {
      backend = await open();
      const { chat, trainer, lr } = backend;
      await teach(trainer, chat, lr);
      await publish(1);
      engine = Object.create(backend.engine, {
        generate: {
          value: (...of: Parameters<PolicyEngine['generate']>) => {
            generations++;
            return backend.engine.generate(...of);
          },
        },
        contextMax: { value: backend.engine.contextMax },
      }) as PolicyEngine;
      const failed = (error: unknown): void => void failures.push(error);
      server = await gatewayServer({ sessions, clock, failed, keepAliveMs: 50 });
    }, MINUTES);

    afterAll(async () => {
      await server?.close();
      await backend?.close();
    }, MINUTES);

    afterEach(() => expect(failures.splice(0)).toEqual([]));

    /** Opens a session; `past` = what it committed before a crash. */
    function opened(id: string, past: readonly ModelCallRecord[] = []) {
      const records: ModelCallRecord[] = [];
      const { signal } = new AbortController();
      const session = new Session({
        ...{ id, questionId: id, chat: backend.chat, engine, limits, clock, past, signal },
        ...{ sampling: { temperature: 1 }, draws: [id] },
        commit: async (record) => void records.push(record),
      });
      const key = sessions.open(session);
      return { session, key, records, base: `${server.url}/s/${key}/v1` };
    }

    async function said(base: string, protocol: ProtocolName, body: string): Promise<Said> {
      const client = protocolClients[protocol];
      const reply = await post(`${base}/${client.path}`, body);
      const text = await reply.text();
      if (!reply.ok) throw new Error(text);
      return client.read(text, (JSON.parse(body) as { stream: boolean }).stream);
    }

    /** Adds as the policy says, until it has nothing to add. */
    async function worked(base: string, protocol: ProtocolName, stream: boolean): Promise<string> {
      const client = protocolClients[protocol];
      const conversation: object[] = [...asked];
      for (let turn = 0; turn < 6; turn++) {
        const {
          text,
          calls,
          turn: own,
        } = await said(base, protocol, client.body(conversation, stream));
        if (calls.length === 0) return text;
        conversation.push(...own, ...client.results(calls.map(added)));
      }
      return '';
    }

    /** The largest distance of the calls' log-probs, from the first of these on, from the trainer's. */
    async function apart(records: readonly ModelCallRecord[], first = 0): Promise<number> {
      const contexts = contextsOf(records);
      const scores = await backend.trainer.score(contexts);
      const distances = records.map(({ logProbs, tokens }, i) => {
        const from = contexts[i]!.length - tokens.length;
        return [...logProbs].map((value, at) => Math.abs(value - scores[i]!.logProbs[from + at]!));
      });
      return Math.max(...distances.slice(first).flat());
    }

    test.each(
      (['chat', 'responses', 'messages'] as const).flatMap((protocol) =>
        [false, true].map((stream) => [protocol, stream] as const),
      ),
    )(
      '%s, stream %s: calls a function and goes on from its own tokens',
      async (protocol, stream) => {
        const records: ModelCallRecord[] = [];
        const notes: string[] = [];
        const agent = functionAgent(async ({ baseUrl, reward }) => {
          const text = await worked(`${baseUrl}/v1`, protocol, stream);
          await reward(1, 'done');
          return text;
        });
        const grow = growSessions({
          ...{ agent, sessions, chat: backend.chat, clock, address: server.url, limits },
          atOnce: 4,
          commit: async (record) => void records.push(record),
          past: async () => [],
          report: (line) => notes.push(line),
        });
        const options = rolloutOptions(() => '', { engine, samples: () => 4, responseMax: 2000 });
        const of = question({ id: `${protocol}-${stream}` });
        const { rollouts } = await grow(of, options, new AbortController().signal);

        expect(notes).toEqual([]);
        expect(rollouts.map(({ status }) => status)).toEqual(Array(4).fill('done'));
        expect(records.filter(({ join }) => join === 'first')).toHaveLength(4);
        const others = records.filter(({ join }) => join !== 'first');
        expect(others.length).toBeGreaterThan(0);
        expect(new Set(others.map(({ join }) => join))).toEqual(new Set(['continued']));
        expect(new Set(records.flatMap(({ spans }) => spans.map((span) => span.version)))).toEqual(
          new Set([newest.version]),
        );
        expect(await apart(records)).toBeLessThan(backend.apartMax);
        // What is trained on is what was asked and said, token by token.
        for (const { id, prompt, tokens, logProbs, segments } of rollouts) {
          const own = records.filter(({ sessionId }) => sessionId === id);
          expect([...prompt, ...tokens]).toEqual([...contextsOf(own).at(-1)!]);
          const policy = segments.filter(({ kind }) => kind === 'policy');
          const trained = policy.flatMap(({ start, end }) => [...logProbs.subarray(start, end)]);
          expect(trained).toEqual(own.flatMap((record) => [...record.logProbs]));
        }
      },
      MINUTES,
    );

    test(
      'a request that comes again has the answer of the first, at once or later',
      async () => {
        const { base, records, session } = opened('again');
        const { path, body } = protocolClients.chat;
        const before = generations;
        const text = body(asked, false);
        const ask = async () => (await post(`${base}/${path}`, text)).text();
        const answers = await Promise.all([ask(), ask()]);
        answers.push(await ask());
        expect(new Set(answers).size).toBe(1);
        expect([records.length, generations - before, session.repeated]).toEqual([1, 1, 2]);
      },
      MINUTES,
    );

    test(
      'a session that is run again after a crash is answered from the record',
      async () => {
        const first = opened('resumed');
        const text = await worked(first.base, 'messages', true);
        await first.session.end();
        const before = generations;
        const second = opened('resumed', first.records);
        expect(await worked(second.base, 'messages', true)).toBe(text);
        expect([second.records.length, generations - before]).toEqual([0, 0]);
        expect(second.session.calls.map(({ tokens }) => [...tokens])).toEqual(
          first.records.map(({ tokens }) => [...tokens]),
        );
        await said(
          second.base,
          'messages',
          protocolClients.messages.body([...asked, ...asked], false),
        );
        expect([second.records.length, generations - before]).toEqual([1, 1]);
      },
      MINUTES,
    );

    test(
      'a client that goes away in the middle of a stream finds the answer when it is back',
      async () => {
        const { base, records } = opened('away');
        const { path, body } = protocolClients.responses;
        const text = body(asked, true);
        const before = generations;
        const gone = new AbortController();
        const first = post(`${base}/${path}`, text, { signal: gone.signal }).then((reply) =>
          reply.text(),
        );
        await until(() => generations > before);
        gone.abort();
        await first.catch(() => undefined);
        await said(base, 'responses', text);
        expect([records.length, generations - before]).toEqual([1, 1]);
      },
      MINUTES,
    );

    test(
      'another session’s key opens, rewards and says nothing, and 10 MB are refused before the policy',
      async () => {
        const [mine, theirs] = [opened('mine'), opened('theirs')];
        const secret = 'the vault opens at four';
        const { path, body } = protocolClients.chat;
        await said(theirs.base, 'chat', body([{ role: 'user', content: secret }], false));
        const before = generations;
        const { key } = mine;
        const refused = await Promise.all([
          post(`${theirs.base}/reward`, '{"value": 1}', { key }),
          post(`${theirs.base}/${path}`, body(asked, false), { key }),
          post(`${server.url}/s/guessed/v1/reward`, '{"value": 1}', { key }),
          post(`${server.url}/v1/reward`, '{"value": 1}', { key: 'guessed' }),
        ]);
        expect(refused.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
        const long = [{ role: 'user', content: 'long '.repeat(2 * MIB) }];
        const large = await post(`${mine.base}/${path}`, body(long, false));
        expect(large.status).toBe(400);
        const words = await Promise.all([...refused, large].map((reply) => reply.text()));
        expect(words.at(-1)).toContain('context_length_exceeded');
        expect(words.join()).not.toContain(secret);
        expect(words.join()).not.toContain(theirs.key);
        expect([generations, theirs.session.rewarded]).toEqual([before, null]);
        await said(mine.base, 'chat', body(asked, false));
        expect([mine.records.length, theirs.records.length]).toEqual([1, 1]);
      },
      MINUTES,
    );

    overServer(
      'a stream is held with keep-alives while the policy’s server is away, and then answered',
      async () => {
        const line = backend.line!;
        const { base, records } = opened('held');
        const { path, body } = protocolClients.chat;
        const before = generations;
        const asking = post(`${base}/${path}`, body(asked, true));
        await until(() => generations > before);
        line.cut();
        const reply = await asking;
        const tries = line.connections;
        await until(() => line.connections > tries + 1);
        line.mend();
        const text = await reply.text();
        expect(text).toContain(': keep-alive');
        protocolClients.chat.read(text, true);
        expect(records).toHaveLength(1);
        expect(await apart(records)).toBeLessThan(backend.apartMax);
      },
      MINUTES,
    );

    test(
      'a session goes on with the weights of a step that came between its calls',
      async () => {
        const { base, records } = opened('two versions');
        const client = protocolClients.chat;
        const first = await said(base, 'chat', client.body(asked, false));
        expect(await apart(records)).toBeLessThan(backend.apartMax);
        await stepOn(backend, records);
        expect(await apart(records)).toBeGreaterThan(2 * backend.apartMax);
        await publish(2);
        const results = client.results(first.calls.map(added));
        const more = results.length > 0 ? results : asked;
        await said(base, 'chat', client.body([...asked, ...first.turn, ...more], false));
        expect(records.map(({ join, spans }) => [join, spans.map((s) => s.version)])).toEqual([
          ['first', [1]],
          ['continued', [2]],
        ]);
        expect(await apart(records, 1)).toBeLessThan(backend.apartMax);
      },
      MINUTES,
    );

    compared(
      'weights that are not the trainer’s are refused, and sessions go on with those before',
      async () => {
        const { base, records } = opened('wrong weights');
        const client = protocolClients.chat;
        await said(base, 'chat', client.body(asked, false));
        await stepOn(backend, records);
        const wrong = backend.engine.load({ ...newest, version: 3 });
        await expect(wrong).rejects.toMatchObject({ code: 'WEIGHTS_WRONG' });
        await said(base, 'chat', client.body([...asked, ...asked], false));
        expect(records.map(({ spans }) => spans.map((span) => span.version))).toEqual([[2], [2]]);
      },
      MINUTES,
    );
  });
}

/** Each call's context and answer. */
function contextsOf(records: readonly ModelCallRecord[]): Int32Array[] {
  const made = new Map<string, Int32Array>();
  return records.map(({ sessionId, call, parent, prompt, tokens }) => {
    const before = made.get(`${sessionId} ${parent}`) ?? [];
    const all = Int32Array.from([...before, ...prompt, ...tokens]);
    made.set(`${sessionId} ${call}`, all);
    return all;
  });
}

/** A step against what was said, so that the policy moves. */
async function stepOn(
  { trainer, lr }: GatewayBackend,
  records: readonly ModelCallRecord[],
): Promise<void> {
  const contexts = contextsOf(records);
  const sequences = records.map(({ tokens, logProbs }, i) => {
    const context = contexts[i]!;
    const from = context.length - tokens.length;
    const oldLogProbs = new Float32Array(context.length);
    oldLogProbs.set(logProbs, from);
    return {
      ...{ tokens: context, oldLogProbs },
      mask: Uint8Array.from(context, (_, at) => (at < from ? 0 : 1)),
      advantages: new Float32Array(context.length).fill(-1),
    };
  });
  await trainer.step({ sequences, loss: { name: 'clipped' }, lr });
}

const added = ({ id, arguments: given }: ReadCall): { id: string; content: string } => {
  const { a, b } = JSON.parse(given) as { a: unknown; b: unknown };
  return { id, content: String(Number(a) + Number(b)) };
};
