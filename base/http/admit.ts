/**
 * Who may use one of our services: any program with the token, if there is one, and never a web page. So
 * requests with an `Origin` are refused, and on a loopback address those that name another host (DNS
 * rebinding).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from './refusal.ts';

const LOOPBACK = ['127.0.0.1', 'localhost', '::1', '[::1]'];

/** Whether only programs on this machine can reach a server that listens there. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host);
}

export interface Admission {
  /** Where the service listens. */
  readonly host: string;
  /** Required of every request as `Authorization: Bearer …`; '' = none. */
  readonly token: string;
}

/** Throws a `Refusal` for a caller who is not allowed. */
export function admit(headers: IncomingHttpHeaders, { host, token }: Admission): void {
  if (token !== '' && !sameText(headers.authorization ?? '', `Bearer ${token}`)) {
    throw new Refusal(401, 'the token is missing or wrong: send Authorization: Bearer …');
  }
  const named = (headers.host ?? '').replace(/:\d+$/, '');
  if (headers.origin !== undefined || (isLoopback(host) && !isLoopback(named))) {
    throw new Refusal(403, 'requests from web pages and requests to another host name are refused');
  }
}

/** Takes the same time however much of it is right. */
export function sameText(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
