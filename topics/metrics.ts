/** `metrics`: one number at one step. */
import { formerly, real, record, text, type ValueOf, whole } from '../streams/contracts/index.ts';
import { defineRunTopic } from './defineRunTopic.ts';

export const metric = record('Metric', {
  name: text,
  step: whole,
  round: formerly('stage', whole),
  value: real,
  atMs: real,
});
/** One number at one step. Names as in docs/metrics.md. */
export interface Metric extends ValueOf<typeof metric> {}

/** Earlier names of metrics. */
const FORMER: Readonly<Record<string, string>> = { 'stage/share': 'round/share' };

const nameNow = (name: string): string => FORMER[name] ?? name;

/** These differ whenever a run is repeated. */
const TIMED = /^(time|thr)\/|(_ms|_s)$/;

/** Whether a metric measures time or throughput. */
export const isTimeMetric = (name: string): boolean => TIMED.test(name);

export const metrics = defineRunTopic<Metric>({
  name: 'metrics',
  about: 'One number at one step. Any stage writes it; reports and millrace top read it.',
  shape: metric,
  key: (value) => value.name,
  version: 2,
  onePartition: true,
  anyOrder: true,
  identity: ({ name, step, round }) => `${nameNow(name)} of step ${step}, round ${round}`,
  moment: ({ step }) => step,
  kindOf: ({ name }) => nameNow(name),
  isTime: ({ name }) => isTimeMetric(name),
  // Older versions counted every unchecked format as valid; formats are compared in `scored`.
  asThen: (made, recorded) => ({
    ...made,
    name: recorded.name,
    value: made.name === 'eval/format_valid' && recorded.value === 1 ? 1 : made.value,
  }),
  keyName: 'name',
  line: ({ name, step, value }) => `${name} = ${value} at step ${step}`,
  links: ({ name }) => [{ label: 'curve', path: `metrics?m=${encodeURIComponent(name)}` }],
});
