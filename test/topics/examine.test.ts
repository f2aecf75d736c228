import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Finding } from '../../streams/doctor/finding.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import type { Log, Standing } from '../../streams/log.ts';
import { upTo } from '../../streams/replay/places.ts';
import type { Topic } from '../../streams/topic.ts';
import {
  allTopics,
  examineRun,
  Invariants,
  type Origin,
  type Question,
  topics,
} from '../../topics/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type RunRecords, readRun, tinyCalibration } from '../support/tinyCalibration.ts';

interface Recorded {
  readonly topic: Topic<unknown>;
  readonly value: unknown;
}

let folder: ReturnType<typeof temporaryFolder>;
let run: RunRecords;
let records: readonly Recorded[];
let standing: Standing;

async function withLog<T>(path: string, use: (log: Log) => Promise<T>): Promise<T> {
  const log = await openLog({ folder: join(path, 'log'), mode: 'read' });
  return use(log).finally(() => log.close());
}

beforeAll(async () => {
  folder = temporaryFolder();
  await tinyCalibration({ folder: folder.path, settings: { branching: 'aepo' } });
  run = await readRun(folder.path);
  await withLog(folder.path, async (log) => {
    standing = await log.standing!();
    const all: Recorded[] = [];
    for (const topic of allTopics) {
      for await (const { value } of upTo(log, topic, standing.ends[topic.name] ?? 0)) {
        all.push({ topic, value });
      }
    }
    records = all;
  });
});
afterAll(() => folder.remove());

/** What the invariants find when `change` has gone over the records. */
function findings(
  change: (all: readonly Recorded[]) => readonly Recorded[],
  origin?: Origin,
): readonly Finding[] {
  const all = change(records);
  const of = (topic: Topic<unknown>) => all.filter((record) => record.topic.name === topic.name);
  const ends = Object.fromEntries(allTopics.map((topic) => [topic.name, of(topic).length]));
  const settled = Object.fromEntries(
    Object.entries(standing.settled).map(([topic, groups]) => [
      topic,
      Object.fromEntries(
        Object.keys(groups).map((group) => [group, { low: ends[topic]!, above: [] }]),
      ),
    ]),
  );
  const invariants = new Invariants({ ends, settled, marks: {} }, origin);
  for (const topic of allTopics) {
    for (const [offset, { value }] of of(topic).entries()) {
      invariants.see(topic, value, { partition: 0, offset });
    }
  }
  return invariants.findings();
}

/** Changes the records of one topic. */
const within =
  <T>(topic: Topic<T>, change: (values: readonly T[]) => readonly T[]) =>
  (all: readonly Recorded[]): readonly Recorded[] => {
    const own = all.filter((record) => record.topic.name === topic.name);
    const others = all.filter((record) => record.topic.name !== topic.name);
    const changed = change(own.map(({ value }) => value as T));
    return [...others, ...changed.map((value) => ({ topic: topic as Topic<unknown>, value }))];
  };

const without =
  <T>(place: number) =>
  (values: readonly T[]): readonly T[] =>
    values.filter((_, i) => i !== place);

const first =
  <T>(change: (value: T) => T) =>
  ([value, ...rest]: readonly T[]): readonly T[] => [change(value!), ...rest];

