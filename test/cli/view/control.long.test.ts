/**
 * `millrace view --control` by real HTTP: who is refused, and
 * what the three POSTs do to runs, with the command in a process of its own.
 */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../base/clock.ts';
import { checkedOptions, serveView } from '../../../cli/view/view.ts';
import type { Viewer } from '../../../page/server/http/serve.ts';
import type { ControlData, ReplayData, RunsData, TopicData } from '../../../page/wire/index.ts';
import { type Command, millrace, sets } from '../../support/commandLine.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { tinyRun } from '../../support/tinyRun.ts';
import { until } from '../../support/until.ts';
import { fakeIo } from '../support/fakeIo.ts';

const token = 'a-token-for-these-tests';
const bearer = { authorization: `Bearer ${token}` };
const folder = temporaryFolder();
const runs = join(folder.path, 'runs');
afterAll(() => folder.remove());

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
  /** Node's own when left out. */
  readonly agent?: Agent;
}

interface Said {
  /** Status and code of the error; '200' and the like if there is none. */
  readonly verdict: string;
  readonly body: string;
  readonly allow: unknown;
  /** Of the connection. */
  readonly usedBefore: boolean;
}

function ask(
  port: number,
  path: string,
  { method = 'POST', headers = {}, body = '', agent }: Asked,
): Promise<Said> {
  return new Promise((resolve, reject) => {
    const given = { host: `127.0.0.1:${port}`, ...headers };
    const all = Object.fromEntries(
      Object.entries(given).filter((one): one is [string, string] => one[1] !== undefined),
    );
    const to = { host: '127.0.0.1', port, path, method, headers: all, agent };
    const asking = request(to, (from) => {
      let text = '';
      from.on('data', (part: Buffer) => {
        text += part.toString();
      });
      from.on('end', () => {
        const code = /"error":\{"code":"(\w+)"/.exec(text)?.[1];
        const verdict = [from.statusCode, code].filter((one) => one !== undefined).join(' ');
        const { allow } = from.headers;
        resolve({ verdict, body: text, allow, usedBefore: asking.reusedSocket });
      });
    });
    asking.on('error', reject);
    asking.end(body);
  });
}

describe('a POST', () => {
  const io = { ...fakeIo(folder.path), clock: systemClock };
  let open: Viewer;
  let shut: Viewer;
  beforeAll(async () => {
    await tinyRun(runs, 'first');
    const options = { runs, port: 0, token };
    shut = await serveView(options, checkedOptions(options), io);
    open = await serveView({ ...options, control: true }, checkedOptions(options), io);
  });
  afterAll(async () => {
    await open.close();
    await shut.close();
  });

  const pause = '/control/admission';
  const body = JSON.stringify({ run: 'first', paused: true });
  const whole = () => ({
    ...bearer,
    'x-millrace': '1',
    'x-millrace-control': open.control!,
    'content-type': 'application/json',
  });

  test.each<readonly [string, Asked & { readonly path?: string }, string]>([
    // Everything is right, and the command itself says that no one runs it: the others must not come so far.
    ['of who may', {}, '409 NOT_RUNNING'],
    ['without the token of reading', { headers: { authorization: undefined } }, '401 TOKEN'],
    ['with a wrong one', { headers: { authorization: 'Bearer x' } }, '401 TOKEN'],
    [
      'without the token of control',
      { headers: { 'x-millrace-control': undefined } },
      '401 CONTROL',
    ],
    ['with a wrong one of control', { headers: { 'x-millrace-control': 'x' } }, '401 CONTROL'],
    [
      'with that of reading in its place',
      { headers: { 'x-millrace-control': token } },
      '401 CONTROL',
    ],
    ['without our header', { headers: { 'x-millrace': undefined } }, '403 HEADER'],
    ['with a token in its address', { path: `${pause}?t=${token}` }, '400 HEADER'],
    ['of another site', { headers: { origin: 'https://evil.example' } }, '403 ORIGIN'],
    ['of a page without an origin', { headers: { origin: 'null' } }, '403 ORIGIN'],
    [
      'of another site, by its browser',
      { headers: { 'sec-fetch-site': 'cross-site' } },
      '403 ORIGIN',
    ],
    [
      'of another port, by its browser',
      { headers: { 'sec-fetch-site': 'same-site' } },
      '403 ORIGIN',
    ],
    [
      'of a form in another site that opens a tab',
      {
        headers: {
          'sec-fetch-site': 'cross-site',
          'sec-fetch-mode': 'navigate',
          'sec-fetch-dest': 'document',
        },
      },
      '403 ORIGIN',
    ],
    ['to a rebound name', { headers: { host: 'evil.example' } }, '403 HOST'],
    ['of a form', { headers: { 'content-type': 'text/plain' } }, '415 NOT_JSON'],
    ['without a type', { headers: { 'content-type': undefined } }, '415 NOT_JSON'],
    ['that is no JSON', { body: 'run=first' }, '400 NOT_JSON'],
    ['that is too large', { body: 'x'.repeat(5000) }, '413 TOO_LARGE'],
    ['that says more', { body: JSON.stringify({ run: 'first', paused: true, x: 1 }) }, '400 USAGE'],
    ['that says less', { body: '{}' }, '400 USAGE'],
    ['of no run', { body: JSON.stringify({ run: 'nope', paused: true }) }, '404 NO_RUN'],
    ['of a run that is an option', { body: '{"run":"--verify","paused":true}' }, '400 USAGE'],
    ['of a run elsewhere', { body: '{"run":"../first","paused":true}' }, '400 USAGE'],
    ['that stops', { path: '/control/stop' }, '404 NOT_FOUND'],
    ['to the data of a page', { path: '/runs.json' }, '404 NOT_FOUND'],
    ['to a page', { path: '/r/first' }, '404 NOT_FOUND'],
    [
      'from a topic that there is not',
      { path: '/control/replay', body: '{"run":"first","from":"--set"}' },
      '400 USAGE',
    ],
    ['by GET', { method: 'GET', body: '' }, '404 NOT_FOUND'],
    ['by PUT', { method: 'PUT' }, '405 METHOD'],
    ['by OPTIONS, as a browser asks before', { method: 'OPTIONS', body: '' }, '405 METHOD'],
  ])('%s is judged as it should', async (_, { path = pause, headers, ...asked }, verdict) => {
    const answer = await ask(open.port, path, {
      body,
      ...asked,
      headers: { ...whole(), ...headers },
    });
    expect(answer.verdict).toBe(verdict);
    expect(answer.body).not.toContain(open.control);
  });

  test('that is too large leaves its connection usable', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { ...whole(), 'transfer-encoding': 'chunked' };
    const large = await ask(open.port, pause, { body: 'x'.repeat(200_000), headers, agent });
    expect(large).toMatchObject({ verdict: '413 TOO_LARGE', usedBefore: false });
    const next = await ask(open.port, pause, { body, headers: whole(), agent });
    expect(next).toMatchObject({ verdict: '409 NOT_RUNNING', usedBefore: true });
    agent.destroy();
  });

  test('is refused without --control', async () => {
    expect(shut.control).toBeNull();
    const answer = await ask(shut.port, pause, { body, headers: whole() });
    expect(answer).toMatchObject({ verdict: '405 METHOD', allow: 'GET, HEAD' });
    const put = await ask(open.port, pause, { method: 'PUT', headers: whole() });
    expect(put).toMatchObject({ verdict: '405 METHOD', allow: 'GET, HEAD, POST' });
    const { body: data } = await ask(shut.port, '/control.json', {
      method: 'GET',
      headers: bearer,
    });
    expect(JSON.parse(data)).toMatchObject({ control: false, job: null });
  });

  test('has a token that is neither in the link nor in anything readable', async () => {
    expect(open.link).not.toContain(open.control);
    const { body: data } = await ask(open.port, '/control.json', {
      method: 'GET',
      headers: bearer,
    });
    expect(JSON.parse(data)).toMatchObject({ control: true, job: null });
    expect(data).not.toContain(open.control);
    expect(io.stderr().join('\n')).not.toContain(open.control);
  });

  test('is refused with a token that could be seen in transit', () => {
    const options = { runs, token, control: true, trustedOrigin: 'http://mill.example' };
    expect(() => checkedOptions(options)).toThrow('--control needs an https --trusted-origin');
  });
});

