/**
 * What Qdrant answers, by its documentation (REST, 1.10 and later), over vectors in memory. It keeps to the
 * shapes of the requests that are used here, and refuses others.
 */
import { type ScriptedServer, type Seen, scriptedServer } from './scriptedServer.ts';

interface Point {
  readonly id: string;
  readonly vector: readonly number[];
  readonly payload: Record<string, unknown>;
}

interface Collection {
  readonly size: number;
  readonly distance: 'Cosine' | 'Dot';
  readonly points: Map<string, Point>;
}

export interface QdrantServer extends ScriptedServer {
  readonly collections: Map<string, Collection>;
  /** The next request is answered with this status. */
  failNext(status: number): void;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export async function qdrantServer(key = ''): Promise<QdrantServer> {
  const collections = new Map<string, Collection>();
  let failing = 0;
  const server = await scriptedServer((seen, response) => {
    const made = failing > 0 ? { status: failing, error: 'later' } : answered(seen);
    failing = 0;
    const ok = 'result' in made;
    response.writeHead(ok ? 200 : made.status, { 'content-type': 'application/json' });
    const said = ok
      ? { result: made.result, status: 'ok', time: 0.001 }
      : { status: { error: made.error }, time: 0 };
    response.end(JSON.stringify(said));
  });

  function answered(seen: Seen): { result: unknown } | { status: number; error: string } {
    const { method, path, headers, body } = seen;
    if (key !== '' && headers['api-key'] !== key) return { status: 401, error: 'Invalid API key' };
    const [, name = '', route = ''] = /^\/collections\/([^/?]+)([^?]*)/.exec(path) ?? [];
    const collection = collections.get(name);
    if (method === 'PUT' && route === '') {
      if (collection !== undefined)
        return { status: 409, error: `Collection \`${name}\` already exists!` };
      const { size, distance } = body!.vectors as Collection;
      collections.set(name, { size, distance, points: new Map() });
      return { result: true };
    }
    if (collection === undefined) {
      return { status: 404, error: `Not found: Collection \`${name}\` doesn't exist!` };
    }
    const { points, size, distance } = collection;
    switch (`${method} ${route}`) {
      case 'GET ':
        return {
          result: {
            ...{ status: 'green', points_count: points.size, indexed_vectors_count: 0 },
            config: { params: { vectors: { size, distance } } },
          },
        };
      case 'PUT /points': {
        const given = body!.points as Point[];
        const wrong = given.find(({ id, vector }) => !UUID.test(id) || vector.length !== size);
        if (wrong !== undefined) return { status: 400, error: 'Wrong input: bad point' };
        for (const point of given) points.set(point.id, point);
        return { result: { operation_id: 0, status: 'completed' } };
      }
      case 'POST /points': {
        const found = (body!.ids as string[]).flatMap((id) => points.get(id) ?? []);
        return { result: found.map(({ id, payload }) => ({ id, payload })) };
      }
      case 'POST /points/scroll': {
        const found = [...points.values()].slice(0, body!.limit as number);
        return {
          result: {
            points: found.map(({ id, payload }) => ({ id, payload })),
            next_page_offset: null,
          },
        };
      }
      case 'POST /points/query/batch': {
        const searches = body!.searches as { query: number[]; limit: number }[];
        return {
          result: searches.map(({ query, limit }) => ({
            points: nearest(collection, query, limit),
          })),
        };
      }
      default:
        return { status: 404, error: `no ${method} ${route}` };
    }
  }

  return {
    ...server,
    get active() {
      return server.active;
    },
    get activeMax() {
      return server.activeMax;
    },
    collections,
    failNext(status) {
      failing = status;
    },
  };
}

/** Equal scores in the order of the points, as it happens. */
function nearest({ points, distance }: Collection, query: readonly number[], limit: number) {
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, i) => sum + value * b[i]!, 0);
  const scored = [...points.values()].map(({ id, vector, payload }) => {
    const norms = distance === 'Dot' ? 1 : Math.sqrt(dot(vector, vector) * dot(query, query)) || 1;
    return { id, version: 0, score: dot(vector, query) / norms, payload };
  });
  return scored.sort((a, b) => b.score - a.score).slice(0, limit);
}
