import { describe, expect, test } from '@jest/globals';
import { BehaviorSubject, concat, from, NEVER, Subject, throwError } from 'rxjs';
import { draws } from '../../base/draws.ts';
import {
  type Admission,
  type GateOptions,
  type PolicyGate,
  policyGate,
} from '../../operators/gate.ts';
import { neverStopping } from '../../streams/deliveries/stopping.ts';
import {
  type ScriptedPolicy,
  scriptedPolicy,
  shuffledTurns,
} from '../../testing/scriptedPolicy.ts';
import { AFTER_LAST_ROUND, type Question, versionDue, type Weights } from '../../topics/index.ts';
import { question } from '../support/records.ts';
import { tinyWords } from '../support/tinyWords.ts';
import { weights } from '../support/weights.ts';

const BATCH_GROUPS = 2;
const signals = { signal: neverStopping, stopping: neverStopping };

const explore = (round: number): Question => question({ phase: 'explore', round });
const evaluate = (round: number): Question => question({ phase: 'evaluate', round });
const practice = (index: number, version = 0): Question =>
  question({ phase: 'practice', round: 1, schedule: { index, of: 100, version } });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await turn();
};

interface Bench {
  readonly gate: PolicyGate;
  readonly engine: ScriptedPolicy;
  readonly weights$: Subject<Weights>;
  /** Tells in which order questions were let in, by name. */
  readonly log: string[];
  /** Asks to be let in; the release function once that happened. */
  enter(
    name: string,
    asked: Question,
    admission?: Admission,
  ): { release: () => void; readonly failed: Promise<Error> };
}

function bench(
  over: Partial<GateOptions> = {},
  delay?: () => Promise<void>,
  stopping = neverStopping,
): Bench {
  const log: string[] = [];
  const weights$ = new Subject<Weights>();
  const engine = scriptedPolicy({
    tokenizer: tinyWords,
    script: () => '',
    onLoad: async ({ version }) => {
      await delay?.();
      log.push(`load ${version}`);
    },
  });
  const gate = policyGate({
    engine,
    weights$,
    resolve: ({ version, uri, digest }) => ({ version, uri: `/run/${uri}`, digest }),
    batchGroups: BATCH_GROUPS,
    window: 3,
    lagMax: 0,
    ...over,
  });
  const wide = gate.admission(100);
  const enter: Bench['enter'] = (name, asked, admission = wide) => {
    let out: (() => void) | undefined;
    let early = false;
    const admitted = admission.admit(asked, { signal: neverStopping, stopping });
    const failed = admitted.then(
      (release) => {
        log.push(`${name} under ${gate.version}`);
        out = release;
        if (early) release();
        return new Error('was let in');
      },
      (error: Error) => error,
    );
    return {
      failed,
      release: () => {
        early = true;
        out?.();
      },
    };
  };
  return { gate, engine, weights$, log, enter };
}

describe('the version due for a question', () => {
  const known = [weights(0, 0), weights(1, 0), weights(2, 1), weights(3, 1), weights(4, 2)];
  test.each([
    ['the first evaluation', evaluate(0), 0],
    ['the first candidates', explore(1), 0],
    ['the evaluation after round 1', evaluate(1), 2],
    ['the candidates of round 2', explore(2), 2],
    ['the evaluation after round 2', evaluate(2), 4],
    ['the candidates of round 4', explore(4), null],
    ['group 0 of a round that begins at 2', practice(0, 2), 2],
    ['group 1 of it', practice(1, 2), 2],
    ['group 2 of it', practice(2, 2), 3],
    ['group 7 of it, not made yet', practice(7, 2), 5],
    ['a candidate of the third window', { ...practice(7, 2), phase: 'explore' }, 4],
  ] as const)('is known for %s', (_, asked, due) => {
    expect(versionDue(asked, known, { batchGroups: BATCH_GROUPS, window: 3 })).toBe(due);
  });
});