describe('a server with control', () => {
  let server: Command;
  let run: Command;
  let port: number;
  let control: string;

  beforeAll(async () => {
    run = millrace(
      ...['run', 'test/cli/fixtures/numbers.job.ts', '--run', 'live', '--runs', runs],
      ...sets({ count: 4000, workMs: 50 }),
    );
    server = millrace('view', '--control', '--runs', runs, '--port', '0', '--token', token);
    await heard(server, /page at/);
    port = Number(/page at http:\/\/127\.0\.0\.1:(\d+)/.exec(server.said)![1]);
    control = /control token: (\S+)/.exec(server.said)![1]!;
    await heard(run, /at work/);
  });
  afterAll(async () => {
    run.process.kill('SIGKILL');
    server.process.kill('SIGKILL');
    await Promise.all([run.ended, server.ended]);
  });

  async function heard({ process }: Command, what: RegExp): Promise<void> {
    const command = process === run?.process ? run : server;
    while (!what.test(command.said)) {
      if (process.exitCode !== null) throw new Error(command.said);
      await Promise.race([once(process.stderr!, 'data'), once(process, 'exit')]);
    }
  }

  function post(path: string, asked: unknown) {
    const headers = {
      ...bearer,
      'x-millrace': '1',
      'x-millrace-control': control,
      'content-type': 'application/json',
    };
    return ask(port, `/control/${path}`, { headers, body: JSON.stringify(asked) });
  }

  async function data<T>(path: string): Promise<T> {
    return JSON.parse((await ask(port, path, { method: 'GET', headers: bearer })).body) as T;
  }

  async function ended(): Promise<NonNullable<ControlData['job']>> {
    return until(async () => {
      const { job } = await data<ControlData>('/control.json');
      return job?.state === 'running' ? null : job;
    });
  }

  test('pauses and resumes a run, and records both', async () => {
    const paused = await post('admission', { run: 'live', paused: true });
    expect(paused.verdict).toBe('200');
    expect(paused.body).toContain('run live is paused');
    expect((await post('admission', { run: 'live', paused: true })).body).toContain('already');
    expect((await post('admission', { run: 'live', paused: false })).body).toContain('resumed');
    const { rows } = await data<TopicData>('/r/live/topics/control.json?dir=on');
    expect(rows.map(({ value }) => (value as { kind: string }).kind)).toEqual(['pause', 'resume']);
    await heard(server, /control: resume live/);
  });

  test('verifies one run at a time, and shows what is said and found', async () => {
    expect((await post('verify', { run: 'first' })).verdict).toBe('202');
    expect((await post('replay', { run: 'first', from: 'scored' })).verdict).toBe(
      '409 RECOMPUTING',
    );
    const job = await ended();
    expect(job).toMatchObject({ run: 'first', kind: 'verify', state: 'done' });
    expect(job.output).toContain('is equal to its record, bit for bit');
    expect((await data<ReplayData>('/r/first/replay.json')).verified).toMatchObject({ ok: true });
  });

  test('replays a run into another, under a free name', async () => {
    expect((await post('replay', { run: 'first', from: 'scored' })).verdict).toBe('202');
    const job = await ended();
    expect(job).toMatchObject({ kind: 'replay', into: 'first-again-1', state: 'done' });
    expect(job.command).toMatch(/ replay --runs \S+ first --from scored --into first-again-1$/);
    const { runs: all } = await data<RunsData>('/runs.json');
    expect(all.map(({ name }) => name)).toContain('first-again-1');
  });

  test('goes on when no one listens any more', async () => {
    server.process.stderr!.destroy();
    expect((await post('admission', { run: 'live', paused: true })).verdict).toBe('200');
    expect(await data<ControlData>('/control.json')).toMatchObject({ control: true });
  });

  test('ends what it started with itself', async () => {
    run.process.kill('SIGKILL');
    await run.ended;
    expect((await post('verify', { run: 'live' })).verdict).toBe('202');
    const scratch = (): string | undefined =>
      readdirSync(runs).find((name) => name.startsWith('.verify-live-'));
    await until(() => scratch() !== undefined);
    const pid = Number(scratch()!.split('-').at(-2));
    process.kill(pid, 0);
    server.process.kill('SIGTERM');
    await server.ended;
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(scratch()).toBeUndefined();
  });
});
