/** `millrace run --metrics-port` and `millrace metrics`: by real HTTP, on runs that work meanwhile. */
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { complaint, metricsPortOf } from '../../cli/healthcheck.ts';
import { exportRun } from '../../cli/metrics/runExporter.ts';
import { main } from '../../cli/program.ts';
import type { Log } from '../../streams/log.ts';
import { allFamilies } from '../../summary/prometheus/families.ts';
import { manualClock } from '../../testing/manualClock.ts';
import { type Command, millrace } from '../support/commandLine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freshLog } from '../support/freshLog.ts';
import { mlflowServer } from '../support/mlflowServer.ts';
import { promtool } from '../support/prometheus.ts';
import { until } from '../support/until.ts';
import { fakeIo } from './support/fakeIo.ts';
import { record, writeSyntheticRun } from './support/syntheticRun.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
let log: Log;
freshLog((fresh) => {
  log = fresh;
});
const job = ['run', 'test/cli/fixtures/numbers.job.ts', '--runs', folder.path];
const installed = promtool(['--version']).ok;

/** Where a command says that it serves. */
async function served(command: Command): Promise<string> {
  return until(() => {
    if (command.process.exitCode !== null) throw new Error(command.said);
    return /metrics (?:of run \S+ )?at (\S+)\/metrics/.exec(command.said)?.[1];
  });
}

async function get(url: string, method = 'GET'): Promise<{ code: number; text: string }> {
  const reply = await fetch(url, { method });
  return { code: reply.status, text: await reply.text() };
}

async function untilReady(url: string): Promise<void> {
  await until(async () => (await get(`${url}/readyz`)).code === 200);
}

/** Value of a sample; its labels as they are in the page. */
function sample(page: string, name: string, ...labels: readonly string[]): number {
  const line = page
    .split('\n')
    .find((one) => one.startsWith(`${name}{`) && labels.every((label) => one.includes(label)));
  return Number(line?.split(' ').at(-1));
}

