/**
 * The Hugging Face Hub on loopback, as much of it as a download asks: a model's commit and tree (in pages), and its
 * files by ranges, with the headers that the Hub gives. Large files are redirected to another address, as its are.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

export const COMMIT = 'a1b2c3d4e5f60718293a4b5c6d7e8f9001122334';

export interface HubServer {
  readonly url: string;
  /** Method, path and range of each request to the Hub, and to the address of large files. */
  readonly asked: string[];
  /** The authorization of each. */
  readonly logins: (string | undefined)[];
  /** Each is used once: a file's bytes end after so many, and so does the connection. */
  readonly cuts: number[];
  /** Set, it answers instead. */
  answer: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
  close(): Promise<void>;
}

export interface HubModel {
  readonly name: string;
  readonly files: Readonly<Record<string, Buffer>>;
  /** What the tree says in place of what is true. */
  readonly lies?: Readonly<Record<string, { readonly size?: number; readonly oid?: string }>>;
}

const PAGE = 4;

export async function startHub(model: HubModel): Promise<HubServer> {
  const asked: string[] = [];
  const logins: (string | undefined)[] = [];
  const cuts: number[] = [];
  const note = (request: IncomingMessage): void => {
    asked.push(`${request.method} ${request.url} ${request.headers.range ?? ''}`.trim());
    logins.push(request.headers.authorization);
  };
  const store = createServer((request, response) => {
    note(request);
    send(model.files[decodeURIComponent(request.url!.slice(1))]!, request, response, cuts);
  });
  const storeUrl = await listening(store);
  const server = createServer((request, response) => {
    note(request);
    if (hub.answer?.(request, response) === true) return;
    const url = new URL(request.url!, hub.url);
    const of = (rest: string) => url.pathname.startsWith(`${rest}`);
    if (of(`/api/models/${model.name}/revision/`)) {
      const revision = decodeURIComponent(url.pathname.split('/').at(-1)!);
      if (!['main', 'v2', COMMIT].includes(revision)) {
        return refuseAs(response, 404, 'RevisionNotFound', 'Invalid rev id');
      }
      return json(response, { _id: '1', id: model.name, sha: COMMIT });
    }
    if (of(`/api/models/${model.name}/tree/${COMMIT}`)) return tree(model, url, response);
    const file = url.pathname.replace(`/${model.name}/resolve/${COMMIT}/`, '');
    const content = model.files[file];
    if (content === undefined)
      return refuseAs(response, 401, 'RepoNotFound', 'Repository not found');
    const { lfs, oid } = entryOf(model, file);
    response.setHeader('x-repo-commit', COMMIT);
    if (lfs === undefined) {
      response.setHeader('etag', `"${oid}"`);
      return send(content, request, response, cuts);
    }
    response.setHeader('x-linked-etag', `"${lfs.oid}"`);
    response.setHeader('x-linked-size', String(lfs.size));
    response.writeHead(302, { location: `${storeUrl}/${encodeURIComponent(file)}` }).end();
  });
  const hub: HubServer = {
    ...{ url: await listening(server), asked, logins, cuts, answer: null },
    async close() {
      for (const each of [server, store]) {
        each.closeAllConnections();
        await new Promise((closed) => each.close(closed));
      }
    },
  };
  return hub;
}

export function refuseAs(
  response: ServerResponse,
  status: number,
  code: string,
  text: string,
): void {
  response.writeHead(status, { 'x-error-code': code, 'x-error-message': text });
  response.end(JSON.stringify({ error: text }));
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

function json(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
}

interface Entry {
  readonly type: 'file';
  readonly path: string;
  readonly size: number;
  readonly oid: string;
  readonly lfs?: { readonly oid: string; readonly size: number; readonly pointerSize: number };
}

function entryOf({ files, lies = {} }: HubModel, path: string): Entry {
  const content = files[path]!;
  const size = lies[path]?.size ?? content.length;
  const blob = createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
  const entry = { type: 'file' as const, path, size, oid: lies[path]?.oid ?? blob };
  if (!path.endsWith('.safetensors') && !path.endsWith('.bin')) return entry;
  const oid = lies[path]?.oid ?? createHash('sha256').update(content).digest('hex');
  return { ...entry, lfs: { oid, size, pointerSize: 134 } };
}

/** In pages, with a link to the next. */
function tree(model: HubModel, url: URL, response: ServerResponse): void {
  const all = Object.keys(model.files);
  const from = Number(url.searchParams.get('cursor') ?? 0);
  if (from + PAGE < all.length) {
    const next = new URL(url);
    next.searchParams.set('cursor', String(from + PAGE));
    response.setHeader('link', `<${next.href}>; rel="next"`);
  }
  const folder = { type: 'directory', path: 'onnx', size: 0, oid: '0'.repeat(40) };
  const page = all.slice(from, from + PAGE).map((path) => entryOf(model, path));
  json(response, from === 0 ? [folder, ...page] : page);
}

function send(
  content: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
  cuts: number[],
): void {
  const [, from] = /^bytes=(\d+)-/.exec(request.headers.range ?? '') ?? [];
  const part = content.subarray(Number(from ?? 0));
  const range = { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` };
  response.writeHead(from === undefined ? 200 : 206, {
    'content-length': part.length,
    ...(from === undefined ? {} : range),
  });
  const cut = part.length > 1000 ? cuts.shift() : undefined;
  if (cut === undefined) {
    response.end(part);
    return;
  }
  response.write(part.subarray(0, cut), () => response.destroy());
}
