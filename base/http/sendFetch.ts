/** Requests by node-fetch. */
import { Readable } from 'node:stream';
import fetch from 'node-fetch';
import type { Send } from './arriving.ts';

export const sendFetch: Send = async ({ url, method, headers, body }, { http, https }, signal) => {
  const response = await fetch(url, {
    ...{ method, headers, redirect: 'manual', signal },
    ...(body === undefined ? {} : { body }),
    agent: ({ protocol }) => (protocol === 'https:' ? https : http),
  });
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    body: (response.body as Readable | null) ?? Readable.from([]),
  };
};