describe('a run with --metrics-port', () => {
  test('serves the metrics of its stages and its log, and ends as without it', async () => {
    const run = millrace(...job, '--run', 'seen', '--metrics-port', '0', ...sets(400, 100));
    const url = await served(run);
    await untilReady(url);
    const { code, text } = await until(async () => {
      const page = await get(`${url}/metrics`);
      const of = (name: string, ...labels: readonly string[]): number =>
        sample(page.text, `millrace_${name}`, 'stage="work"', ...labels);
      return (
        of('stage_records_read_total') > 3 &&
        of('stage_time_seconds_total', 'state="full"') > 1 &&
        page
      );
    });
    expect(code).toBe(200);
    expect(sample(text, 'millrace_run_info', 'run="seen"', 'job="numbers"')).toBe(1);
    expect(sample(text, 'millrace_run_status', 'status="running"')).toBe(1);
    expect(sample(text, 'millrace_stage_records_read_total', 'stage="work"')).toBeGreaterThan(3);
    expect(sample(text, 'millrace_stage_inflight_limit', 'stage="work"')).toBe(4);
    expect(sample(text, 'millrace_topic_records_total', 'topic="questions"')).toBe(400);
    const rollouts = sample(text, 'millrace_topic_records_total', 'topic="rollouts"');
    const lag = sample(text, 'millrace_stage_lag_records', 'stage="work"', 'topic="questions"');
    expect(rollouts).toBeGreaterThan(0);
    expect(lag).toBeGreaterThan(0);
    expect(lag + rollouts).toBeLessThanOrEqual(400);
    const shares = ['starved', 'full', 'busy'].map((state) =>
      sample(text, 'millrace_stage_time_seconds_total', 'stage="work"', `state="${state}"`),
    );
    expect(shares[1]).toBeGreaterThan(0.5 * (shares[0]! + shares[1]! + shares[2]!));
    const names = allFamilies.map(({ name }) => name);
    const typed = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string);
    const ofProcess = /^(process|nodejs)_/;
    expect(typed.filter((name) => !names.includes(name) && !ofProcess.test(name))).toEqual([]);
    expect(sample(text, 'process_resident_memory_bytes', 'run="seen"')).toBeGreaterThan(1e6);
    expect(typed).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(promtoolSays(text)).toBe('');

    expect(await get(`${url}/healthz`)).toEqual({ code: 200, text: 'running\n' });
    expect((await get(`${url}/else`)).code).toBe(404);
    expect(await get(`${url}/metrics`, 'HEAD')).toEqual({ code: 200, text: '' });
    expect((await get(`${url}/metrics`, 'POST')).code).toBe(405);

    const watch = millrace('metrics', 'seen', '--runs', folder.path, '--port', '0');
    const beside = await served(watch);
    const page = (await get(`${beside}/metrics`)).text;
    expect(sample(page, 'millrace_stage_inflight_limit', 'stage="work"')).toBe(4);
    expect(sample(page, 'millrace_topic_records_total', 'topic="questions"')).toBe(400);
    expect(promtoolSays(page)).toBe('');
    watch.process.kill('SIGTERM');
    expect(await watch.code).toBe(0);

    run.process.kill('SIGTERM');
    expect(await run.code).toBe(0);
    expect(run.said).toMatch(/stopped; resume with/);
  });

  test('is not ready while it stops, and shows that it failed', async () => {
    const exporter = await exportRun({ host: '127.0.0.1', port: 0 }, options());
    const url = exporter.url!.replace('/metrics', '');
    expect(await get(`${url}/readyz`)).toEqual({ code: 503, text: 'building\n' });
    expect((await get(`${url}/healthz`)).code).toBe(200);
    exporter.leads(log);
    exporter.state('running');
    expect((await get(`${url}/readyz`)).code).toBe(200);
    exporter.state('stopping');
    expect((await get(`${url}/readyz`)).code).toBe(503);
    expect((await get(`${url}/healthz`)).code).toBe(200);
    expect(await complaint(Number(new URL(url).port))).toBeNull();
    exporter.state('failed');
    expect(await get(`${url}/healthz`)).toEqual({ code: 503, text: 'failed\n' });
    expect(await complaint(Number(new URL(url).port))).toBe('/healthz answered 503');
    await exporter.close();
    await expect(get(`${url}/healthz`)).rejects.toThrow();
  });

  test('serves metrics even if the log does not answer, and counts nothing of a run it does not lead', async () => {
    const silent: Log = new Proxy(log, {
      get(target, name) {
        if (name === 'stats') return () => new Promise<never>(() => undefined);
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const exporter = await exportRun({ host: '127.0.0.1', port: 0 }, options());
    const url = exporter.url!;
    const part = (await get(url)).text;
    expect(part).toContain('millrace_heartbeat_timestamp_seconds');
    expect(part).not.toContain('millrace_rollouts_total');
    exporter.leads(silent);
    const { text } = await get(url);
    expect(sample(text, 'millrace_log_answers', 'run="first"')).toBe(0);
    expect(text).not.toContain('millrace_topic_records_total');
    expect(text).toContain('millrace_rollouts_total');
    await exporter.close();
  });

  test('is refused as a wrong command line if the port is taken or is not a port', async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    const { port } = taken.address() as AddressInfo;
    const io = fakeIo(process.cwd());
    expect(await main([...job, '--run', 'never', '--metrics-port', String(port)], io)).toBe(2);
    expect(io.stderr().join('\n')).toMatch(/cannot serve metrics at 127\.0\.0\.1:.*EADDRINUSE/);
    expect(await main([...job, '--metrics-port', '70000'], fakeIo(process.cwd()))).toBe(2);
    taken.close();
  });
});

describe('millrace metrics --to', () => {
  const servers: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    delete process.env.MLFLOW_TRACKING_TOKEN;
    for (const server of servers.splice(0)) await server.close();
  });

  test('exports a finished run to every target once', async () => {
    await writeSyntheticRun({ runs: folder.path, name: 'over' });
    const server = await mlflowServer();
    servers.push(server);
    process.env.MLFLOW_TRACKING_TOKEN = 'tok-123456';
    const tb = join(folder.path, 'tb');
    const to = ['--to', `tensorboard:${tb}`, '--to', `mlflow:${server.url}/`];
    const said: string[] = [];
    for (const count of [32, 0]) {
      const io = fakeIo(process.cwd());
      expect(await main(['metrics', 'over', '--runs', folder.path, ...to], io)).toBe(0);
      said.push(...io.stderr());
      expect(io.stderr().join('\n')).toContain(`exported ${count} metrics of run over to MLflow`);
    }
    expect(said.join('\n')).toContain(`see them with: tensorboard --logdir ${tb}`);
    expect(readdirSync(join(tb, 'over'))).toHaveLength(1);
    expect([...server.logins]).toEqual(['Bearer tok-123456']);
    expect(server.runs[0]).toMatchObject({ name: 'over', status: 'FINISHED', endMs: 61_000 });
    expect(server.runs[0]!.metrics).toHaveLength(32);
  });

  test('follows a run until it ends', async () => {
    const run = millrace(...job, '--run', 'followed', ...sets(60, 30));
    await until(() => /at work|starting run/.test(run.said));
    const tb = join(folder.path, 'tb2');
    const to = ['--to', `tensorboard:${tb}`, '--to', 'prometheus:0'];
    const watch = millrace('metrics', 'followed', '--runs', folder.path, ...to);
    const url = await served(watch);
    expect((await get(`${url}/metrics`)).code).toBe(200);
    expect(await run.code).toBe(0);
    await until(() => watch.said.includes('exported 0 metrics of run followed'));
    // Prometheus goes on being served.
    expect((await get(`${url}/healthz`)).code).toBe(200);
    watch.process.kill('SIGTERM');
    expect(await watch.code).toBe(0);
  });

  test.each([
    ['tensorbord:tb', /did you mean tensorboard\?/],
    ['tensorboard', /is incomplete; write tensorboard:FOLDER/],
    ['mlflow:here', /'here' is not a valid URL for an MLflow server/],
    ['mlflow:http://me:secret@here', /carries credentials/],
    ['prometheus:90x', /has no valid port/],
  ])('is refused as a wrong command line with %s', async (target, words) => {
    const io = fakeIo(process.cwd());
    expect(await main(['metrics', 'over', '--runs', folder.path, '--to', target], io)).toBe(2);
    expect(io.stderr().join('\n')).toMatch(words);
  });
});

