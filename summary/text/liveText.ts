/** The current state of a run as lines of text, for a terminal or your own log. */

import { colours, folded, textTable, wrapped } from '../../base/terminal/index.ts';
import { counted, visible } from '../../base/text/index.ts';
import { duration, fixed, rate, type Show, size } from '../format/numbers.ts';
import { isLive, isOld, type Live, type WorkerRow } from '../live.ts';
import type { RunState } from '../state.ts';
import { stagesTable } from '../tables/stages.ts';

const WORKERS_MAX = 16;

export interface LiveLook {
  /** Characters of a line; left out = as many as the table has. */
  readonly columns?: number;
  readonly colour?: boolean;
}

export function liveLines(live: Live, { columns, colour = false }: LiveLook = {}): string[] {
  const { warn } = colours(colour);
  const fitting = (line: string): string[] => folded(line, columns ?? line.length + 1).split('\n');
  return [
    ...headLines(live, colour).flatMap(fitting),
    ...workerLines(live).flatMap(fitting),
    ...notes(live).flatMap((line) => wrapped(line, columns ?? line.length).map(warn)),
    '',
    ...stageLines(live, { columns, colour }),
  ];
}

/** A stage that is full holds up those before it. */
const FULL = 0.9;

function stageLines(
  live: Live,
  { columns, colour }: { readonly columns: number | undefined; readonly colour: boolean },
): string[] {
  const table = stagesTable(live);
  if (table.rows.length === 0) {
    return ['no process has reported its stages yet; for records and lag see millrace topics'];
  }
  const { dim, warn } = colours(colour);
  const [head = '', ...rows] = textTable(table, columns).split('\n');
  const busy = [...live.sources.map(() => false), ...live.stages.map(({ full }) => full >= FULL)];
  return [dim(head), ...rows.map((row, i) => (busy[i] === true ? warn(row) : row))];
}

const statePaint = {
  live: 'name',
  paused: 'warn',
  waiting: 'warn',
  silent: 'bad',
  unknown: 'warn',
  done: 'good',
  stopped: 'warn',
  failed: 'bad',
  damaged: 'bad',
} as const satisfies Record<RunState, 'name' | 'good' | 'warn' | 'bad'>;

/** What a state means if a user may not expect it, and what to do. */
const ADVICE: Readonly<Partial<Record<RunState, (run: string) => string>>> = {
  paused: (run) => `paused: starts nothing new; resume with millrace resume ${run}`,
  damaged: (run) => `some of its records cannot be read; see millrace doctor ${run}`,
  silent: (run) =>
    `no process is reporting: it was probably killed; resume with millrace run --run ${run}`,
};

/** What deserves attention about single parts: records in progress for unusually long, dropped items. */
function notes({ stages, sources }: Live): string[] {
  const old = stages.filter(isOld).map(({ name, oldestMs, usualMs }) => {
    const usual = usualMs === null ? '' : `, usually ${duration(usualMs / 1000)}`;
    return `${visible(name)}: one record has been in progress for ${duration(oldestMs / 1000)}${usual}`;
  });
  const dropping = sources
    .filter(({ dropped }) => dropped > 0)
    .map(
      ({ name, dropped }) =>
        `${visible(name)}: dropped ${counted(dropped, 'item')} for lack of room`,
    );
  return [...old, ...dropping];
}

function headLines(live: Live, colour: boolean): string[] {
  const { bold, ...paint } = colours(colour);
  const { run, job, state, upMs, version, step, tokensPerSecond } = live;
  const { generated, trained } = tokensPerSecond;
  const numbers = [
    part('version', version, String),
    part('step', step, String),
    part('reward', live.reward, fixed(3)),
    part('policy lag', live.policyLag, fixed(1)),
    part('generated', generated, (value) => `${rate(value)} tok/s`),
    part('trained', trained, (value) => `${rate(value)} tok/s`),
    part('dead letters', live.deadLetters === 0 ? null : live.deadLetters, String),
  ].filter((text) => text !== '');
  return [
    `${bold(run)} · ${visible(job)} · ${paint[statePaint[state]](state)} · ${duration(upMs / 1000)}`,
    ...(ADVICE[state] === undefined ? [] : [ADVICE[state](visible(run))]),
    ...(numbers.length === 0 ? [] : [numbers.join(' · ')]),
  ];
}

function part(name: string, value: number | null, show: Show): string {
  return value === null ? '' : `${name} ${show(value)}`;
}

/** The live ones first; if there are many, those that reported last. */
function workerLines({ workers }: Live): string[] {
  const byReport = [...workers].sort((a, b) => a.silentMs - b.silentMs);
  const more = byReport.length - WORKERS_MAX;
  return [
    ...byReport.slice(0, WORKERS_MAX).map(workerLine),
    ...(more > 0 ? [`… ${more} more ${more === 1 ? 'process' : 'processes'}`] : []),
  ];
}

function workerLine(row: WorkerRow): string {
  const { worker, host, pid, memoryBytes, silentMs, ended } = row;
  const state = ended
    ? 'ended'
    : isLive(row)
      ? `memory ${size(memoryBytes)}`
      : `silent for ${duration(silentMs / 1000)}`;
  return `${visible(worker)} · process ${pid} on ${visible(host)} · ${state}`;
}
