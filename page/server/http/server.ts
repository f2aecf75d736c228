/** The page's server: checks every request, then sends the page, its data or its stream. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MillraceError } from '../../../base/index.ts';
import { html } from '../../../summary/html/index.ts';
import { type Answer, errorAnswer, errorBody, HTML_TYPE, json, send } from './answers.ts';
import type { Assets } from './assets.ts';
import { type Asking, addressOf, type GuardOptions, judge, methods } from './guard.ts';
import { againPage, dataPage, plainPage } from './plainPage.ts';
import { controlData, type Posts, posted } from './posts.ts';
import { dataAt, isView, type Served } from './router.ts';
import { EventStream, type StreamMeans, streamAsked } from './stream.ts';

export interface ServerParts extends Served {
  readonly guard: GuardOptions;
  readonly assets: Assets;
  readonly streams: StreamMeans;
  /** Null = only GET and HEAD exist. */
  readonly posts: Posts | null;
  /** Called with unexpected errors. */
  readonly failed: (error: unknown) => void;
}

export async function answer(
  from: IncomingMessage,
  to: ServerResponse,
  parts: ServerParts,
): Promise<void> {
  const url = addressOf(from.url);
  if (url === null) return send(to, json(errorBody('USAGE', 'page not found'), 400));
  const { pathname: path, searchParams: query } = url;
  const asking = { method: from.method ?? '', path, query, headers: from.headers };
  const verdict = judge(asking, parts.guard);
  switch (verdict.kind) {
    case 'refused':
      return refuse(asking, verdict, to, parts.guard);
    case 'welcome':
      to.setHeader('set-cookie', verdict.cookie);
      return send(to, {
        status: 303,
        type: HTML_TYPE,
        body: '',
        headers: { location: verdict.location },
      });
    case 'again':
      return send(to, { status: 200, type: HTML_TYPE, body: againPage(path + url.search) });
    case 'pass':
      return given(asking, from, to, parts);
  }
}

async function given(
  { path, query, headers }: Asking,
  from: IncomingMessage,
  to: ServerResponse,
  parts: ServerParts,
): Promise<void> {
  const { assets } = parts;
  const reads = from.method !== 'POST';
  const file = path === '/index.html' ? null : assets.file(path);
  if (reads && file !== null) return send(to, file);
  if (reads && isView(path)) return send(to, assets.index ?? (await listed(parts)));
  try {
    if (!reads) return send(to, await posted(path, from, parts.posts!));
    if (path === '/control.json') {
      return send(to, json(controlData(parts.posts, parts.streams.clock)));
    }
    if (path === '/stream') return await streamed(query, from, to, parts);
    const found = await dataAt(path, query, parts);
    // The page says that nothing is here, and links back.
    if (found === null && assets.index !== null && wantsPage(headers)) {
      return send(to, { ...assets.index, status: 404 });
    }
    if (found === null) throw new MillraceError('NOT_FOUND', 'page not found');
    send(to, found);
  } catch (error) {
    if (!(error instanceof MillraceError)) parts.failed(error);
    if (to.headersSent) to.destroy();
    else send(to, errorAnswer(error));
  }
}

async function streamed(
  query: URLSearchParams,
  from: IncomingMessage,
  to: ServerResponse,
  { streams }: ServerParts,
): Promise<void> {
  const { 'last-event-id': last } = from.headers;
  const asked = streamAsked(query, typeof last === 'string' ? last : undefined);
  if (from.method === 'HEAD') {
    return send(to, { status: 200, type: 'text/event-stream; charset=utf-8', body: '' });
  }
  await new EventStream(asked, to, streams).start();
}

async function listed({ folder }: ServerParts): Promise<Answer> {
  const { runs } = await folder.list();
  return { status: 200, type: HTML_TYPE, body: dataPage(runs.map(({ name }) => name)) };
}

/** How a browser asks when a person typed or followed an address. */
function wantsPage({ accept = '' }: Asking['headers']): boolean {
  return accept.includes('text/html');
}

function refuse(
  { headers }: Asking,
  { status, code, why }: { status: number; code: string; why: string },
  to: ServerResponse,
  guard: GuardOptions,
): void {
  if (code === 'METHOD') to.setHeader('allow', methods(guard));
  const asHtml = code === 'TOKEN' && wantsPage(headers);
  const page = (): Answer => {
    return { status, type: HTML_TYPE, body: plainPage('Millrace', [html`${why}`]) };
  };
  send(to, asHtml ? page() : json(errorBody(code, why), status));
}