describe('the health check of a container', () => {
  test('finds the port on the command line or in the environment', () => {
    const line = ['tini', '--', 'millrace', 'run', 'et-agent'];
    expect(metricsPortOf([...line, '--metrics-port', '9464'], {})).toBe(9464);
    expect(metricsPortOf([...line, '--metrics-port=9464'], {})).toBe(9464);
    expect(metricsPortOf(line, { MILLRACE_METRICS_PORT: '9464' })).toBe(9464);
    expect(metricsPortOf(line, {})).toBeNull();
    expect(metricsPortOf(line, { MILLRACE_METRICS_PORT: '' })).toBeNull();
  });

  test('passes a container that serves nothing, and fails one that does not answer in time', async () => {
    const mute = createServer(() => undefined);
    await new Promise<void>((done) => mute.listen(0, '127.0.0.1', done));
    const { port } = mute.address() as AddressInfo;
    expect(await complaint(port, 200)).toBe('/healthz did not answer within 0.2 s');
    mute.closeAllConnections();
    await new Promise((done) => mute.close(done));
    expect(await complaint(port, 200)).toBeNull();
  });
});

function sets(count: number, workMs: number): string[] {
  return ['--set', `count=${count}`, '--set', `workMs=${workMs}`];
}

function options() {
  return { run: 'first', worker: 'main', facts: record, clock: manualClock() };
}

/** What Prometheus' own tool has against a page; nothing where it is not installed. */
function promtoolSays(page: string): string {
  return installed ? promtool(['check', 'metrics'], page).said : '';
}
