/** Plans as text: a column for each, and how many steps a day each makes as bars. */

import { table } from '../../base/terminal/index.ts';
import { thousands } from '../../base/text/index.ts';
import { activities } from './meter.ts';
import type { Planned } from './plannedRun.ts';

/** A plan under a name. */
export interface Case {
  readonly name: string;
  readonly lagMax: number;
  readonly planned: Planned;
}

type Row = readonly [what: string, value: (planned: Planned) => string];

const ROWS: readonly Row[] = [
  ['a step', ({ stepSeconds }) => seconds(stepSeconds)],
  ['steps a day', ({ stepsADay }) => short(stepsADay)],
  ['generated', ({ generated }) => `${short(generated)} tokens/s`],
  ['trained on', ({ trained }) => `${short(trained)} tokens/s`],
  ['servers idle', ({ idle }) => percent(idle.servers)],
  ['trainer idle', ({ idle }) => percent(idle.trainer)],
  ...activities.map((name): Row => [`  ${name}`, ({ time }) => percent(time[name])]),
  ['bottleneck', ({ bottleneck }) => bottleneck],
  ['lag of rollouts (most)', ({ lag }) => lags(lag)],
  ['rollouts in flight', ({ rolloutsInFlight }) => short(rolloutsInFlight)],
  ['rollouts a second', ({ rolloutsASecond }) => short(rolloutsASecond)],
  ['weights loaded in', ({ weightsSeconds }) => seconds(weightsSeconds)],
  ['written to the log', ({ log }) => `${bytes(log.bytesASecond)}/s`],
  ['records a second', ({ log }) => short(log.recordsASecond)],
  ['brokers take', ({ log }) => `${bytes(log.brokerBytesASecond)}/s`],
  ['disk a day', ({ log }) => bytes(log.bytesADay)],
  ['cores of the leader', ({ cores }) => short(cores.leader)],
  ['cores for tools', ({ cores }) => short(cores.tools)],
];

const BAR = 40;

export function planText(cases: readonly Case[]): string {
  const head = ['', ...cases.map(({ name }) => name)];
  const lag = ['lagMax', ...cases.map(({ lagMax }) => String(lagMax))];
  const rows = ROWS.map(([what, value]) => [what, ...cases.map(({ planned }) => value(planned))]);
  const shown = rows.filter(([what, ...cells]) => !what!.startsWith('  ') || cells.some(isSome));
  const most = Math.max(...cases.map(({ planned }) => planned.stepsADay));
  const bars = cases.map(({ name, lagMax, planned: { stepsADay } }) => [
    name,
    `lagMax ${lagMax}`,
    short(stepsADay),
    '█'.repeat(Math.max(1, Math.round((BAR * stepsADay) / most))),
  ]);
  const parts = [table([head, lag, ...shown], ['left', ...cases.map(() => 'right' as const)])];
  if (cases.length > 1) {
    parts.push(`steps a day\n${table(bars, ['left', 'left', 'right'])}`);
  }
  const scaled = cases.find(({ planned }) => planned.oneIn > 1);
  if (scaled !== undefined) {
    parts.push(
      `${scaled.name}: one in ${scaled.planned.oneIn} servers and rollouts was simulated, and multiplied`,
    );
  }
  return `${parts.join('\n\n')}\n`;
}

function isSome(cell: string): boolean {
  return cell !== '0 %';
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** On average, and the most. */
function lags(shares: readonly number[]): string {
  const mean = shares.reduce((sum, share, lag) => sum + share * lag, 0);
  return `${short(mean)} (${shares.length - 1})`;
}

function seconds(value: number): string {
  return value >= 7200 ? `${short(value / 3600)} h` : `${short(value)} s`;
}

function short(value: number): string {
  return value >= 100 ? thousands(value) : String(+value.toPrecision(2));
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

function bytes(value: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, value)) / 3));
  return `${short(value / 1000 ** unit)} ${UNITS[unit]}`;
}
