/**
 * Configuration, alerts and dashboard before Prometheus itself: what it checks, and what it answers once it
 * has read a run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from '@jest/globals';
import { exportRun } from '../../cli/metrics/runExporter.ts';
import { freePort } from '../../scripts/kafka/broker.ts';
import type { Log } from '../../streams/log.ts';
import { topics } from '../../topics/index.ts';
import { record } from '../cli/support/syntheticRun.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freshLog } from '../support/freshLog.ts';
import { promtool, withPrometheus } from '../support/prometheus.ts';
import { metric, rollout, samples } from '../support/records.ts';
import { until } from '../support/until.ts';

let log: Log;
freshLog((fresh) => {
  log = fresh;
});

describe('promtool', () => {
  withPrometheus('accepts the configuration and the rules', () => {
    expect(promtool(['check', 'config', 'docker/prometheus/prometheus.yml'])).toMatchObject({
      ok: true,
    });
  });

  withPrometheus('sees alerts fire when they should, and not before', () => {
    const { ok, said } = promtool(['test', 'rules', 'test/docker/alerts.promtool.yml']);
    expect([ok, said]).toEqual([true, expect.stringContaining('SUCCESS')]);
  });
});

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly result: readonly unknown[] };
}

/**
 * What may have no answer for a run that has just begun: nothing has changed, no one reads, there is no such
 * stage.
 */
const MAY_BE_EMPTY = /changes\(|stage="trainer"|stage_lag|source_|eval\/|heldout|loop_gap/;

describe('Prometheus', () => {
  withPrometheus('reads a run and answers every query of the dashboard', async () => {
    const exporter = await exportRun(
      { host: '127.0.0.1', port: 0 },
      { run: 'first', worker: 'main', facts: record, clock: { now: () => Date.now() } },
    );
    exporter.leads(log);
    const [folder, port] = [temporaryFolder(), await freePort()];
    const ask = (path: string) => fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const query = async (expr: string): Promise<Answer> =>
      (await (await ask(`query?query=${encodeURIComponent(expr)}`)).json()) as Answer;
    const config = join(folder.path, 'prometheus.yml');
    writeFileSync(config, configuration(new URL(exporter.url!).host));
    const prometheus = spawn(
      'prometheus',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder.path, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
    const ended = once(prometheus, 'exit');
    try {
      await write(1);
      await until(async () => {
        await write(1);
        exporter.onStats(stats());
        const scraped = await query('min(count_over_time(millrace_run_info[1m]))').catch(
          () => null,
        );
        const [first] = (scraped?.data.result ?? []) as { value: [number, string] }[];
        return Number(first?.value[1] ?? 0) >= 5;
      });
      const dashboard = JSON.parse(
        readFileSync('docker/grafana/dashboards/millrace.json', 'utf8'),
      ) as { panels: { targets?: { expr: string }[] }[] };
      const asked = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
      const wrong: string[] = [];
      for (const expr of asked) {
        const answer = await query(expr.replace(/\$(run|stage)/g, '.*'));
        const empty = answer.status === 'success' && answer.data.result.length === 0;
        if (answer.status !== 'success') wrong.push(`${expr}: ${answer.error}`);
        else if (empty && !MAY_BE_EMPTY.test(expr)) wrong.push(`${expr}: no answer`);
      }
      expect(wrong).toEqual([]);
    } finally {
      prometheus.kill('SIGTERM');
      await ended;
      await exporter.close();
      folder.remove();
    }
  });
});

const NAMES = ['reward/mean', 'entropy/mean', 'loss', 'logprob/diff_max', 'policy/lag'];
let settled = 0;

async function write(version: number): Promise<void> {
  await log.commit((tx) => {
    tx.append(topics.rollouts, rollout({ finish: 'answer', endedMs: 500 }));
    tx.append(topics.toolCalls, { ...samples.toolCalls.full, cached: false });
    tx.append(topics.selected, samples.selected.full);
    tx.append(topics.weights, { ...samples.weights.full, version });
    for (const name of NAMES) tx.append(topics.metrics, metric({ name, value: 1 }));
  });
}

function stats() {
  settled += 1;
  const stage = {
    name: 'rollout',
    from: 'questions',
    to: 'rollouts',
    in: settled + 1,
    out: settled,
    settled,
    inflight: 1,
    inflightMax: 4,
    waiting: 0,
    oldestMs: 10,
    idleMs: 0,
    fullMs: settled,
    busyMs: settled,
    blockedMs: 0,
    pacedMs: 0,
    commitMs: 1,
  };
  return { atMs: Date.now(), stages: [stage], sources: [] };
}

function configuration(target: string): string {
  return [
    'global: { scrape_interval: 1s, scrape_timeout: 1s }',
    'scrape_configs:',
    '  - job_name: millrace',
    `    static_configs: [{ targets: ["${target}"] }]`,
  ].join('\n');
}
