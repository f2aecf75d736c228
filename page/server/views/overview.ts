/** The data of a run's first page: the mill, six curves, and the settings it was started with. */
import type { RunFacts } from '../../../summary/facts/index.ts';
import type { Mill, OverviewData, SettingRow } from '../../wire/index.ts';
import { topicAt } from '../run/mill.ts';
import type { Moment } from '../run/moment.ts';
import { shown } from '../run/shown.ts';
import type { Asked } from './asked.ts';
import { curveNames, seriesOf, whole } from './metrics.ts';

const BUCKETS = 400;
const SETTINGS_MAX = 500;
const VALUE_MAX = 500;

const steering = [
  ['change a setting', 'set RUN temperature=0.8'],
  ['start nothing new', 'pause RUN'],
  ['resume', 'resume RUN'],
  ['stop cleanly', 'stop RUN'],
] as const;

export async function data({ view, moment }: Asked): Promise<OverviewData> {
  const { facts, mill } = await view.look();
  const { name, typed } = view.viewed;
  const range = { ...whole, most: BUCKETS };
  const { series, absent } = seriesOf(view, curveNames(view), range, moment);
  return {
    ...(await view.frame(moment, `millrace top ${name}`)),
    cursor: view.cursor.text,
    behind: view.behind,
    mill: moment.at === null ? mill : millAt(mill, moment),
    curves: series,
    absent,
    settings: settingsOf(facts),
    steering: steering.map(([about, command]) => ({
      about,
      command: typed(`millrace ${command.replace('RUN', name)}`),
    })),
  };
}

/** What is known about that moment: how many records, but no rates; the history of stages is not kept. */
export function millAt(mill: Mill, moment: Moment): Mill {
  const { step, version, atMs } = moment.at!;
  return {
    ...mill,
    atMs,
    rates: 'none',
    health: {
      level: 'note',
      text: `As of step ${step}. What each stage had done by then is not kept.`,
      stage: null,
    },
    step,
    version,
    policyLag: null,
    reward: null,
    tokensPerSecond: { generated: null, trained: null },
    sources: mill.sources.map((source) => ({
      ...source,
      items: null,
      perSecond: 0,
      done: false,
      held: 0,
    })),
    stages: mill.stages.map((stage) => ({
      ...stage,
      finished: false,
      shares: null,
      full: 0,
      in: 0,
      out: 0,
      inPerSecond: 0,
      outPerSecond: 0,
      inflight: 0,
      inflightMax: 0,
      waiting: 0,
      lag: 0,
      lagMs: null,
      oldestMs: 0,
      isOld: false,
    })),
    topics: mill.topics.map((topic) => topicAt(topic, moment)),
    workers: [],
    weights: { version, step, atMs },
    tools: null,
    selection: null,
  };
}

/** By dotted key; settings that are not the job's default come first. */
export function settingsOf({ settings, changed = {} }: RunFacts): SettingRow[] {
  const rows = flat(settings, '').map(([name, value]): SettingRow => {
    const from = Object.hasOwn(changed, name) ? changed[name]!.from : null;
    return { name, value: shown(value, { textMax: VALUE_MAX }).value, from };
  });
  return rows
    .sort((a, b) => Number(b.from !== null) - Number(a.from !== null) || (a.name < b.name ? -1 : 1))
    .slice(0, SETTINGS_MAX);
}

export function flat(value: unknown, under: string): [string, unknown][] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject) return [[under, value]];
  return Object.entries(value).flatMap(([name, field]) =>
    flat(field, under === '' ? name : `${under}.${name}`),
  );
}
