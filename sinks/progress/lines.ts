/** Progress as lines of text. */
import { counted } from '../../base/text/index.ts';
import type { ProgressEvent, ProgressStatus } from './events.ts';

type Numbers = ProgressEvent['numbers'];
type Shown = readonly [name: string, show: (value: number, numbers: Numbers) => string];

const percent = (value: number): string => `${(value * 100).toFixed(0)} %`;

const OF_STEP: readonly Shown[] = [
  ['reward/mean', (value) => `reward ${value.toFixed(3)}`],
  ['accuracy/mean', (value) => `accuracy ${percent(value)}`],
  ['tools/mean', (value) => `tool calls ${value.toFixed(2)}`],
  ['step/left_out', () => 'left out'],
  ['examples', (value) => counted(value, 'example', value.toFixed(0))],
  ['loss', (value) => `loss ${value.toFixed(4)}`],
  ['heldout/loss', (value) => `held-out loss ${value.toFixed(4)}`],
  ['finetune/entropy', (value) => `held-out entropy ${value.toFixed(3)}`],
  ['entropy/mean', (value) => `entropy ${value.toFixed(3)}`],
  ['policy/lag', (value) => (value === 0 ? '' : `lag ${value.toFixed(1)}`)],
  ['thr/gen_tok_s', (value) => `${count(value)} tok/s out`],
  ['thr/train_tok_s', (value) => `${count(value)} tok/s trained`],
];

const OF_EVALUATION: readonly Shown[] = [
  ['eval/accuracy', (value) => `accuracy ${percent(value)}`],
  ['eval/tools_mean', (value) => `tool calls ${value.toFixed(2)}`],
  [
    'eval/tools_mean_correct',
    (value, numbers) => `${numbers['eval/accuracy'] === 0 ? '–' : value.toFixed(2)} when right`,
  ],
  ['eval/efficiency', (value) => `efficiency ${percent(value)}`],
  ['eval/format_valid', (value) => `valid format ${percent(value)}`],
];

/** Those with known values, in order. */
function shown(list: readonly Shown[], numbers: Numbers): string[] {
  return list
    .map(([name, show]) => (numbers[name] === undefined ? '' : show(numbers[name], numbers)))
    .filter((text) => text !== '');
}

export function eventLine(event: ProgressEvent): string {
  const { kind, round, roundName, step, steps, sampling, numbers } = event;
  if (kind === 'evaluation') {
    const asked = counted(numbers['eval/questions'] ?? 0, 'held-out question');
    const name = round === 0 ? roundName : `after ${roundName}`;
    return [name, asked, sampling, ...shown(OF_EVALUATION, numbers)].filter(Boolean).join(' · ');
  }
  const of = steps === null ? '' : ` of ${steps}`;
  return [`${roundName} · step ${step}${of}`, ...shown(OF_STEP, numbers)].join(' · ');
}

/** A log line about what is going on. */
export function statusLine(status: ProgressStatus): string {
  const left = leftText(status.leftMs);
  const done = doneText(status.share);
  return [
    ...measuringText(status),
    pulseText(status.pulse),
    ...(left === '' || done === '' ? [] : [`${done} done`, left]),
  ].join(' · ');
}

/** `measuring the base policy, 48 of 150`; empty if nothing is being measured. */
export function measuringText({ measuring }: Pick<ProgressStatus, 'measuring'>): string[] {
  if (measuring === null) return [];
  const { name, done, of } = measuring;
  return [`measuring ${name}, ${done} of ${of}`];
}

/** Empty while unknown or negligible. */
export function doneText(share: number | null): string {
  return share === null || Math.round(share * 100) === 0 ? '' : percent(share);
}

function pulseText(pulse: ProgressStatus['pulse']): string {
  if (typeof pulse === 'string') return pulse;
  const { version, inflight, generatedTokens } = pulse;
  return version < 0
    ? 'loading the policy'
    : `policy ${version} · ${counted(inflight, 'group')} in flight · ${counted(generatedTokens, 'token')} generated`;
}

/** `about 3 min left`; empty if unknown. */
export function leftText(leftMs: number | null): string {
  if (leftMs === null) return '';
  const minutes = leftMs / 60_000;
  if (minutes < 1) return 'under a minute left';
  return minutes < 120
    ? `about ${Math.round(minutes)} min left`
    : `about ${(minutes / 60).toFixed(1)} h left`;
}

/** `7920`, `12.3k` */
export function count(value: number): string {
  return value < 10_000 ? value.toFixed(0) : `${(value / 1000).toFixed(1)}k`;
}
