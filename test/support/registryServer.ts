/**
 * A schema registry on loopback: as much of Confluent's REST as Millrace asks, with answers as that server
 * gives them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface RegistryServer {
  readonly url: string;
  /** In the order of their ids, from 1. */
  readonly schemas: readonly { readonly subject: string; readonly schema: string }[];
  /** The authorization of each request. */
  readonly logins: readonly (string | undefined)[];
  /** Set, it is what every request is answered with. */
  status: number;
  /** Set, it answers instead. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | null;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const notFound: Answer = { status: 404, body: { error_code: 40403, message: 'Schema not found' } };

export async function startRegistry(): Promise<RegistryServer> {
  const schemas: { subject: string; schema: string }[] = [];
  const logins: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      logins.push(request.headers.authorization);
      if (registry.answer !== null) return registry.answer(request, response);
      const path = decodeURIComponent(request.url ?? '');
      const asked =
        request.method === 'POST' ? (JSON.parse(body) as { schema: string }).schema : null;
      const { status, body: answer } =
        registry.status === 0
          ? answerTo(path, asked, schemas)
          : { status: registry.status, body: { message: 'told to' } };
      response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' });
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as { port: number };
  const registry: RegistryServer = {
    url: `http://127.0.0.1:${port}`,
    schemas,
    logins,
    status: 0,
    answer: null,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return registry;
}

/** `posted` null = a GET. */
function answerTo(
  path: string,
  posted: string | null,
  schemas: { subject: string; schema: string }[],
): Answer {
  const byId = /^\/schemas\/ids\/(\d+)$/.exec(path);
  if (byId !== null) return found(schemas[Number(byId[1]) - 1]?.schema);
  const [, subject = '', rest = ''] = /^\/subjects\/([^/]+)(\/versions.*)?$/.exec(path) ?? [];
  const own = schemas.filter((known) => known.subject === subject);
  if (posted !== null) {
    const place = schemas.findIndex((k) => k.subject === subject && k.schema === posted);
    if (place >= 0) return { status: 200, body: { id: place + 1 } };
    if (rest === '') return notFound;
    return { status: 200, body: { id: schemas.push({ subject, schema: posted }) } };
  }
  if (rest === '/versions') {
    return own.length === 0 ? notFound : { status: 200, body: own.map((_, i) => i + 1) };
  }
  return found(own[Number(rest.split('/')[2]) - 1]?.schema);
}

function found(schema: string | undefined): Answer {
  return schema === undefined ? notFound : { status: 200, body: { schema } };
}
