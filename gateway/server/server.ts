/**
 * The gateway's HTTP server: agents' model calls, in the protocol that they speak.
 *
 * Guarantees: an answer is sent once its session has committed it, and refused calls in the protocol's form,
 * with statuses at which no SDK tries again what cannot succeed. Requests, bodies and connections are
 * bounded, and a body that is too large never sits in memory. A client that goes away aborts its call.
 * Nothing of keys or contents is logged. Web pages cannot reach it, and by default other machines neither.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { admit, type Listening, listenOn, Refusal } from '../../base/http/index.ts';
import type { SleepClock } from '../../base/index.ts';
import { GatewayRefusal, type ModelSession, type ModelSessions } from '../conversation.ts';
import { chat } from '../protocols/chat.ts';
import { countedTokens, messages } from '../protocols/messages.ts';
import type { Failed, Protocol } from '../protocols/protocol.ts';
import { fieldsAt, invalid, textAt } from '../protocols/reading.ts';
import { Bodies, jsonOf } from './body.ts';
import { mcpAnswer } from './mcp.ts';
import { modelsAnswer } from './models.ts';
import { nameOf, rewardAt, sentWith } from './reward.ts';
import { type Route, routeOf } from './route.ts';
import { gatewayKey, sessionOf } from './session.ts';
import { sendEvents } from './stream.ts';

export interface GatewayServerOptions {
  readonly sessions: ModelSessions;
  readonly clock: SleepClock;
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** 0 = any that is free, the default. */
  readonly port?: number;
  /** Largest body of a request. */
  readonly bytesMax?: number;
  /** Bodies in use, in all. */
  readonly heldMax?: number;
  /** Most requests that are open at once. */
  readonly openMax?: number;
  /** Between two keep-alives of a stream. */
  readonly keepAliveMs?: number;
  /** Hears of what broke on our side; its caller gets a sentence. */
  readonly failed: (error: unknown) => void;
}

const MIB = 1024 * 1024;
/** For all of a request to arrive. */
const ARRIVAL_MS = 120_000;
/** Longer than clients keep a connection, so that none is closed while they write to it. */
const IDLE_MS = 90_000;

/** Characters. */
const QUESTION_MAX = 20_000;

const NOT_FOUND =
  'not found: there are POST …/v1/chat/completions, …/v1/responses, …/v1/messages, …/v1/reward, …/v1/end, /v1/sessions and GET …/v1/models';

/** Rejects with the system's error if it cannot listen there. */
export async function gatewayServer(options: GatewayServerOptions): Promise<Listening> {
  const { host = '127.0.0.1', port = 0, openMax = 4096, failed } = options;
  const server = new GatewayServer(options, host);
  // Twice: those that are refused are told so.
  const bounds = { connectionsMax: openMax * 2, waitMs: ARRIVAL_MS, idleMs: IDLE_MS };
  return listenOn({ host, port, ...bounds, failed }, (from, to) => {
    server.answer(from, to).catch((error: unknown) => {
      failed(error);
      to.destroy();
    });
  });
}

class GatewayServer {
  readonly #options: GatewayServerOptions;
  readonly #host: string;
  readonly #bodies: Bodies;
  #open = 0;

  constructor(options: GatewayServerOptions, host: string) {
    const { bytesMax = 32 * MIB, heldMax = 1024 * MIB, clock } = options;
    this.#options = options;
    this.#host = host;
    this.#bodies = new Bodies(bytesMax, heldMax, clock);
  }

  async answer(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const form = from.headers['anthropic-version'] === undefined ? chat : messages;
    const route = routeOf(from.url ?? '/', form);
    const gone = new AbortController();
    to.once('close', () => {
      if (!to.writableFinished) gone.abort(new Error('the client is gone'));
    });
    this.#open += 1;
    try {
      await this.#route(route, from, to, gone.signal);
    } catch (error) {
      if (gone.signal.aborted) return;
      sendFailed(from, to, this.#failure(error, route.protocol));
    } finally {
      this.#open -= 1;
    }
  }

  async #route(
    route: Route,
    from: IncomingMessage,
    to: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const { sessions, openMax = 4096 } = this.#options;
    admit(from.headers, { host: this.#host, token: '' });
    if (route.kind === 'unknown') throw new Refusal(404, NOT_FOUND);
    const { method = 'GET' } = from;
    if (!route.methods.includes(method)) {
      const allow = route.methods.join(', ');
      throw new Refusal(405, `${method} is not allowed here: use ${allow}`, { allow });
    }
    if (route.kind === 'health') return send(to, 200, { status: 'ok' });
    if (route.kind === 'models') return send(to, 200, modelsAnswer(sessions.models, route.rest));
    if (route.kind === 'base') return send(to, 200, {});
    if (this.#open > openMax) {
      throw new GatewayRefusal('unavailable', 'too many requests are open; try again later');
    }
    if (route.kind === 'open') {
      return this.#bodies.with(from, (text) => this.#begin(from, text, to));
    }
    const session = sessionOf(sessions, route.key, from.headers);
    await this.#bodies.with(from, async (text) => {
      if (route.kind === 'reward') return this.#reward(session, from, text, to);
      if (route.kind === 'mcp') return this.#mcp(session, route.rest, from, text, to);
      if (route.kind === 'end') return this.#end(session, to);
      if (route.kind === 'count') return this.#count(session, text, to);
      return this.#call(session, route.protocol, text, to, signal);
    });
  }

