/**
 * The part of MLflow's REST interface that is used, in memory, as strict as the real one: names, sizes of
 * requests, parameters that do not change, and metrics that are kept once. Replies can be lost, and the
 * server be away.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface KeptMetric {
  readonly key: string;
  readonly value: number | string;
  readonly timestamp: number;
  readonly step: number;
}
export interface KeptRun {
  readonly id: string;
  readonly name: string;
  status: string;
  endMs: number | null;
  readonly tags: Map<string, string>;
  readonly params: Map<string, string>;
  readonly metrics: KeptMetric[];
}
export interface MlflowServer {
  readonly url: string;
  readonly runs: readonly KeptRun[];
  /** Of requests that were answered or done, by path. */
  readonly asked: string[];
  readonly logins: Set<string>;
  /**
   * What happens to the next requests, in order: 503, 401, or done with the connection broken before the
   * reply.
   */
  readonly mischief: ('busy' | 'denied' | 'lost')[];
  close(): Promise<void>;
}

type Reply = readonly [status: number, body: unknown];
type Fields = Readonly<Record<string, never>>;

const NAME = /^[\w\-. :/]+$/;
const bad = (message: string): Reply => [400, { error_code: 'INVALID_PARAMETER_VALUE', message }];

export async function mlflowServer(): Promise<MlflowServer> {
  const runs: KeptRun[] = [];
  const experiments: string[] = [];
  const asked: string[] = [];
  const logins = new Set<string>();
  const mischief: ('busy' | 'denied' | 'lost')[] = [];
  const server = createServer((from, to) => {
    void answer(from, to);
  });
  const answer = async (from: IncomingMessage, to: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of from) chunks.push(chunk as Buffer);
    logins.add(from.headers.authorization ?? '');
    const happens = mischief.shift();
    if (happens === 'busy') return send(to, 503, { message: 'starting' });
    if (happens === 'denied') return send(to, 401, { message: 'who are you?' });
    const url = new URL(from.url!, 'http://x');
    const path = url.pathname.replace('/api/2.0/mlflow/', '');
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}');
    asked.push(path);
    const [status, said] = handle(path, body, url.searchParams);
    if (happens === 'lost') to.destroy();
    else send(to, status, said);
  };
  const handle = (path: string, body: Fields, query: URLSearchParams): Reply => {
    const run = runs.find(({ id }) => id === body.run_id);
    switch (path) {
      case 'experiments/get-by-name': {
        const at = experiments.indexOf(query.get('experiment_name')!);
        if (at < 0) return [404, { error_code: 'RESOURCE_DOES_NOT_EXIST', message: 'none' }];
        return [200, { experiment: { experiment_id: String(at) } }];
      }
      case 'experiments/create':
        return [200, { experiment_id: String(experiments.push(body.name!) - 1) }];
      case 'runs/search': {
        const [, key, value] = /^tags\.`(.+)` = '(.+)'$/.exec(body.filter!)!;
        return [200, found(runs.filter(({ tags }) => tags.get(key!) === value))];
      }
      case 'runs/create': {
        runs.push({
          id: `run-${runs.length}`,
          name: body.run_name!,
          status: 'RUNNING',
          endMs: null,
          tags: new Map(pairs(body.tags!)),
          params: new Map(),
          metrics: [],
        });
        return [200, { run: shown(runs.at(-1)!) }];
      }
      case 'runs/update':
        run!.status = body.status!;
        run!.endMs = body.end_time ?? run!.endMs;
        return [200, {}];
      case 'runs/log-batch':
        return logBatch(run!, body);
      default:
        return [404, { message: path }];
    }
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    runs,
    asked,
    logins,
    mischief,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function logBatch(run: KeptRun, body: Fields): Reply {
  const metrics: readonly KeptMetric[] = body.metrics ?? [];
  const [params, tags] = [pairs(body.params ?? []), pairs(body.tags ?? [])];
  if (metrics.length + params.length + tags.length > 1000) return bad('too much');
  if (params.length > 100) return bad('too many params');
  const wrong = [...metrics.map(({ key }) => key), ...params.map(([key]) => key)].find(
    (key) => !NAME.test(key),
  );
  if (wrong !== undefined) return bad(`Invalid value "${wrong}" for a name`);
  for (const [key, value] of params) {
    if ((run.params.get(key) ?? value) !== value) return bad(`changes ${key}`);
    run.params.set(key, value);
  }
  for (const one of metrics) {
    const same = (kept: KeptMetric) => JSON.stringify(kept) === JSON.stringify(one);
    if (!run.metrics.some(same)) run.metrics.push(one);
  }
  for (const [key, value] of tags) run.tags.set(key, value);
  return [200, {}];
}

function shown({ id, status, tags, params }: KeptRun) {
  const list = (map: ReadonlyMap<string, string>) =>
    [...map].map(([key, value]) => ({ key, value }));
  return { info: { run_id: id, status }, data: { tags: list(tags), params: list(params) } };
}

/** As MLflow has it: no list where nothing was found. */
function found(runs: readonly KeptRun[]) {
  return runs.length === 0 ? {} : { runs: runs.map(shown) };
}

function pairs(list: readonly { key: string; value: string }[]): [string, string][] {
  return list.map(({ key, value }) => [key, value]);
}

function send(to: ServerResponse, status: number, body: unknown): void {
  to.writeHead(status, { 'content-type': 'application/json' });
  to.end(JSON.stringify(body));
}
