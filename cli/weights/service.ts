/**
 * A weights receiver over HTTP: the two routes of model/remote/receiverWire.ts, and `GET /healthz`.
 *
 * Guarantees: without the token nothing is revealed or accepted, and only on loopback is none needed;
 * requests have a maximum size; a sender that stops keeps what it has sent.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  admit,
  isLoopback,
  type Listening,
  listenOn,
  postedBody,
  Refusal,
  refuse,
  sendJson,
} from '../../base/http/index.ts';
import { keepSecret, messageOf } from '../../base/index.ts';
import { offer, PIECE_BYTES_MAX } from '../../model/remote/index.ts';
import { usageError } from '../failure.ts';
import type { Piece, WeightsStore } from './store.ts';

export interface ReceiverOptions {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  /** Every request must have it as `Authorization: Bearer …`; '' = none. */
  readonly token: string;
  /** Its name in messages. */
  readonly tokenEnv: string;
  readonly store: WeightsStore;
  /** Receives unexpected errors. */
  readonly failed: (error: unknown) => void;
}

const CONNECTIONS_MAX = 64;
const OFFER_BYTES_MAX = 4 * 1024 * 1024;

/** Fails with code `USAGE` if it cannot listen there, or if strangers could send without a token. */
export async function serveReceiver(options: ReceiverOptions): Promise<Listening> {
  const { host, port, token, tokenEnv } = options;
  keepSecret(token);
  if (token === '' && !isLoopback(host)) {
    throw usageError(
      `other machines can reach ${host}: put a token into ${tokenEnv} (the run sends it by engine.receiverKeyEnv)`,
    );
  }
  const answer = (from: IncomingMessage, to: ServerResponse): void => {
    answered(from, options)
      .then((body) => sendJson(to, 200, body))
      .catch((error: unknown) => {
        if (to.destroyed) return;
        if (!(error instanceof Refusal)) options.failed(error);
        const known = error instanceof Refusal ? error : internal;
        refuse(from, to, known);
      })
      .catch(() => to.destroy());
  };
  return listenOn({ host, port, connectionsMax: CONNECTIONS_MAX }, answer).catch((error) => {
    throw usageError(
      `cannot listen on ${host}:${port}: ${messageOf(error)}; choose another --port`,
    );
  });
}

const internal = new Refusal(500, 'internal error; see the receiver’s terminal');

async function answered(
  from: IncomingMessage,
  { host, token, store }: ReceiverOptions,
): Promise<unknown> {
  admit(from.headers, { host, token });
  const { pathname, searchParams } = new URL(from.url ?? '/', 'http://receiver');
  const [, kind, name = ''] = /^\/(versions|files|healthz)(?:\/([\w.-]+))?$/.exec(pathname) ?? [];
  const is = (method: string): void => {
    if (from.method !== method) throw new Refusal(405, `send ${method}`, { allow: method });
  };
  switch (kind) {
    case 'healthz':
      is('GET');
      return { status: 'ok', versions: store.versions };
    case 'versions':
      is('POST');
      return store.offered(name, offerIn(await postedBody(from, OFFER_BYTES_MAX)));
    case 'files': {
      is('PUT');
      if (Number(from.headers['content-length'] ?? Number.NaN) > PIECE_BYTES_MAX) {
        throw new Refusal(413, `send at most ${PIECE_BYTES_MAX} bytes at a time`);
      }
      return { bytes: await store.take(pieceOf(name, searchParams), bounded(from)) };
    }
    default:
      throw new Refusal(404, 'not found; a weights receiver has /versions, /files and /healthz');
  }
}

/** Also without a length. */
async function* bounded(from: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  const arriving: AsyncIterable<Buffer> = from.iterator({ destroyOnReturn: false });
  for await (const chunk of arriving) {
    bytes += chunk.length;
    if (bytes > PIECE_BYTES_MAX) {
      throw new Refusal(413, `send at most ${PIECE_BYTES_MAX} bytes at a time`);
    }
    yield chunk;
  }
}

function offerIn(text: string): ReturnType<typeof offer.parse>['files'] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refusal(400, 'the body is not valid JSON');
  }
  const parsed = offer.safeParse(body);
  if (parsed.success) return parsed.data.files;
  const [issue] = parsed.error.issues;
  throw new Refusal(400, `not the files of a version: ${issue?.message}`, {
    field: issue?.path.join('.') ?? '',
  });
}

function pieceOf(sha256: string, params: URLSearchParams): Piece {
  const [from, bytes] = ['from', 'bytes'].map((name) => Number(params.get(name) ?? Number.NaN));
  const isRight = /^[0-9a-f]{64}$/.test(sha256);
  if (isRight && Number.isSafeInteger(from) && Number.isSafeInteger(bytes) && from! >= 0) {
    if (from! <= bytes!) return { sha256, from: from!, bytes: bytes! };
  }
  throw new Refusal(400, 'send /files/SHA256?from=N&bytes=TOTAL');
}
