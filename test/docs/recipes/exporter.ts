/** A run's metrics carried by the exporter that `--to` names, in two goes: each is there once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../base/clock.ts';
import { sleepClock } from '../../../base/sleepClock.ts';
import { parseTarget, targetForms } from '../../../cli/metrics/targets.ts';
import { exporters } from '../../../sinks/exporters/exporters.ts';
import { openLog } from '../../../streams/embedded/openLog.ts';
import { topics } from '../../../topics/index.ts';
import { metric } from '../../support/records.ts';

export default async function run(folder: string): Promise<unknown> {
  const target = parseTarget('lines:metrics.jsonl', folder);
  if (target.kind !== 'outside') throw new Error('no exporter');
  const log = await openLog({ folder: join(folder, 'log'), mode: 'write' });
  const about = { run: 'r', job: 'j', seed: 1, millrace: '0', startedMs: 1, settings: {} };
  const counts: number[] = [];
  for (const steps of [[0, 1, 2], [3]]) {
    await log.commit((tx) => {
      for (const step of steps) tx.append(topics.metrics, metric({ step }));
    });
    const carrier = await exporters[target.exporter]!.open(target.where, {
      ...{ about, folder, clock: systemClock, notice: () => undefined },
      ...{ patienceMs: 0, content: false },
    });
    const stop = new AbortController().signal;
    const end = async () => ({ status: 'done', endedMs: 2 }) as const;
    const clock = sleepClock(systemClock);
    counts.push(await carrier.carry({ log, clock, over: null, stop, end }));
  }
  await log.close();
  const rows = readFileSync(join(folder, 'metrics.jsonl'), 'utf8').trim().split('\n');
  const steps = rows.map((row) => JSON.parse(row).step).filter((step) => step !== undefined);
  return { counts, steps, helped: targetForms().includes('lines:FILE') };
}
