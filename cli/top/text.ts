/** A frame as lines of text, for a terminal or a log of one's own. */
import { duration } from '../report/figures.ts';
import { size } from '../size.ts';
import { table } from '../table.ts';
import { visible } from '../tap/pretty.ts';
import { type Frame, isLive, type SourceRow, type StageRow, type WorkerRow } from './frame.ts';

const HEAD = [
  ...['stage', 'reads', 'in/s', 'out/s', 'in flight', 'groups', 'lag', 'waits', 'full', 'commits'],
];

const WORKERS_MAX = 16;

export function frameLines(frame: Frame): string[] {
  const rows = [...frame.sources.map(sourceCells), ...frame.stages.map(stageCells)];
  const parts =
    rows.length === 0
      ? 'no process has said anything about its stages yet; millrace topics tells records and lag'
      : table(
          [HEAD, ...rows],
          HEAD.map((_, column) => (column < 2 ? 'left' : 'right')),
        );
  return [...headLines(frame), ...workerLines(frame), '', ...parts.split('\n')];
}

function headLines(frame: Frame): string[] {
  const { run, job, status, upMs, version, step, tokensPerSecond } = frame;
  const { generated, trained } = tokensPerSecond;
  const numbers = [
    part('version', version, String),
    part('step', step, String),
    part('reward', frame.reward, (value) => value.toFixed(3)),
    part('policy lag', frame.policyLag, (value) => value.toFixed(1)),
    part('generated', generated, (value) => `${short(value)} tok/s`),
    part('trained', trained, (value) => `${short(value)} tok/s`),
    part('dead letters', frame.deadLetters === 0 ? null : frame.deadLetters, String),
  ].filter((text) => text !== '');
  return [
    `${run} · ${visible(job)} · ${status} · ${duration(upMs / 1000)}`,
    ...(numbers.length === 0 ? [] : [numbers.join(' · ')]),
  ];
}

function part(name: string, value: number | null, show: (value: number) => string): string {
  return value === null ? '' : `${name} ${show(value)}`;
}

/** The live ones first; of many, those who spoke last. */
function workerLines({ workers }: Frame): string[] {
  const told = [...workers].sort((a, b) => a.silentMs - b.silentMs);
  const more = told.length - WORKERS_MAX;
  return [
    ...told.slice(0, WORKERS_MAX).map(workerLine),
    ...(more > 0 ? [`… ${more} processes more`] : []),
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

function stageCells(row: StageRow): string[] {
  return [
    ...[row.name, row.from, short(row.inPerSecond), short(row.outPerSecond)],
    ...[`${row.inflight}/${row.inflightMax}`, row.waiting === 0 ? '' : String(row.waiting)],
    String(row.lag),
    ...[row.waits, row.full, row.commits].map(percent),
  ];
}

function sourceCells({ name, perSecond, items, done, held }: SourceRow): string[] {
  const rate = done ? 'done' : short(perSecond);
  return [name, `(source, ${items})`, '', rate, '', '', '', '', percent(held), ''];
}

function percent(value: number): string {
  return `${Math.round(100 * value)} %`;
}

/** Two digits that count where it is small. */
function short(value: number): string {
  return value >= 10 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}
