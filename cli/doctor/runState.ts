/**
 * `run.json` against the log: a run that says it is running has a writer, one that is done has no work left.
 */
import { counted } from '../../base/text/index.ts';
import type { Finding } from '../../streams/doctor/index.ts';
import { Progress, type Standing } from '../../streams/index.ts';
import type { RunState } from '../../summary/index.ts';
import type { RunRecord } from '../runRecord.ts';

export interface RunStanding {
  readonly name: string;
  readonly record: RunRecord;
  /** The state's name in `top` and on the page. */
  readonly state: RunState;
  readonly standing: Standing;
  /** The process that writes the log, if any. */
  readonly writer: { readonly pid: number; readonly host: string } | undefined;
}

export function checkRunState(of: RunStanding): readonly Finding[] {
  const { name, record, state, standing, writer } = of;
  const findings: Finding[] = [];
  const tell = (what: string, advice: string): void => {
    findings.push({ rule: 'run-state', where: 'run.json', what, advice });
  };
  const goOn = `resume with: millrace run ${record.job.file} --run ${name}`;
  if (state === 'silent') {
    tell('says that the run is running, but no process is writing its log: it was killed', goOn);
  }
  if (record.status !== 'running' && writer !== undefined) {
    const who = `process ${writer.pid} on ${writer.host}`;
    tell(
      `says ${record.status}, but ${who} is writing the log`,
      'wait for that process, or stop it',
    );
  }
  if (record.status === 'done') {
    for (const [topic, group, left] of unsettled(standing)) {
      const what = `says done, but stage ${group} has not finished ${counted(left, 'record')} of ${topic}`;
      tell(what, `set "status" in run.json to "stopped", then ${goOn}`);
    }
  }
  return findings;
}

function unsettled({ ends, settled }: Standing): [topic: string, group: string, left: number][] {
  return Object.entries(settled).flatMap(([topic, groups]) =>
    Object.entries(groups).flatMap(([group, state]): [string, string, number][] => {
      const left = (ends[topic] ?? 0) - new Progress(state).settled;
      return left > 0 ? [[topic, group, left]] : [];
    }),
  );
}