describe('an admission', () => {
  test('admits a bounded number at once, in order of arrival', async () => {
    const { gate, weights$, log, enter } = bench();
    const [narrow, other] = [gate.admission(1), gate.admission(2)];
    weights$.next(weights(0, 0));
    const first = enter('a', explore(1), narrow);
    const second = enter('b', explore(1), narrow);
    enter('c', explore(1), narrow);
    enter('d', explore(1), other);
    await turns(3);
    expect(log).toEqual(['load 0', 'a under 0', 'd under 0']);
    first.release();
    first.release();
    await turns(3);
    expect(log.slice(3)).toEqual(['b under 0']);
    second.release();
    await turns(3);
    expect(log.slice(4)).toEqual(['c under 0']);
    expect(gate.inflight).toBe(2);
  });

  test('admits a question that is due before others that wait for later versions', async () => {
    const { gate, weights$, log, enter } = bench();
    const narrow = gate.admission(1);
    weights$.next(weights(0, 0));
    enter('later', explore(3), narrow);
    enter('later still', practice(6), narrow);
    enter('now', explore(1), narrow);
    await turns(3);
    expect(log).toEqual(['load 0', 'now under 0']);
  });

  test('without a bound admits all that are due, before and after a change of places', async () => {
    const places = (asked: number, { version }: Weights): number => (version === 1 ? 1 : asked);
    const { gate, weights$, log, enter } = bench({ places, lagMax: 1 });
    weights$.next(weights(0, 0));
    const all = gate.admission(Number.POSITIVE_INFINITY);
    const enterAll = (...names: string[]) => names.map((name) => enter(name, practice(0), all));
    const early = enterAll('a', 'b');
    await turns(3);
    expect(log).toEqual(['load 0', 'a under 0', 'b under 0']);
    weights$.next(weights(1, 0));
    for (const { release } of early) release();
    enterAll('c', 'd');
    await turns(3);
    expect(log.slice(3)).toEqual(['load 1', 'c under 1']);
    weights$.next(weights(2, 0));
    await turns(3);
    expect(log.slice(5)).toEqual(['load 2', 'd under 2']);
    await gate.close();
  });

  test('is unbounded if the record decides', async () => {
    const { gate, weights$, log, enter } = bench({ unlimited: true });
    const narrow = gate.admission(1);
    weights$.next(weights(0, 0));
    for (const name of ['a', 'b', 'c']) enter(name, explore(1), narrow);
    await turns(3);
    expect(log).toEqual(['load 0', 'a under 0', 'b under 0', 'c under 0']);
  });
});

describe('the gate at lag 0', () => {
  test('waits for the first weights, loads them and admits what is due for them', async () => {
    const { gate, weights$, log, enter, engine } = bench();
    enter('a', explore(1));
    await turns(2);
    expect([log, gate.version]).toEqual([[], -1]);
    weights$.next(weights(0, 0));
    await turns(2);
    expect(log).toEqual(['load 0', 'a under 0']);
    expect(engine.loads).toEqual([{ version: 0, uri: '/run/w0', digest: 'digest 0' }]);
    expect([gate.version, gate.inflight]).toEqual([0, 1]);
  });

  test('loads the next version only when nothing is in flight', async () => {
    const { weights$, log, enter } = bench();
    weights$.next(weights(0, 0));
    const first = enter('0', practice(0));
    const second = enter('1', practice(1));
    enter('2', practice(2));
    await turns(2);
    weights$.next(weights(1, 0));
    await turns(2);
    expect(log).toEqual(['load 0', '0 under 0', '1 under 0']);
    first.release();
    first.release();
    await turns(2);
    expect(log).toHaveLength(3);
    second.release();
    await turns(2);
    expect(log.slice(3)).toEqual(['load 1', '2 under 1']);
  });

  test('loads an older version again for a resumed question', async () => {
    const { log, enter, engine } = bench({
      weights$: concat(from([weights(0, 0), weights(1, 0), weights(2, 1)]), NEVER),
    });
    enter('new', practice(0, 2)).release();
    enter('old', evaluate(0)).release();
    enter('newer', explore(2)).release();
    await turns(6);
    expect(log).toEqual([
      ...['load 2', 'new under 2'],
      ...['load 0', 'old under 0'],
      ...['load 2', 'newer under 2'],
    ]);
    expect(engine.loads.map(({ version }) => version)).toEqual([2, 0, 2]);
  });

  test('after a thousand versions, asks for the manifest of one that is due again', async () => {
    const all = Array.from({ length: 1000 }, (_, i) => weights(i, Math.floor(i / 10)));
    const requested: number[] = [];
    const { log, enter } = bench({
      weights$: concat(from(all), NEVER),
      manifest: async (version) => {
        requested.push(version);
        return all[version]!;
      },
    });
    enter('newest', explore(100)).release();
    enter('old', evaluate(7)).release();
    enter('unheard of', explore(101));
    await turns(8);
    expect(log).toEqual(['load 990', 'newest under 990', 'load 70', 'old under 70']);
    expect(requested).toEqual([70]);
  });

  test('lets a question whose version exists pass one whose does not', async () => {
    const { weights$, log, enter } = bench();
    weights$.next(weights(0, 0));
    enter('later', explore(2));
    enter('now', explore(1));
    await turns(2);
    expect(log).toEqual(['load 0', 'now under 0']);
  });

  test('never has two versions in flight, and runs each question under its due version', async () => {
    for (let seed = 0; seed < 60; seed++) await property(seed, 0);
  });
});

