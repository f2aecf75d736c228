/**
 * Finds the session of a request: by the key in its path, or by its API key.
 *
 * With a key in the path, the API key may be anything but another session's: agents must set one, and many
 * set a meaningless word.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { GatewayRefusal, type ModelSession, type ModelSessions } from '../conversation.ts';

export function sessionOf(
  sessions: ModelSessions,
  inPath: string | null,
  headers: IncomingHttpHeaders,
): ModelSession {
  const given = keysIn(headers);
  if (inPath === null) return sessions.session(onlyKey(given, 'session'));
  const session = sessions.session(inPath);
  for (const key of given) {
    if (key !== inPath && isOther(sessions, key, session)) throw twoSessions();
  }
  return session;
}

/** The API key of a request that concerns no session. */
export function gatewayKey(headers: IncomingHttpHeaders): string {
  return onlyKey(keysIn(headers), 'gateway');
}

function onlyKey(given: readonly string[], whose: 'session' | 'gateway'): string {
  const [key] = given;
  if (key === undefined) {
    throw new GatewayRefusal(
      'key',
      whose === 'session'
        ? 'no key: send the session’s key as the API key, or put it into the base URL'
        : 'no key: send the gateway’s key as Authorization: Bearer …',
    );
  }
  mustAgree(given);
  return key;
}

function keysIn(headers: IncomingHttpHeaders): string[] {
  const bearer = /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1]?.trim() ?? '';
  const own = headers['x-api-key'];
  return [bearer, typeof own === 'string' ? own.trim() : ''].filter((key) => key !== '');
}

function mustAgree(keys: readonly string[]): void {
  if (new Set(keys).size > 1) throw twoSessions();
}

/** Whether a key belongs to another session, ended ones included. */
function isOther(sessions: ModelSessions, key: string, session: ModelSession): boolean {
  try {
    return sessions.session(key).id !== session.id;
  } catch (error) {
    if (error instanceof GatewayRefusal) return error.kind !== 'key';
    throw error;
  }
}

function twoSessions(): GatewayRefusal {
  return new GatewayRefusal('key', 'two keys of different sessions: one in the base URL is enough');
}
