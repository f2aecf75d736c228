/** The figures of an evaluation as people read them; text and page share them. */
import type { Evaluation } from './summary.ts';

export interface Figure {
  readonly key: keyof Evaluation;
  readonly label: string;
  readonly show: (value: number) => string;
  /** Which way is better: 1 = up, -1 = down, 0 = neither. */
  readonly better: 1 | -1 | 0;
}

const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
const fixed = (digits: number) => (value: number) => value.toFixed(digits);

export const figures: readonly Figure[] = [
  { key: 'accuracy', label: 'accuracy', show: percent, better: 1 },
  { key: 'meanToolCalls', label: 'tool calls', show: fixed(2), better: -1 },
  { key: 'meanToolCallsCorrect', label: 'tool calls when right', show: fixed(2), better: -1 },
  { key: 'efficiency', label: 'efficiency', show: percent, better: 1 },
  { key: 'formatValid', label: 'valid format', show: percent, better: 1 },
  { key: 'tokens', label: 'tokens', show: fixed(0), better: -1 },
  { key: 'questions', label: 'questions', show: fixed(0), better: 0 },
];

/** A dash where there is no number yet. */
export function shown(value: number | null | undefined, show: (value: number) => string): string {
  return value === null || value === undefined ? '–' : show(value);
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}