describe('the gate at lag K', () => {
  test('admits a question under the newest version at most K behind', async () => {
    const { weights$, log, enter } = bench({ lagMax: 1 });
    weights$.next(weights(0, 0));
    enter('0', practice(0));
    enter('2', practice(2));
    enter('4', practice(4));
    await turns(2);
    expect(log).toEqual(['load 0', '0 under 0', '2 under 0']);
    weights$.next(weights(1, 0));
    await turns(2);
    expect(log.slice(3)).toEqual(['load 1', '4 under 1']);
  });

  test('never admits a question more than K behind', async () => {
    for (let seed = 0; seed < 60; seed++) await property(seed, 1 + (seed % 3));
  });
});

/** Practice groups of a round in random order and timing; a version is published when its groups are done. */
async function property(seed: number, lagMax: number): Promise<void> {
  const stream = draws('gate', seed);
  const steps = 5;
  const delay = shuffledTurns(seed);
  const { gate, weights$, enter, log } = bench({ lagMax }, delay);
  weights$.next(weights(0, 0));
  const done = new Array<number>(steps).fill(0);
  let published = 0;
  const under = new Set<number>();
  let inside = 0;
  const work = async (index: number): Promise<void> => {
    const due = Math.floor(index / BATCH_GROUPS);
    const release = await gate.admission(9).admit(practice(index), signals);
    const version = gate.version;
    if (inside++ === 0) under.clear();
    under.add(version);
    if (lagMax === 0) expect([version, under.size]).toEqual([due, 1]);
    expect(version).toBeGreaterThanOrEqual(due - lagMax);
    await delay();
    if (lagMax === 0) expect(gate.version).toBe(version);
    inside--;
    release();
    done[due]! += 1;
    while (published < steps && done[published] === BATCH_GROUPS) {
      weights$.next(weights(++published, 0));
    }
  };
  const order = Array.from({ length: steps * BATCH_GROUPS }, (_, i) => i).sort(
    (a, b) => stream.uniform(a) - stream.uniform(b),
  );
  await Promise.all(order.map(work));
  expect([gate.inflight, published]).toEqual([0, steps]);
  enter('last', practice(steps * BATCH_GROUPS));
  await turns(20);
  expect(log.at(-1)).toBe(`last under ${steps}`);
}