describe('the invariants of a run', () => {
  test('hold for a finished run', () => {
    expect(findings((all) => all)).toEqual([]);
  });

  test('do not ask for versions and measurements in a run made from the records of another', () => {
    const measured = (all: readonly Recorded[]): readonly Recorded[] => {
      const of = (question: Question): boolean => question.phase === 'evaluate';
      const kept = within(topics.rollouts, (values) => values.filter((one) => !of(one.question)));
      const scored = within(topics.scored, () => []);
      const selected = within(topics.selected, () => []);
      const calls = within(topics.toolCalls, () => []);
      const batches = within(topics.batches, () => []);
      const weights = within(topics.weights, (values) => values.slice(0, 1));
      const changes = [kept, scored, selected, calls, batches, weights];
      return changes.reduce((records, change) => change(records), all);
    };
    const rules = (origin: Origin) => [
      ...new Set(findings(measured, origin).map(({ rule, where }) => `${rule} ${where}`)),
    ];
    const own = rules({});
    expect(own).toContain('accounted-for questions');
    expect(own).toContain('reference rollouts');
    const remade = rules({ replayed: true });
    expect(remade).not.toContain('reference rollouts');
    expect(
      findings(measured, { replayed: true })
        .map(({ what }) => what)
        .join(),
    ).not.toContain('/evaluate-');
  });

  test('find a reward that is not a finite number', () => {
    const broken = within(
      topics.scored,
      first((value) => ({
        ...value,
        rewards: value.rewards.map((reward, i) =>
          i === 1 ? { ...reward, parts: { ...reward.parts, brief: Number.NaN } } : reward,
        ),
      })),
    );
    expect(findings(broken)).toEqual([
      expect.objectContaining({
        rule: 'finite',
        where: 'scored',
        what: expect.stringMatching(
          /brief NaN\) for rollout 1: a step that uses it trains nothing$/,
        ),
        advice: expect.stringContaining('--from scored'),
      }),
    ]);
  });

  test.each([
    ['questions', topics.questions],
    ['rollouts', topics.rollouts],
    ['tool-calls', topics.toolCalls],
    ['scored', topics.scored],
    ['selected', topics.selected],
    ['batches', topics.batches],
    ['weights', topics.weights],
    ['metrics', topics.metrics],
  ])('find a duplicate record of %s', (name, topic) => {
    const twice = within(topic as Topic<unknown>, (values) => [...values, values[1]!]);
    const found = findings(twice);
    const last = standing.ends[name]!;
    expect(found.map(({ rule }) => rule)).toContain('once');
    const line = found.find(({ rule }) => rule === 'once')!;
    expect([line.where, line.what]).toEqual([
      name,
      expect.stringMatching(new RegExp(`occurs twice, at offsets 1 and ${last}`)),
    ]);
  });

  const cases: readonly (readonly [string, string, string, Parameters<typeof findings>[0]])[] = [
    ['a step that is missing', 'gapless', 'step 2 is missing', within(topics.batches, without(1))],
    ['a version that is missing', 'gapless', 'version 1 is', within(topics.weights, without(1))],
    [
      'a step without weights',
      'accounted-for',
      'made no weights',
      within(topics.weights, (all) => all.slice(0, -1)),
    ],
    [
      'a rollout that is missing',
      'group-whole',
      'of 2 rollouts; a group is written as a whole',
      within(topics.rollouts, without(0)),
    ],
    [
      'a question nobody answered',
      'accounted-for',
      'neither rollouts',
      within(topics.questions, (all) => [...all, { ...all[0]!, id: 'new' }]),
    ],
    [
      'a group nobody scored',
      'accounted-for',
      'never scored',
      within(topics.scored, (all) => all.slice(0, -1)),
    ],
    [
      'a reference to nowhere',
      'reference',
      'rollouts@999, where there is no record',
      within(
        topics.scored,
        first((group) => ({
          ...group,
          rollouts: group.rollouts.map(() => ({ partition: 0, offset: 999 })),
        })),
      ),
    ],
    [
      'a reference to another question',
      'reference',
      'which is about',
      within(
        topics.selected,
        first((one) => ({ ...one, scored: { partition: 0, offset: one.scored.offset + 1 } })),
      ),
    ],
    [
      'tokens without log-probs',
      'rollout-whole',
      'log-probs',
      within(
        topics.rollouts,
        first((one) => ({ ...one, logProbs: one.logProbs.slice(1) })),
      ),
    ],
    [
      'segments with a hole',
      'rollout-whole',
      'has a segment that starts at',
      within(
        topics.rollouts,
        first((one) => ({
          ...one,
          segments: one.segments.map((part) => ({ ...part, start: part.start + 1 })),
        })),
      ),
    ],
    [
      'a version that never was',
      'reference',
      'version 77',
      within(
        topics.rollouts,
        first((one) => ({
          ...one,
          segments: one.segments.map((part) => ({ ...part, version: 77 })),
        })),
      ),
    ],
    [
      'a call of nobody',
      'reference',
      'call x/explore-1/0#0',
      within(topics.toolCalls, (all) => [
        ...all,
        { ...all[0]!, rolloutId: 'x/explore-1/0', turn: 0 },
      ]),
    ],
    [
      'a group that two steps train on',
      'trained-once',
      'steps 1 and 2',
      within(topics.batches, (all) => [
        all[0]!,
        { ...all[1]!, groups: all[0]!.groups },
        ...all.slice(2),
      ]),
    ],
  ];

  test.each(cases)('find %s', (_name, rule, what, change) => {
    const found = findings(change).filter((finding) => finding.rule === rule);
    expect(found.map((finding) => finding.what).join('\n')).toContain(what);
  });
});