  /** Opens a session, and says where it is. */
  async #begin(from: IncomingMessage, text: string, to: ServerResponse): Promise<void> {
    const { sessions } = this.#options;
    if (sessions.openNamed === undefined) {
      throw new Refusal(
        404,
        'this run opens its sessions itself; with agent.serve, clients open them',
      );
    }
    const { question = '' } = text.trim() === '' ? {} : fieldsAt(jsonOf(text), '');
    const asked = textAt(question, 'question');
    if (asked.length > QUESTION_MAX) {
      throw invalid('question', `is longer than ${QUESTION_MAX} characters`);
    }
    const { headers } = from;
    const { id, key } = await sessions.openNamed({
      ...{ key: gatewayKey(headers), question: asked, name: nameOf(headers) },
    });
    const path = `/s/${key}`;
    const base = `http://${headers.host ?? this.#host}${path}`;
    send(to, 200, {
      ...{ id, key, path, base_url: `${base}/v1`, anthropic_base_url: base },
      ...{ reward_url: `${base}/v1/reward`, end_url: `${base}/v1/end` },
    });
  }

  async #mcp(
    { mcp }: ModelSession,
    name: string,
    from: IncomingMessage,
    text: string,
    to: ServerResponse,
  ): Promise<void> {
    if (mcp?.servers.includes(name) !== true) {
      const known = mcp?.servers.join(', ') ?? '';
      const there =
        known === '' ? 'this run has no MCP servers (agent.mcp)' : `available: ${known}`;
      throw new Refusal(404, `there is no MCP server with this name; ${there}`);
    }
    const url = `http://${from.headers.host ?? this.#host}${from.url ?? '/'}`;
    const answer = await mcpAnswer(mcp, name, { url, headers: headersOf(from), text });
    to.writeHead(answer.status, [...answer.headers].flat());
    to.end(answer.text);
  }

  async #end(session: ModelSession, to: ServerResponse): Promise<void> {
    if (session.end === undefined) {
      throw new GatewayRefusal(
        'invalid',
        'this session ends when its agent does; a client cannot end it',
      );
    }
    await session.end();
    send(to, 200, { ended: true });
  }

  async #reward(
    session: ModelSession,
    { headers }: IncomingMessage,
    text: string,
    to: ServerResponse,
  ): Promise<void> {
    const said = rewardAt(jsonOf(text));
    const { value, reason } = said;
    await session.reward(value, reason, sentWith(headers, said));
    send(to, 200, { value, reason });
  }

  async #count(session: ModelSession, text: string, to: ServerResponse): Promise<void> {
    const { call } = messages.read(jsonOf(text), session.memory);
    send(to, 200, countedTokens(session.count(call)));
  }

  async #call(
    session: ModelSession,
    protocol: Protocol,
    text: string,
    to: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const asked = protocol.read(jsonOf(text), session.memory);
    const digest = createHash('sha256').update(`${protocol.path}\n`).update(text).digest('hex');
    const reply = session.call(asked.call, digest, signal);
    if (!asked.stream) return send(to, 200, asked.answer(await reply));
    const { clock, keepAliveMs = 5_000 } = this.#options;
    await sendEvents(to, reply.then(asked.events), {
      clock,
      keepAliveMs,
      keepAlive: protocol.keepAlive,
      signal,
      failedEvents: (error) => protocol.failedEvents(this.#refusal(error, signal)),
    });
  }

  #failure(error: unknown, protocol: Protocol): Failed {
    if (!(error instanceof Refusal)) return protocol.failed(this.#refusal(error));
    const { status, message, details } = error;
    const failed = protocol.failed(new GatewayRefusal('invalid', message));
    const allow = details.allow === undefined ? {} : { allow: details.allow };
    return { ...failed, status, headers: { ...failed.headers, ...allow } };
  }

  /** What the client is told; anything else is reported. */
  #refusal(error: unknown, signal?: AbortSignal): GatewayRefusal {
    if (error instanceof GatewayRefusal) return error;
    if (signal?.aborted !== true) this.#options.failed(error);
    return new GatewayRefusal('failed', 'the gateway failed at this call; its log says why');
  }
}

/** Those that say what a request is; its body has been read. */
function headersOf({ headers }: IncomingMessage): Headers {
  const own = Object.entries(headers).filter(
    ([name]) => name === 'accept' || name === 'content-type' || name.startsWith('mcp-'),
  );
  return new Headers(own.map(([name, value]) => [name, String(value)]));
}

function sendFailed(from: IncomingMessage, to: ServerResponse, failed: Failed): void {
  if (to.headersSent) {
    to.destroy();
    return;
  }
  for (const [name, value] of Object.entries(failed.headers)) to.setHeader(name, value);
  // What is left of the request may never end.
  if (!from.complete && failed.status === 413) to.setHeader('connection', 'close');
  send(to, failed.status, failed.body);
  if (!from.complete) from.resume();
}

function send(to: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  to.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  to.end(text);
}