describe('a closing gate', () => {
  test('releases a waiting question that is aborted', async () => {
    const { gate, weights$ } = bench();
    const abort = new AbortController();
    const given = { ...signals, signal: abort.signal };
    const waiting = gate.admission(9).admit(explore(1), given);
    abort.abort();
    await expect(waiting).rejects.toThrow('before this question was admitted');
    await expect(gate.admission(9).admit(explore(1), given)).rejects.toThrow(
      'before this question',
    );
    weights$.next(weights(0, 0));
    await turns(2);
    expect(gate.inflight).toBe(0);
  });

  test('keeps its count when a question aborts after admission', async () => {
    const { gate, weights$ } = bench();
    weights$.next(weights(0, 0));
    const abort = new AbortController();
    const release = await gate.admission(9).admit(explore(1), { ...signals, signal: abort.signal });
    abort.abort();
    expect(gate.inflight).toBe(1);
    release();
    expect(gate.inflight).toBe(0);
  });

  test('refuses questions once the run stops, with a code that keeps their records', async () => {
    for (const before of [false, true]) {
      const abort = new AbortController();
      if (before) abort.abort();
      const { enter } = bench({}, undefined, abort.signal);
      const waiting = enter('a', explore(1));
      abort.abort();
      expect(await waiting.failed).toMatchObject({ code: 'NOT_NOW' });
      expect(await enter('b', explore(1)).failed).toMatchObject({ code: 'NOT_NOW' });
    }
  });

  test('fails all waiting questions if weights cannot be loaded', async () => {
    const { weights$, enter } = bench({
      resolve: () => {
        throw new Error('the digest differs');
      },
    });
    const waiting = enter('a', explore(1));
    weights$.next(weights(0, 0));
    expect((await waiting.failed).message).toBe('the digest differs');
    expect((await enter('b', explore(1)).failed).message).toBe('the digest differs');
  });

  test('fails all waiting questions if the weights end in an error, or it is closed', async () => {
    const broken = bench({ weights$: throwError(() => new Error('the log is gone')) });
    expect((await broken.enter('a', explore(1)).failed).message).toBe('the log is gone');
    const closed = bench();
    const waiting = closed.enter('a', explore(1));
    await closed.gate.close();
    expect((await waiting.failed).message).toContain('closed');
    expect(closed.weights$.observed).toBe(false);
  });
});

describe('a schedule that begins when the round before is finished', () => {
  const open = (index: number): Question => ({ ...practice(index, AFTER_LAST_ROUND), round: 2 });

  test('is due the version that finished it, then one more every batch', () => {
    const known = [weights(0, 0), weights(1, 0), weights(2, 1), weights(3, 1), weights(4, 1)];
    const due = (index: number, manifests = known): number | null =>
      versionDue(open(index), manifests, { batchGroups: BATCH_GROUPS, window: 3 });
    expect(due(0, known.slice(0, 2))).toBeNull();
    expect([0, 1, 2, 3, 4].map((index) => due(index))).toEqual([2, 2, 3, 3, 4]);
  });

  test('gets its version once a question is admitted', async () => {
    const { gate, weights$ } = bench();
    weights$.next(weights(0, 0));
    expect(() => gate.withFirstVersion(open(1))).toThrow('has not begun');
    weights$.next(weights(1, 1));
    await gate.admission(9).admit(open(1), signals);
    expect(gate.withFirstVersion(open(1)).schedule).toEqual({ index: 1, of: 100, version: 1 });
    expect(gate.withFirstVersion(practice(5, 0))).toEqual(practice(5, 0));
    await gate.close();
  });

  test('admits no question while the run is paused, and the waiting ones when it resumes', async () => {
    const paused$ = new BehaviorSubject(false);
    const { gate, weights$, log, enter } = bench({ paused$ });
    weights$.next(weights(0, 0));
    await turns(3);
    const first = enter('first', practice(0));
    await turns(3);
    paused$.next(true);
    const second = enter('second', practice(1));
    await turns(3);
    first.release();
    weights$.next(weights(1, 0));
    await turns(3);
    expect(log).toEqual(['load 0', 'first under 0']);
    paused$.next(false);
    await turns(3);
    expect(log).toEqual(['load 0', 'first under 0', 'second under 0']);
    second.release();
    await gate.close();
  });

  test('has a set number of places from a version on, and never revokes one', async () => {
    const places = (asked: number, { version }: Weights): number => (version === 0 ? asked : 1);
    const { gate, weights$, log, enter } = bench({ places, lagMax: 1 });
    weights$.next(weights(0, 0));
    const admission = gate.admission(2);
    const early = [enter('a', practice(0), admission), enter('b', practice(1), admission)];
    await turns(3);
    weights$.next(weights(1, 0));
    const late = ['c', 'd'].map((name) => enter(name, practice(1), admission));
    early[0]!.release();
    await turns(3);
    expect(log).toEqual(['load 0', 'a under 0', 'b under 0']);
    early[1]!.release();
    await turns(3);
    expect(log.slice(3)).toEqual(['load 1', 'c under 1']);
    late[0]!.release();
    await turns(3);
    expect(log.slice(5)).toEqual(['d under 1']);
    late[1]!.release();
    await gate.close();
  });
});