describe('examine', () => {
  test('finds no fault in a run, whenever it was killed, nor in the resumed one', async () => {
    const killed = temporaryFolder();
    for (let start = 0; ; start++) {
      const fate = { commitsLeft: 17 * (start + 1), lastIsWritten: start % 2 === 0 };
      const { end } = await tinyCalibration({ folder: killed.path, fate, timing: start });
      const { findings: found, records: seen } = await withLog(killed.path, (log) =>
        examineRun(log),
      );
      expect(found).toEqual([]);
      expect(seen).toBeGreaterThan(0);
      if (end === 'quiescent') break;
    }
    killed.remove();
  });

  test('reports a record that cannot be read, and continues after it', async () => {
    const torn = run.rollouts.length - 2;
    const found = await withLog(folder.path, (log) => {
      const fetch: Log['fetch'] = async (topic, positions) => {
        const hit = topic.name === 'rollouts' && positions.some(({ offset }) => offset === torn);
        if (hit) throw new Error('its checksum differs');
        return log.fetch(topic, positions);
      };
      const half: Log = { ...bound(log), fetch };
      return examineRun(half);
    });
    expect(found.findings).toHaveLength(1);
    expect(found.findings[0]).toMatchObject({ rule: 'readable', where: 'rollouts' });
    expect(found.findings[0]!.what).toContain(
      `offset ${torn} cannot be read: its checksum differs`,
    );
    const all = Object.values(standing.ends).reduce((sum, end) => sum + end, 0);
    expect(found.records).toBe(all - 1);
  });
});

/** The methods of a log as a plain object. */
function bound(log: Log): Log {
  return {
    read: (topic, options) => log.read(topic, options),
    commit: (write) => log.commit(write),
    fetch: (topic, positions) => log.fetch(topic, positions),
    tap: (topic, options) => log.tap(topic, options),
    mark: (name) => log.mark(name),
    lag: (topic, group) => log.lag(topic, group),
    stats: () => log.stats(),
    standing: (after) => log.standing!(after),
    close: () => log.close(),
  };
}

describe('examine without the state of a log', () => {
  test('accepts what a tap gives, from any partition', async () => {
    const found = await withLog(folder.path, (log) => {
      const { standing: _, ...others } = bound(log);
      return examineRun(others);
    });
    expect(found.findings).toEqual([]);
    expect(found.standing.settled).toEqual(standing.settled);
    const first = { topic: topics.metrics as Topic<unknown>, value: run.metrics[0] };
    const second = { ...first, value: { ...run.metrics[0], step: 99 } };
    const invariants = new Invariants({ ends: { metrics: 2 }, settled: {}, marks: {} });
    invariants.see(first.topic, first.value, { partition: 0, offset: 0 });
    invariants.see(second.topic, second.value, { partition: 1, offset: 0 });
    expect(invariants.findings()).toEqual([]);
    invariants.see(second.topic, second.value, { partition: 2, offset: 5 });
    expect(invariants.findings()[0]!.what).toContain('at offsets 1/0 and 2/5');
  });
});
